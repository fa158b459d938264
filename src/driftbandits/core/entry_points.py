"""The compiled side of a policy: its kernels, and the entry points that Python calls.

A policy brings named tuples for its parameters (floats) and its state (arrays), and these kernels.
Required:

    choose(parameters, state, columns, scratch, scores) -> index
        fill ``scores`` (K,) for the action set ``columns`` (d, K) and return the chosen column;
        ``scratch`` (d + 2, panel) may be overwritten; see `panel`
    learn(parameters, state, action, reward, age)
        take in one observation, made ``age`` rounds ago
    advance(parameters, state, rounds)
        close rounds: move the clock in ``state.counters[CLOCK]``, and forget

Optional; each has a default:

    prepare(parameters, state)
        compute what `choose` reads (a factor, an estimate, a radius) from the sums. Called before a
        choice if the sums have changed, perhaps more often: it depends on the state alone, and
        draws nothing
    begin_look(parameters, state) -> number, end_look(parameters, state, number)
        called before and after a `prepare` for a property; they restore what would change later
        decisions. `end_look` gets the number that `begin_look` returned
    propensities(parameters, state, columns, scratch, scores, rule, chances)
        fill ``chances`` (K,) with the probability that `choose` picks each column; called after
        `choose` has filled ``scores`` and returned ``rule``. NaN where there is no closed form.
        Default, for rules that draw nothing: 1 for ``rule`` and 0 for the others
    expect(parameters, state, columns, k)
        note that column ``k`` was chosen for the open round; its reward is still to come. It must
        not change what `prepare` and `choose` read: that is for `advance`. Default: nothing
    late(parameters, state, age)
        note that an observation arrives without a round closing; called before `learn`
    misses(parameters, state, theta) -> bool
        whether ``theta`` lies outside the confidence set. Default: there is no such set
    fits(parameters, state, rounds) -> bool
        whether the arrays have room for one more observation and for what ``rounds`` rounds may
        add. If not, Python makes room (`Policy._grown`) and the call goes on. Default: no array
        ever grows
    amend(parameters, state, action, old, new, age) -> bool
        replace the reward ``old`` of an observation made ``age`` rounds ago with ``new``;
        False if no such observation is known. Default: amendments are refused
    forget(parameters, state, mask)
        clear what is known along the coordinates where ``mask`` (d,) is 1, as if every action had
        had a zero there. Default: refused

The object, the simulator, replay and the service call these same functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from numba import float64, int64

from .arrays import Array
from .calls import (
    advance_template,
    amend_template,
    decide_template,
    forget_template,
    learn_many_template,
    learn_one_template,
    prepare_template,
    score_template,
    select_template,
)
from .compiling import entry_suite, lean_kernel
from .exploring import only
from .packing import Field
from .playing import play_template
from .replaying import replay_template
from .unpacking import unpacker


@lean_kernel
def nothing_to_prepare(parameters: Any, state: Any) -> None:
    """For policies that compute nothing beforehand."""


@lean_kernel
def begin_any_look(parameters: Any, state: Any) -> float:
    """For policies whose `prepare` does not affect later decisions."""
    return 0.0


@lean_kernel
def end_any_look(parameters: Any, state: Any, begun: float) -> None:
    """Like `begin_any_look`: does nothing."""


@lean_kernel
def nothing_is_expected(parameters: Any, state: Any, columns: Array, k: int) -> None:
    """For policies that choose the same, whether rewards are on their way or not."""


@lean_kernel
def late_is_no_matter(parameters: Any, state: Any, age: float) -> None:
    """For policies that keep no count of late observations."""


@lean_kernel
def never_misses(parameters: Any, state: Any, theta: Array) -> bool:
    """For policies without a confidence set."""
    return False


@lean_kernel
def certain(
    parameters: Any,
    state: Any,
    columns: Array,
    scratch: Array,
    scores: Array,
    rule: int,
    chances: Array,
) -> None:
    """For policies that draw nothing."""
    only(rule, chances)


@lean_kernel
def always_fits(parameters: Any, state: Any, rounds: float) -> bool:
    """For policies whose arrays never grow."""
    return True


@lean_kernel
def cannot_amend(
    parameters: Any, state: Any, action: Array, old: float, new: float, age: float
) -> bool:
    """For policies that refuse amendments."""
    return False


@lean_kernel
def cannot_forget(parameters: Any, state: Any, mask: Array) -> None:
    """For policies that refuse to forget coordinates."""


class Kernels(NamedTuple):
    """The mathematics of a policy, ready to be compiled into entry points."""

    name: str
    Parameters: type[Any]
    State: type[Any]
    choose: Callable[..., int]
    learn: Callable[..., None]
    advance: Callable[..., None]
    prepare: Callable[..., None] = nothing_to_prepare
    misses: Callable[..., bool] = never_misses
    expect: Callable[..., None] = nothing_is_expected
    late: Callable[..., None] = late_is_no_matter
    propensities: Callable[..., None] = certain
    fits: Callable[..., bool] = always_fits
    amend: Callable[..., bool] = cannot_amend
    forget: Callable[..., None] = cannot_forget
    begin_look: Callable[..., float] = begin_any_look
    end_look: Callable[..., None] = end_any_look


class EntryPoints(NamedTuple):
    """What Python calls; each takes the packed policy first (`driftbandits.core.packing`)."""

    select: Callable[..., int]
    score: Callable[..., int]
    decide: Callable[..., int]
    learn_one: Callable[..., int]
    learn_many: Callable[..., int]
    advance: Callable[..., int]
    prepare: Callable[..., None]
    amend: Callable[..., int]
    forget: Callable[..., None]
    play: Callable[..., int]
    play_late: Callable[..., int]
    replay: Callable[..., int]


# Types of arguments; the packed policy comes first.
_VECTOR, _MATRIX, _BLOCK, _INTEGERS = float64[::1], float64[:, ::1], float64[:, :, ::1], int64[::1]
_PLAY = (
    *(_VECTOR, _BLOCK, _MATRIX, _MATRIX, _VECTOR, _MATRIX, _VECTOR, _VECTOR),
    *(_INTEGERS, _INTEGERS, _MATRIX, int64),
)

# Each suite is compiled as a whole. The everyday calls form one suite; calls that few programs need
# have their own. A simulation that records estimates needs `prepare`, and no other everyday call.
_SUITES: tuple[dict[str, tuple[Callable[..., Any], tuple[Any, ...]]], ...] = (
    {
        "select": (select_template, (_VECTOR, _MATRIX)),
        "score": (score_template, (_VECTOR, _MATRIX, _VECTOR)),
        "decide": (decide_template, (_VECTOR, _MATRIX, float64, _VECTOR, _VECTOR, _VECTOR)),
        "learn_one": (learn_one_template, (_VECTOR, _VECTOR, float64, float64, float64)),
        "learn_many": (learn_many_template, (_VECTOR, _MATRIX, _VECTOR, _VECTOR, float64, int64)),
        "advance": (advance_template, (_VECTOR, float64)),
    },
    {
        "prepare": (prepare_template, (_VECTOR,)),
    },
    {
        "amend": (amend_template, (_VECTOR, _VECTOR, float64, float64, float64)),
        "forget": (forget_template, (_VECTOR, _VECTOR)),
    },
    {
        "play": (play_template, _PLAY),
    },
    {
        "play_late": (play_template, _PLAY),
    },
    {
        "replay": (
            replay_template,
            (_VECTOR, *[_INTEGERS] * 3, *[_MATRIX] * 2, int64, _INTEGERS, _VECTOR, _INTEGERS),
        ),
    },
)


@cache
def entry_points(kernels: Kernels, fields: tuple[Field, ...]) -> EntryPoints:
    """The entry points of a policy's kernels, for a state of ``fields``; compiled on first call."""
    names = kernels._asdict()
    label = "_".join([names.pop("name"), *(f"{field.ndim}{field.dtype.kind}" for field in fields)])
    names["unpack"] = unpacker(names["Parameters"], names["State"], fields)
    calls: dict[str, Callable[..., Any]] = {}
    for suite in _SUITES:
        calls |= entry_suite(suite, label, **names, LATE="play_late" in suite)
    return EntryPoints(**calls)
