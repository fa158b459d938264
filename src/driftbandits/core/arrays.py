"""Array types, and the checks that turn a caller's values into them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# A setting is zero or lies between these, so that products of a few settings stay in range.
SMALLEST, LARGEST = 1e-100, 1e100

# Every integer up to this one is a float64.
LARGEST_WHOLE = 2**53


def plain(value: Any) -> Any:
    """A numpy number as a Python number; anything else unchanged.

    numpy's integers and short floats overflow, mostly silently, where Python's do not.
    """
    if isinstance(value, np.floating):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def positive(name: str, value: float) -> None:
    """Refuse a value that is not a number above zero, or is too small or large to compute with."""
    if not (_is_number(value) and value > 0 and value < math.inf):
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}")
    _in_range(name, value)


def non_negative(name: str, value: float) -> None:
    """Refuse a value that is neither zero nor `positive`."""
    if not (_is_number(value) and value >= 0 and value < math.inf):
        raise ValueError(f"{name} must be a finite number, 0 or above, got {value!r}")
    if value > 0:
        _in_range(name, value)


def finite(name: str, value: float) -> None:
    """Refuse a value that is not a finite number."""
    if not (_is_number(value) and -math.inf < value < math.inf):
        raise ValueError(f"{name} must be a finite number, got {value!r}")


def open_unit(name: str, value: float) -> None:
    """Refuse a value outside the open interval (0, 1), or too close to 0 to compute with."""
    if not (_is_number(value) and 0 < value < 1):
        raise ValueError(f"{name} must lie in (0, 1), got {value!r}")
    _in_range(name, value)


def _in_range(name: str, value: float) -> None:
    if not SMALLEST <= plain(value) <= LARGEST:
        rule = f"at least {SMALLEST:g}" if value < 1 else f"at most {LARGEST:g}"
        raise ValueError(
            f"{name} must be {rule}, got {_shown(value)}: computations with it would overflow"
        )


def whole(name: str, value: int, *, least: int, most: int | None = LARGEST_WHOLE) -> None:
    """Refuse a value that is not an integer from ``least`` to ``most``."""
    if not _is_whole(value) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    if most is not None and value > most:
        raise ValueError(f"{name} must be an integer of at most {most}, got {_shown(value)}")


def _shown(value: float) -> str:
    """A number as text; Python refuses to print integers of thousands of digits."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    return repr(value)


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not among ``allowed``."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def numbers(name: str, value: Any) -> Array:
    """``value`` as a contiguous, writeable float64 array, of any shape, finite or not.

    Any other layout would trigger a slow compilation. Text, dates, complex numbers and missing
    entries are refused: numpy would silently turn them into numbers.
    """
    try:
        array = np.asarray(value)
        if np.ma.is_masked(value):
            raise ValueError("some entries are masked")
        for entry in array.flat if array.dtype.kind not in "biuf" else ():
            if array.dtype.kind != "O" or entry is None or isinstance(entry, (str, bytes, complex)):
                raise ValueError(f"{entry!r} is not a number")
        return np.require(array, np.float64, ["C", "W"])
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from None


def number(name: str, value: Any) -> float:
    """``value`` as one float, finite or not. Refuses what `numbers` refuses."""
    array = numbers(name, value)
    if array.ndim > 0:
        raise ValueError(f"{name} must be one number, got shape {array.shape}")
    return float(array)


def observations(dim: int, actions: Any, rewards: Any) -> tuple[Array, Array]:
    """An action (d,) and its reward, or (n, d) and (n,), as (n, d) and (n,); values unchecked."""
    rows, values = numbers("actions", actions), numbers("rewards", rewards)
    shape = rows.shape
    if rows.ndim == 1:
        rows = rows.reshape(1, -1)
    if rows.ndim != 2 or rows.shape[1] != dim or len(rows) == 0:
        raise ValueError(
            f"actions must have shape ({dim},) or (n, {dim}) with n of at least 1, got {shape}"
        )
    if values.shape != shape[:-1]:
        raise ValueError(f"rewards must have shape {shape[:-1]}, got {values.shape}")
    return rows, values.reshape(-1)


def float_array(name: str, value: Any, *, ndim: int) -> Array:
    """``value`` as a contiguous float64 array of ``ndim`` axes, all entries finite."""
    array = numbers(name, value)
    if array.ndim != ndim:
        kind = {1: "a vector", 2: "a matrix"}.get(ndim, f"an array with {ndim} axes")
        raise ValueError(f"{name} must be {kind}, got shape {array.shape}")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite, got {array[where]} at {where}")
    return array


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
