"""Bad input is refused with its name and value, and does not change the state by one bit."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import numpy as np
import pytest

import driftbandits
from driftbandits import (
    DLinUCB,
    DynamicLinUCB,
    LinUCB,
    OracleRestartLinUCB,
    Policy,
    Problem,
    Random,
    SWLinUCB,
)
from driftbandits.core.checks import NORM_SLACK

POLICIES = driftbandits.registered()
NAN, INF = float("nan"), float("inf")

every_policy = pytest.mark.parametrize("cls", POLICIES.values(), ids=POLICIES.keys())


def trained(cls: type[Policy], rounds: int = 64) -> Policy:
    """A policy after 64 rounds, which fill the first arrays of a window."""
    policy = cls.tuned(Problem(dim=2, horizon=1000, budget=1.0, change_points=(20,)))
    if policy.action_bound > 1.0:  # by default it takes actions of any length
        policy = cls(dim=2, action_bound=1.0)
    for t in range(rounds):
        policy.update([0.6, 0.8] if t % 2 else [1.0, 0.0], 0.1 * t)
    policy.select(np.eye(2))
    return policy


def assert_refused(policy: Policy, call: Any, *fragments: str) -> None:
    """Check for a ValueError with all ``fragments``, and an unchanged state."""
    before = {name: array.copy() for name, array in policy._state._asdict().items()}
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the fragments are checked below
        call(policy)
    for fragment in fragments:
        assert re.search(fragment, str(caught.value)), f"{fragment!r} not in {caught.value!s}"
    after = policy._state._asdict()
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array, err_msg=name, strict=True)


BAD_ACTION_SETS = [
    (np.zeros((0, 2)), r"\(0, 2\)"),
    ([], r"shape \(0,\)"),
    (np.zeros((3, 3)), r"\(3, 3\)"),
    (np.zeros(2), r"\(2,\)"),
    (np.zeros((2, 2, 2)), r"\(2, 2, 2\)"),
    (1.0, r"shape \(\)"),
    ([[1.0, 0.0], [NAN, 0.0]], "nan"),
    (np.array([[0.0, 1.0], [INF, 0.0]]), "inf"),
    ([[-INF, 0.0]], "-inf"),
    ([[1.0, 0.0], [0.8, 0.8]], "1.13137085 in row 1"),
    ([[1.0 + 1e-5, 0.0]], "1.00001 in row 0"),
    ([[1.0, 0.0], [1.0]], "actions"),
    ([["a", "b"]], "'a'"),
    ([["0.6", "0.8"]], "'0.6'"),
    (np.array([[1.0j, 0.0]]), "1j"),
    (np.ma.masked_equal([[0.6, 0.8]], 0.8), "masked"),
    ([[None, 0.8]], "None"),
    (None, "actions"),
]


@every_policy
@pytest.mark.parametrize(("actions", "value"), BAD_ACTION_SETS)
def test_select(cls: type[Policy], actions: Any, value: str) -> None:
    assert_refused(trained(cls), lambda policy: policy.select(actions), "actions", value)


@pytest.mark.parametrize(("actions", "value"), BAD_ACTION_SETS)
@pytest.mark.parametrize("cls", [DLinUCB, DynamicLinUCB])
def test_scores(cls: type[Policy], actions: Any, value: str) -> None:
    assert_refused(trained(cls), lambda policy: policy.scores(actions), "actions", value)


BAD_DIRECTIONS = [case for case in BAD_ACTION_SETS[2:] if "row" not in case[1]]


@pytest.mark.parametrize(("actions", "value"), BAD_DIRECTIONS)
@pytest.mark.parametrize("cls", [DLinUCB, DynamicLinUCB])
def test_widths(cls: type[Policy], actions: Any, value: str) -> None:
    """Widths can be asked for any vector, long ones too."""
    assert_refused(trained(cls), lambda policy: policy.widths(actions), "actions", value)


BAD_UPDATES = [
    ([1.0, 0.0, 0.0], 1.0, ("actions", r"\(3,\)")),
    ([1.0], 1.0, ("actions", r"\(1,\)")),
    (1.0, 1.0, ("actions", r"\(\)")),
    (np.zeros((0, 2)), [], ("actions", r"\(0, 2\)")),
    (np.zeros((1, 1, 2)), [[1.0]], ("actions", r"\(1, 1, 2\)")),
    ([NAN, 0.0], 1.0, ("actions", "nan")),
    ([INF, 0.0], 1.0, ("actions", "inf")),
    ([0.8, 0.8], 1.0, ("actions", "1.13137")),
    ([[1.0, 0.0], [0.9, 0.9]], [1.0, 1.0], ("actions", "row 1")),
    (["a", "b"], 1.0, ("actions", "'a'")),
    ([[1.0, 0.0], [1.0]], [1.0, 1.0], ("actions",)),
    (None, 1.0, ("actions",)),
    ([1.0, 0.0], NAN, ("rewards", "nan")),
    ([1.0, 0.0], INF, ("rewards", "inf")),
    ([1.0, 0.0], -INF, ("rewards", "-inf")),
    ([1.0, 0.0], 1e155, ("rewards", "1e\\+155")),
    ([1.0, 0.0], np.datetime64("2026-01-01"), ("rewards", "2026-01-01")),
    (np.eye(2), [1.0, -2e100], ("rewards", "-2e\\+100")),
    ([1.0, 0.0], None, ("rewards",)),
    ([1.0, 0.0], "good", ("rewards", "good")),
    ([1.0, 0.0], [1.0], ("rewards", r"\(1,\)")),
    ([1.0, 0.0], [1.0, 2.0], ("rewards", r"\(2,\)")),
    (np.eye(2), 1.0, ("rewards", r"\(\)")),
    (np.eye(2), [1.0], ("rewards", r"\(1,\)")),
    (np.eye(2), [1.0, NAN], ("rewards", "nan")),
    (np.eye(2), [1.0, [2.0]], ("rewards",)),
]


@every_policy
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(("actions", "rewards", "fragments"), BAD_UPDATES)
def test_update(
    cls: type[Policy], actions: Any, rewards: Any, fragments: tuple[str, ...], late: bool
) -> None:
    options = {"round": 60} if late else {}
    assert_refused(
        trained(cls), lambda policy: policy.update(actions, rewards, **options), *fragments
    )


BAD_ROUNDS = [
    (66, "66"),
    (65.5, "65.5"),
    (0, "0"),
    (0.5, "0.5"),
    (-3, "-3"),
    (NAN, "nan"),
    (INF, "inf"),
    ("soon", "soon"),
    ([1, 2, 3], r"\[1, 2, 3\]"),
    ([], r"\[\]"),
    ([[1, 2]], r"\[\[1, 2\]\]"),
    ([3, 70], "70"),
]


@every_policy
@pytest.mark.parametrize(("value", "shown"), BAD_ROUNDS)
def test_round_that_has_not_happened(cls: type[Policy], value: Any, shown: str) -> None:
    assert_refused(
        trained(cls),
        lambda policy: policy.update(np.eye(2), [1.0, 1.0], round=value),
        "round",
        shown,
    )


@every_policy
@pytest.mark.parametrize("value", [0, -1, -0.5, NAN, INF, -INF, "2", None, True, [1]])
def test_advance(cls: type[Policy], value: Any) -> None:
    fragments = ("rounds", re.escape(repr(value)))
    assert_refused(trained(cls), lambda policy: policy.advance(rounds=value), *fragments)


POSITIVE = [0, 0.0, -1.0, NAN, INF, "1", None, True]
NON_NEGATIVE = [-1e-9, NAN, INF, "1", None, True]
UNIT = [0.0, 1.0, 1.2, -0.1, NAN, INF, "0.5", None, True]
COUNT = [0, -1, 1.5, NAN, "2", None, True]

CONSTRUCTORS: list[tuple[type[Policy], dict[str, Any]]] = [
    (DLinUCB, {"dim": 2, "gamma": 0.9}),
    (SWLinUCB, {"dim": 2, "window": 10}),
    (LinUCB, {"dim": 2}),
    (OracleRestartLinUCB, {"dim": 2, "change_points": (5,)}),
    (DynamicLinUCB, {"dim": 2}),
]
COMMON = {
    "dim": COUNT,
    "action_bound": POSITIVE,
    "ridge": POSITIVE,
    "noise": NON_NEGATIVE,
    "theta_bound": NON_NEGATIVE,
    "delta": UNIT,
}
OWN: list[tuple[type[Policy], dict[str, Any], str, list[Any]]] = [
    (DLinUCB, {"dim": 2}, "gamma", UNIT),
    (DLinUCB, {"dim": 2, "gamma": 0.9}, "confidence", ["best", None, "union"]),
    (LinUCB, {"dim": 2}, "confidence", ["published", 1]),
    (SWLinUCB, {"dim": 2}, "window", COUNT),
    (SWLinUCB, {"dim": 2, "window": 5}, "confidence", ["per-round", ""]),
    (SWLinUCB, {"dim": 2, "window": 5}, "horizon", [0, -1, 1.5, True, "9"]),
    (SWLinUCB, {"dim": 2, "window": 5, "confidence": "union"}, "horizon", [None]),
    (DynamicLinUCB, {"dim": 2}, "memory", [1, *COUNT]),
    (DynamicLinUCB, {"dim": 2}, "delta1", UNIT),
    (DynamicLinUCB, {"dim": 2}, "delta2", UNIT),
    (DynamicLinUCB, {"dim": 2}, "delta1_tilde", [*UNIT, 0.5]),
    (
        OracleRestartLinUCB,
        {"dim": 2},
        "change_points",
        [(0,), (-2, 3), (3, 2), (2, 2), (1.5,), (NAN,), (INF,), ("a",), 5, None],
    ),
    (Random, {"dim": 2}, "seed", [-1, 1.5, None, "x", True]),
    (Random, {}, "dim", COUNT),
    (Random, {"dim": 2}, "action_bound", POSITIVE),
]


def _constructor_cases() -> list[Any]:
    shared = [
        (cls, options, name, value)
        for cls, options in CONSTRUCTORS
        for name, values in COMMON.items()
        for value in values
    ]
    own = [(cls, options, name, value) for cls, options, name, values in OWN for value in values]
    return [
        pytest.param(*case, id=f"{case[0].__name__}-{case[2]}-{case[3]!r}") for case in shared + own
    ]


@pytest.mark.parametrize(("cls", "options", "name", "value"), _constructor_cases())
def test_constructors(cls: Any, options: dict[str, Any], name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must.*{re.escape(repr(value))}"):
        cls(**(options | {name: value}))


@every_policy
def test_a_norm_at_its_bound_passes_whatever_rounding_did(cls: type[Policy]) -> None:
    policy = cls.tuned(Problem(dim=50, horizon=1000, budget=1.0, action_bound=0.3))
    rows = np.random.default_rng(0).standard_normal((1000, 50))
    rows *= 0.3 / np.linalg.norm(rows, axis=1, keepdims=True)
    for precise in (rows, rows.astype(np.float32)):
        policy.select(precise)
        policy.update(precise, np.zeros(1000))


def test_norms_at_the_very_bound_are_taken_or_refused_never_ignored() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((400, 5))
    rows *= 0.7 * (1 + NORM_SLACK) / np.linalg.norm(rows, axis=1, keepdims=True)
    for row in rows:
        policy = LinUCB(dim=5, action_bound=0.7)
        with contextlib.suppress(ValueError):
            policy.update(row, 1.0)
        if policy.round == 2:
            assert policy.select(row[None]) == 0
        else:
            with pytest.raises(ValueError, match="action_bound"):
                policy.select(row[None])


def test_an_absurd_action_bound_is_refused() -> None:
    with pytest.raises(ValueError, match="action_bound"):
        LinUCB(dim=2, action_bound=1e160)
