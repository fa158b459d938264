"""Checks that saved arrays can be the state of a policy: compiled code uses them unchecked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.arrays import LARGEST_WHOLE, Array
from ..core.clock import CLOCK, LAST_ROUND
from ..core.storage import StateFileError

# No number of a state comes near this: actions and rewards are bounded, and so are units.
LARGEST_STORED = 1e290


def checked_state(arrays: Mapping[str, Any], initial: Any, *, growing: tuple[str, ...]) -> Any:
    """``arrays`` as a state, after a check against the ``initial`` state.

    The arrays named in ``growing`` may have more rows than at the start.
    """
    if arrays.keys() != set(initial._fields):
        raise StateFileError(
            f"the state has arrays {sorted(map(str, arrays))}, not {sorted(initial._fields)}"
        )
    for name, expected in initial._asdict().items():
        _check_array(name, arrays[name], expected, grows=name in growing)
    state = initial._replace(**arrays)
    if not 0.0 <= state.counters[CLOCK] <= LAST_ROUND:
        raise StateFileError(
            f"array counters has a clock of {state.counters[CLOCK]}, "
            f"not one from 0 to {LAST_ROUND:.0f}"
        )
    for name, array in state._asdict().items():
        if array.dtype.kind == "f" and not (np.abs(array) < LARGEST_STORED).all():
            raise StateFileError(f"array {name} has entries beyond {LARGEST_STORED:g}")
    return state


def check_counters(counters: Array, ranges: Mapping[int, tuple[int, int]]) -> None:
    """Refuse counters that are not integers within ``ranges``: position → (least, most)."""
    for position, (least, most) in ranges.items():
        value = counters[position]
        if not (least <= value <= most and value.is_integer()):
            raise StateFileError(
                f"array counters has {value} at {position}, not an integer from {least} to {most}"
            )


def check_stream(name: str, saved: Any, expected: Any) -> None:
    """Refuse an array that cannot be the key of a stream and a number of draws."""
    _check_array(name, saved, expected, grows=False)
    if saved[1] > LARGEST_WHOLE:
        raise StateFileError(f"array {name} has {saved[1]} draws, too many to count")


def check_dim(dim: int, arrays: Mapping[str, Any], one: Any, two: Any) -> None:
    """Refuse a forged ``dim`` before a state of that size takes all memory.

    An axis that differs between the states of dim 1 and 2 grows with dim. In ``arrays`` it must
    have grown as well.
    """
    small, large = one._asdict(), two._asdict()
    for name in small.keys() & arrays.keys():
        lengths = zip(small[name].shape, large[name].shape, arrays[name].shape, strict=False)
        if any(first != second and 4 * saved < dim for first, second, saved in lengths):
            raise StateFileError(
                f"array {name} of shape {arrays[name].shape} does not fit dim = {dim}"
            )


def _check_array(name: str, saved: Any, expected: Any, *, grows: bool) -> None:
    if not isinstance(saved, np.ndarray):
        raise StateFileError(f"array {name} must be a numpy array, got {saved!r:.60}")
    grown = (
        grows
        and saved.ndim == expected.ndim
        and saved.shape[1:] == expected.shape[1:]
        and len(saved) >= len(expected)
    )
    if saved.dtype != expected.dtype or not (saved.shape == expected.shape or grown):
        raise StateFileError(
            f"array {name} is {saved.dtype}{saved.shape}, not {expected.dtype}{expected.shape}"
        )
    if not np.isfinite(saved).all():
        raise StateFileError(f"array {name} has entries that are not finite")
