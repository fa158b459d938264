"""Convert states that release 0.1.0 saved into present states.

Release 0.1.0 had one bank, with memories 2d, 4d, 8d, …, and no level: rewards were counted from
zero. Every second expert of that bank continues in the anchored bank. The level is zero, with
certainty. The centred bank starts anew. The log of overwritings is dropped. So a late reward of a
round before the save gets the weight that an expert without overwritings gives it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.storage import StateFileError
from ...least_squares.combining import longer
from .state import (
    ANCHORED,
    CENTRED,
    CHANGES,
    COUNT,
    DETECTIONS,
    DISCOUNT,
    EVIDENCE,
    EXPERTS,
    OBSERVATIONS,
    PRECISION,
    PRIOR,
    RATIO,
    REMEMBERED,
    RESIDUALS,
    RESTORED,
    REWARD_COUNT,
    REWARD_SQUARES,
    ROWS,
    TAIL_ABOVE,
    TAIL_BELOW,
    UNIT,
    VARIANCE,
    WEIGHT,
    State,
    initial_state,
)

CERTAIN = 1e12  # precision of a level that is known

# Positions in the arrays of 0.1.0.
_CLOCK, _EXPERTS, _OBSERVATIONS, _RESIDUALS, _SQUARES, _, _COUNT, _VARIANCE, _, _FOUND, _TAILS = (
    range(11)
)
_WEIGHT, _EVIDENCE, _UNIT, _, _RESTORED, _, _REMEMBERED, _, _DISCOUNT, _, _, _, _PRIOR = range(13)
_NAMES = {
    "counters",
    "facts",
    "grams",
    "moments",
    "inverses",
    "thetas",
    "images",
    "copies",
    "factor",
    "unweighted",
    "detections",
}


def is_earlier(arrays: dict[str, Any]) -> bool:
    """Whether ``arrays`` are a state of 0.1.0."""
    return arrays.keys() == _NAMES


def migrated(arrays: dict[str, Any], dim: int) -> dict[str, Array]:
    """Convert the arrays of 0.1.0 into the present state of a policy with ``dim`` coordinates."""
    _check(arrays, dim)
    old, facts = arrays["counters"], arrays["facts"]
    last = int(old[_EXPERTS]) - 1
    kept = [*range(0, last, 2), last]  # memories 2d, 8d, 32d, … and the one that never forgets
    state = _with_rows(initial_state(dim=dim), 2 * len(kept))
    rows = slice(ANCHORED, None, 2)
    state.grams[rows], state.moments[rows] = arrays["grams"][kept], arrays["moments"][kept]
    weights = np.add.reduceat(facts[: last + 1, _WEIGHT], kept)
    state.facts[rows, WEIGHT] = weights
    state.facts[rows, EVIDENCE] = np.exp(np.minimum(facts[kept, _EVIDENCE], 400.0))
    for new, position in ((UNIT, _UNIT), (REMEMBERED, _REMEMBERED), (DISCOUNT, _DISCOUNT)):
        state.facts[rows, new] = facts[kept, position]
    for fact in (REMEMBERED, DISCOUNT):
        state.facts[CENTRED::2, fact] = state.facts[rows, fact]
    state.facts[:, RESTORED] = old[_CLOCK]
    prior = _prior(len(kept), float(facts[last, _PRIOR]) or 1.0)
    state.facts[:, PRIOR] = np.repeat(prior, 2)
    state.facts[CENTRED::2, WEIGHT] = prior
    _fill_counters(state, old, len(kept))
    squares = np.diagonal(arrays["grams"][last, 0]) / facts[last, _UNIT]
    state.features[:] = squares, np.where(squares > 0, max(1.0, old[_OBSERVATIONS]), 0.0)
    return {**state._asdict(), "detections": np.array(arrays["detections"])}


def _fill_counters(state: State, old: Array, experts: int) -> None:
    new = state.counters
    new[0], new[EXPERTS], new[OBSERVATIONS] = old[_CLOCK], experts, old[_OBSERVATIONS]
    new[RESIDUALS], new[COUNT] = old[_RESIDUALS], old[_COUNT]
    new[REWARD_SQUARES], new[REWARD_COUNT] = old[_SQUARES], old[_COUNT]
    new[VARIANCE], new[PRECISION] = old[_VARIANCE], CERTAIN
    new[TAIL_BELOW] = new[TAIL_ABOVE] = old[_TAILS] / 2
    new[DETECTIONS] = old[_FOUND]
    if old[_SQUARES] > 0.0:
        new[RATIO] = min(1.0, max(1e-12, old[_VARIANCE] * old[_COUNT] / old[_SQUARES]))


def _with_rows(state: State, rows: int) -> State:
    grown = state._replace(**{name: longer(getattr(state, name), rows) for name in ROWS})
    grown.facts[:, [EVIDENCE, UNIT]] = 1.0
    grown.facts[:, CHANGES] = -1.0
    return grown


def _prior(count: int, never: float) -> Array:
    others = 1.0 / np.arange(count - 1, 0, -1)
    return np.append((1.0 - never) * others / others.sum(), never) if count > 1 else np.ones(1)


def _check(arrays: dict[str, Any], dim: int) -> None:
    """Refuse arrays that no policy of 0.1.0 could have saved."""
    count = len(arrays["facts"])
    shapes = {
        "counters": (11,),
        "facts": (count, 13),
        "grams": (count, 2, dim, dim),
        "moments": (count, 2, dim),
    }
    for name, shape in shapes.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
            raise StateFileError(f"array {name} of release 0.1.0 is not finite of shape {shape}")
    experts = arrays["counters"][_EXPERTS]
    if not (1 <= experts <= count and float(experts).is_integer()):
        raise StateFileError(f"array counters has {experts} experts, not 1 to {count}")
