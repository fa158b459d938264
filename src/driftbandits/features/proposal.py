"""A declaration proposed from examples, with a reason for every choice."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .errors import FeatureError, Rejected, short
from .inputs import ID, action_list, as_mapping, named_actions, records
from .kinds import Cyclic, Hashed, Ignored, Kind, Number, OneHot, Tags
from .terms import EVERY, PerAction, Term
from .values import as_items, flattened, is_missing, is_number

# A value gets its own coordinate if at least this share of the rows has it.
_COMMON = 0.01
# If there are more values than this, they are hashed: a linear model learns each one separately.
_LISTED = 20
_HASHED = 16
# Numbers are clipped beyond the middle 98% of the examples.
_TAILS = (1, 50, 99)
# Positive numbers that span more than this factor get a logarithmic scale.
_WIDE = 20.0
# Most coordinates of a vector: more make decisions slow and learning slower.
_LARGEST = 256
# Room for actions that come later, where each has a block of its own.
_ROOM = 16

_PERIODS = {"hour": (24, 0, 24), "weekday": (7, 0, 7), "month": (12, 1, 12), "minute": (60, 0, 60)}


def proposed(contexts: Any, actions: Any) -> dict[str, Any]:
    """The arguments of a declaration that fits examples of contexts and actions."""
    rows = [_row("context", row) for row in records("contexts", contexts)]
    if not rows:
        raise FeatureError("contexts must have at least one row, got none")
    described = [] if actions is None else _described(actions)
    context = _kinds(rows)
    action = _kinds([features for features in described if features])
    if not any(kind.labels for kind in action.values()):
        return {
            "context": context,
            "action": action,
            "terms": (Term(), Term(context=EVERY)),
            "per_action": _block(context, len(described)),
        }
    return {"context": context, "action": action, "terms": _terms(context, action)}


def _described(actions: Any) -> list[dict[str, Any]]:
    """The features of each example of an action."""
    pairs = named_actions(actions).items() if isinstance(actions, dict) else action_list(actions)
    return [
        {name: value for name, value in _row(f"action {id!r}", features).items() if name != ID}
        for id, features in pairs
    ]


def _row(what: str, row: Any) -> dict[str, Any]:
    try:
        return flattened(as_mapping(what, row))
    except Rejected as rule:
        raise FeatureError(f"{what} {rule}, got {short(row)}") from None


def _kinds(rows: Sequence[dict[str, Any]]) -> dict[str, Kind]:
    names = sorted({name for row in rows for name in row})
    return {name: _kind(name, [row.get(name) for row in rows]) for name in names}


def _kind(name: str, column: Sequence[Any]) -> Kind:
    """The kind that fits a column, and why."""
    values = [value for value in column if not _is_nothing(value)]
    if not values:
        return Ignored(note="no row has a value")
    if all(isinstance(value, str) for value in values):
        kind = _of_texts(values)
    elif all(is_number(value) and math.isfinite(value) for value in values):
        kind = _of_numbers(name, values)
    elif all(isinstance(value, (list, tuple, set, frozenset, np.ndarray)) for value in values):
        kind = _of_lists(values)
    else:
        types = ", ".join(sorted({type(value).__name__ for value in values}))
        return Ignored(note=f"values of type {types}; turn them into texts or numbers to use them")
    absent = len(column) - len(values)
    if absent and not isinstance(kind, Ignored):
        return replace(kind, optional=True, note=f"{kind.note}; {_share(absent, column)} have none")
    return kind


def _of_texts(values: list[str]) -> Kind:
    counts = Counter(values)
    if len(counts) == 1:
        return Ignored(note=f"always {values[0]!r}")
    if len(counts) == len(values) > _LISTED:
        words = sum(len(value.split()) for value in values) / len(values)
        if words >= 3:
            return Hashed(2 * _HASHED, of="words", note=f"texts of {words:.0f} words on average")
        return Ignored(note="different in every row, so there is nothing to learn from it")
    common = _common(counts, len(values))
    if len(common) > _LISTED or not common:
        return Hashed(_HASHED, note=f"{len(counts)} values, too many to list")
    return OneHot(common, note=_coverage(counts, common, values))


def _of_lists(values: list[Any]) -> Kind:
    counts = Counter(tag for value in values for tag in set(as_items(value)))
    common = _common(counts, len(values))
    texts = all(isinstance(tag, str) for tag in counts)
    if len(common) > _LISTED or not (texts or all(is_number(tag) for tag in counts)):
        return Hashed(_HASHED, of="tags", note=f"{len(counts)} tags, too many to list")
    return Tags(common, note=f"the tags that at least {_COMMON:.0%} of the rows have")


def _of_numbers(name: str, values: list[Any]) -> Kind:
    numbers = np.array([float(value) for value in values])
    distinct = np.unique(numbers)
    if len(distinct) == 1:
        return Ignored(note=f"always {values[0]!r}")
    if set(distinct) <= {0.0, 1.0}:
        kind = bool if all(isinstance(value, (bool, np.bool_)) for value in values) else int
        return OneHot([kind(0), kind(1)], other=False, note="yes or no")
    for word, (period, least, most) in _PERIODS.items():
        if word in name.lower() and distinct[0] >= least and distinct[-1] <= most:
            return Cyclic(
                period, note=f"by its name, and because all values lie between {least} and {most}"
            )
    low, middle, high = (float(q) for q in np.percentile(numbers, _TAILS))
    if low > 0 and high / low > _WIDE:
        spread = _rounded(max(high / middle, middle / low, 2.0))
        note = f"{_range(low, high)}, a factor of {high / low:.0f}"
        return Number(_rounded(middle), spread, "log", note=note)
    if low == high:
        low, high = float(numbers.min()), float(numbers.max())
    spread = _rounded(max(high - middle, middle - low))
    return Number(_rounded(middle), spread, note=_range(low, high))


def _block(context: dict[str, Kind], actions: int) -> PerAction:
    return PerAction(
        slots=max(2 * actions, _ROOM),
        context=EVERY if any(kind.labels for kind in context.values()) else (),
        note="no features of actions were given, so each action has coefficients of its own",
    )


def _terms(context: dict[str, Kind], action: dict[str, Kind]) -> tuple[Term, ...]:
    """Every feature alone, and as many products as fit, those of the smallest features first."""
    sizes = {name: len(kind.labels) for name, kind in context.items() if kind.labels}
    width = sum(len(kind.labels) for kind in action.values())
    room = _LARGEST - 1 - width - sum(sizes.values())
    crossed = list[str]()
    for name in sorted(sizes, key=lambda name: (sizes[name], name)):
        room -= sizes[name] * width
        if room >= 0:
            crossed.append(name)
    alone = [Term(), Term(action=EVERY, note="what an action is worth to everybody")]
    if sizes:
        alone.append(Term(context=EVERY, note="the level, which is the same for all actions"))
    if not crossed:
        return tuple(alone)
    note = "what an action is worth in a context"
    left_out = sorted(set(sizes) - set(crossed))
    if left_out:
        note += f"; without {', '.join(left_out)}, to stay below {_LARGEST} coordinates"
    chosen = EVERY if not left_out else tuple(sorted(crossed))
    return (*alone, Term(context=chosen, action=EVERY, note=note))


def _common(counts: Counter[Any], rows: int) -> list[Any]:
    """The values that enough rows have, the most frequent first."""
    order = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    return [value for value, count in order if count >= _COMMON * rows]


def _coverage(counts: Counter[str], listed: Sequence[str], rows: Sequence[str]) -> str:
    covered = sum(counts[value] for value in listed)
    if covered == len(rows):
        return f"all {len(listed)} values that were seen"
    return f"{len(listed)} of {len(counts)} values, which {_share(covered, rows)} have"


def _share(count: int, rows: Sequence[Any]) -> str:
    return f"{count / len(rows):.1%} of the rows"


def _is_nothing(value: Any) -> bool:
    empty = isinstance(value, (str, list, tuple, set, frozenset, np.ndarray)) and len(value) == 0
    return is_missing(value) or empty


def _range(low: float, high: float) -> str:
    return f"98% lie between {_rounded(low):.9g} and {_rounded(high):.9g}"


def _rounded(number: float) -> float:
    """A number that is easy to read: three digits."""
    return float(f"{number:.3g}")
