"""Parameters and state of a policy in one array, which is all that compiled code is handed.

Handing over an array costs more than the arithmetic of a small decision (measured: some 90 ns each,
and a state has ten). So all of them live in one, and the state is a named tuple of views of it:

    [action bound, d, stale, busy, floor | parameters | where each array starts, its shape | arrays]

All are floats, but for integers where an array starts and in its shape.

Compiled code runs without Python's lock. So a call claims the array, and a call from another thread
meanwhile is refused: it would read numbers that are being written, and its own would be lost.
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
from .compiling import COMPILING, entry_point, intrinsic, lean_kernel

StateType = TypeVar("StateType", bound=tuple[Any, ...])

# Positions in a packed array; the parameters come next. The last four before them belong to the
# floor (`driftbandits.core.exploring`).
ACTION_BOUND, DIM, STALE, BUSY, FLOOR, KEY_HIGH, KEY_LOW, DRAWN, FIRST_PARAMETER = range(9)

# Values of STALE: what is computed from the sums (the factor, θ̂, β) is up to date; the sums have
# changed since; or it was computed for a property, and a decision must compute it anew.
FRESH, CHANGED, LOOKED_AT = 0.0, 1.0, 2.0


class Field(NamedTuple):
    """What compiled code has to know of an array before it runs."""

    ndim: int
    dtype: np.dtype[Any]  # of eight bytes, as all that is packed


def fields_of(state: tuple[Any, ...]) -> tuple[Field, ...]:
    """The fields of a state, in order."""
    return tuple(Field(array.ndim, array.dtype) for array in state)


def pack(head: Sequence[float], state: StateType) -> tuple[Array, StateType]:
    """One array of ``head`` (all before the layout) and the arrays of a state.

    Returns it with the state as views of it.
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
    """The state of a packed array, whose layout is at ``place``."""
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
        """Set BUSY, and return whether it was set, in one step that no other thread can divide."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _busy_place(context, builder, signature.args[0], arguments[0])
            before = builder.atomic_rmw("xchg", place, ir.IntType(64)(1), "acquire")
            return builder.icmp_signed("!=", before, ir.IntType(64)(0))

        return types.boolean(packed), generate

    @intrinsic
    def release(typing_context: Any, packed: Any) -> Any:
        """Clear BUSY, after all that was written before."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _busy_place(context, builder, signature.args[0], arguments[0])
            builder.store_atomic(ir.IntType(64)(0), place, "release", 8)
            return context.get_dummy_value()

        return types.none(packed), generate

    def _busy_place(context: Any, builder: Any, kind: Any, packed: Any) -> Any:
        """Where BUSY is, as an integer: there are no atomic exchanges of floats."""
        data = make_array(kind)(context, builder, packed).data
        return builder.bitcast(cgutils.gep(builder, data, BUSY), ir.IntType(64).as_pointer())

else:

    def _exchange(packed: Array) -> bool:
        before, packed[BUSY] = packed[BUSY], 1.0
        return bool(before)

    def release(packed: Array) -> None:
        """Clear BUSY."""
        packed[BUSY] = 0.0


@lean_kernel
def claim(packed: Array) -> None:
    """Take a packed array for this call alone, until `release`; an error where another one has."""
    if _exchange(packed):
        raise RuntimeError(
            "two threads use one policy at the same time; hold a lock around its calls, or give "
            "each thread a copy"
        )


def _claim(packed: Array) -> None:
    claim(packed)


claim_entry = entry_point(_claim, "packing")
