"""Parameters and state of a policy, packed into one array: the only argument of compiled code.

Passing an array costs about 90 ns (measured), and a state has ten arrays: together more than the
arithmetic of a small decision. So all of them share one array, and the state is a named tuple of
views of it:

    [action bound, d, stale, busy, floor | parameters | where each array starts, its shape | arrays]

Starts and shapes are integers; all other numbers are floats, unless an array holds integers.

Compiled code runs without Python's lock. So each call claims the array. A call from another thread
in the meantime is refused: it would read numbers while they are being written, and its own changes
would be lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.np.arrayobj import make_array

from .arrays import Array
from .compiling import COMPILING, entry_point, intrinsic, kernel

StateType = TypeVar("StateType", bound=tuple[Any, ...])

# Positions in a packed array; the parameters come next. FLOOR to DRAWN belong to the floor
# (`driftbandits.core.exploring`).
ACTION_BOUND, DIM, STALE, BUSY, FLOOR, KEY_HIGH, KEY_LOW, DRAWN, FIRST_PARAMETER = range(9)

# Values of STALE. FRESH: the factor, θ̂ and β agree with the sums. CHANGED: the sums have changed
# since. LOOKED_AT: a property has computed them, and the next decision must compute them again.
FRESH, CHANGED, LOOKED_AT = 0.0, 1.0, 2.0


class Field(NamedTuple):
    """Type and dimensions of an array: compiled code needs them before it runs."""

    ndim: int
    dtype: np.dtype[Any]  # of eight bytes, like everything packed


def fields_of(state: tuple[Any, ...]) -> tuple[Field, ...]:
    """The fields of a state, in order."""
    return tuple(Field(array.ndim, array.dtype) for array in state)


def pack(head: Sequence[float], state: StateType) -> tuple[Array, StateType]:
    """Pack ``head`` (all before the layout) and the arrays of a state into one array.

    Returns the packed array, and the state as views of it.
    """
    first = len(head) + sum(1 + array.ndim for array in state)
    layout: list[int] = []
    starts: list[int] = []
    for array in state:
        layout += [first, *array.shape]
        starts.append(first)
        first += array.size
    packed = np.empty(first)
    packed[: len(head)] = head
    packed.view(np.int64)[len(head) : len(head) + len(layout)] = layout
    copied = []
    for start, array in zip(starts, state, strict=True):
        view = np.ndarray(array.shape, array.dtype, packed, 8 * start)
        view[...] = array
        copied.append(view)
    return packed, type(state)(*copied)


def views(
    packed: Array, state: type[StateType], fields: tuple[Field, ...], place: int
) -> StateType:
    """The state as views of a packed array whose layout starts at ``place``."""
    end = place + sum(1 + field.ndim for field in fields)
    numbers = iter(packed.view(np.int64)[place:end].tolist())
    arrays = []
    for field in fields:
        start = 8 * next(numbers)
        shape = tuple(islice(numbers, field.ndim))
        arrays.append(np.ndarray(shape, field.dtype, packed, start))
    return state(*arrays)


if COMPILING:

    @intrinsic
    def _exchange(typing_context: Any, packed: Any) -> Any:
        """Set BUSY, and return whether it was set before, in one atomic step."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _busy_place(context, builder, signature.args[0], arguments[0])
            before = builder.atomic_rmw("xchg", place, ir.IntType(64)(1), "acquire")
            return builder.icmp_signed("!=", before, ir.IntType(64)(0))

        return types.boolean(packed), generate

    @intrinsic
    def release(typing_context: Any, packed: Any) -> Any:
        """Clear BUSY; other threads then see all earlier writes."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _busy_place(context, builder, signature.args[0], arguments[0])
            builder.store_atomic(ir.IntType(64)(0), place, "release", 8)
            return context.get_dummy_value()

        return types.none(packed), generate

    def _busy_place(context: Any, builder: Any, kind: Any, packed: Any) -> Any:
        """The address of BUSY as that of an integer: floats cannot be exchanged atomically."""
        data = make_array(kind)(context, builder, packed).data
        return builder.bitcast(cgutils.gep(builder, data, BUSY), ir.IntType(64).as_pointer())

else:

    def _exchange(packed: Array) -> bool:
        before, packed[BUSY] = packed[BUSY], 1.0
        return bool(before)

    def release(packed: Array) -> None:
        """Clear BUSY."""
        packed[BUSY] = 0.0


@kernel
def claim(packed: Array) -> None:
    """Take a packed array for this call alone, until `release`; fails if another call holds it."""
    if _exchange(packed):
        raise RuntimeError(
            "two threads use one policy at the same time; hold a lock around its calls, or give "
            "each thread a copy"
        )


def _claim(packed: Array) -> None:
    claim(packed)


claim_entry = entry_point(_claim, "packing")
