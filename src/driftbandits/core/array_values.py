"""Short code for arrays: numba stores an array in memory to read one of its fields.

An array is a structure of an address, a shape and strides. For each ``array[i]``, numba makes room
on the stack, stores the structure there, and loads the fields that it needs. The optimiser removes
all of that again. Here the fields are taken from the structure directly, and indices are computed
without what is known to be zero. This leaves less code to compile; the result is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.cpython import slicing
from numba.np import arrayobj

_numba: Any = arrayobj
_make_array: Callable[..., Any] = _numba.make_array
_basic_indexing: Callable[..., Any] = _numba.basic_indexing


class ArrayValue:
    """The fields of an array, as numba's code for indexing reads them.

    Whatever else numba asks for, such as the address of a field, comes from numba's own structure.
    """

    __slots__ = ("_builder", "_context", "_kind", "_stored", "_value")

    def __init__(self, context: Any, kind: Any, builder: Any, value: Any) -> None:
        own = (builder, context, kind, None, value)
        for name, part in zip(self.__slots__, own, strict=True):
            object.__setattr__(self, name, part)

    def __getattr__(self, name: str) -> Any:
        names = self._context.data_model_manager[self._kind]._fields
        if self._stored is None and name in names:
            return self._builder.extract_value(self._value, names.index(name))
        return getattr(self._in_memory(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._in_memory(), name, value)

    def _in_memory(self) -> Any:
        # The store is in the block of code that is being written. numba asks for it in no branch.
        if self._stored is None:
            stored = _make_array(self._kind)(self._context, self._builder, value=self._value)
            object.__setattr__(self, "_stored", stored)
        return self._stored

    def _getvalue(self) -> Any:
        return self._value if self._stored is None else self._stored._getvalue()


def make_array(kind: Any) -> Callable[..., Any]:
    """Like numba's ``make_array``; fields of arrays that exist already are taken directly."""

    def proxy(context: Any, builder: Any, value: Any = None, ref: Any = None) -> Any:
        if type(kind) is types.Array and value is not None and ref is None:
            return ArrayValue(context, kind, builder, value)
        return _make_array(kind)(context, builder, value=value, ref=ref)

    return proxy


def make_view(
    context: Any,
    builder: Any,
    kind: Any,
    array: Any,
    view: Any,
    data: Any,
    shapes: Any,
    strides: Any,
) -> Any:
    """Like numba's ``make_view``: an array of type ``view`` in the memory of ``array``."""
    count = ir.Constant(ir.IntType(64), 1)
    for size in shapes:
        count = builder.mul(count, size, flags=["nsw"])
    fields = {
        "meminfo": array.meminfo,
        "parent": array.parent,
        "nitems": count,
        "itemsize": array.itemsize,
        "data": data,
        "shape": cgutils.pack_array(builder, shapes, ty=count.type),
        "strides": cgutils.pack_array(builder, strides, ty=count.type),
    }
    value = ir.Constant(context.get_value_type(view), ir.Undefined)
    for position, name in enumerate(context.data_model_manager[view]._fields):
        field = fields[name]
        if name == "data":
            field = builder.bitcast(field, value.type.elements[position])
        value = builder.insert_value(value, field, position)
    return ArrayValue(context, view, builder, value)


def basic_indexing(
    context: Any,
    builder: Any,
    kind: Any,
    array: Any,
    index_kinds: Any,
    indices: Any,
    boundscheck: bool | None = None,
) -> Any:
    """Like numba's ``basic_indexing``: the address, shape and strides of ``array[indices]``.

    numba computes with every stride, and with every index as if it could be negative. Rows in the
    order of C need the lengths of the later axes alone, and a constant shows its sign.
    """
    whole = all(isinstance(of, types.Integer) for of in index_kinds)
    if boundscheck or not (whole and index_kinds and kind.layout == "C"):
        return _basic_indexing(
            context, builder, kind, array, index_kinds, indices, boundscheck=boundscheck
        )
    shape, strides, place = array.shape, array.strides, None
    for axis, (index, index_kind) in enumerate(zip(indices, index_kinds, strict=True)):
        inside = context.cast(builder, _looked_through(index), index_kind, types.intp)
        if index_kind.signed and not _is_natural(inside):
            inside = slicing.fix_index(builder, inside, builder.extract_value(shape, axis))
        place = _moved(builder, shape, axis, place, inside)
    rest = range(len(indices), kind.ndim)
    sizes = [builder.extract_value(shape, axis) for axis in rest]
    for size in sizes:
        place = builder.mul(place, size)
    steps = [builder.extract_value(strides, axis) for axis in rest]
    return builder.gep(array.data, [place]), sizes, steps


def _moved(builder: Any, shape: Any, axis: int, place: Any, index: Any) -> Any:
    """``place`` · (length of the axis) + ``index``, without what is known to be zero."""
    if place is None or (isinstance(place, ir.Constant) and place.constant == 0):
        return index
    start = builder.mul(place, builder.extract_value(shape, axis))
    if isinstance(index, ir.Constant) and index.constant == 0:
        return start
    return builder.add(start, index)


def _is_natural(value: Any) -> bool:
    """Whether ``value`` is a constant that is not negative."""
    return isinstance(value, ir.Constant) and value.constant >= 0


def _looked_through(value: Any) -> Any:
    """The number that was put where ``value`` is read from: numba packs indices into a tuple."""
    if isinstance(value, ir.ExtractValue):
        packed = value.aggregate
        while isinstance(packed, ir.InsertValue):
            if list(packed.indices) == list(value.indices):
                return packed.value
            packed = packed.aggregate
    return value
