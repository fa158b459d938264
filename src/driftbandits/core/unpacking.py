"""Parameters and state for compiled code: the address of a packed array, read field by field.

A named tuple of ten arrays is a hundred numbers to pass from kernel to kernel. Passing them made up
much of the code to compile (measured: half of it for AdaptiveLinUCB, which has 17 arrays). So
kernels pass one address instead. Where a kernel uses a field, its place and shape are read from the
packed array. They do not change during a call. The optimiser knows this, and reads them once,
outside of all loops.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.datamodel.models import PrimitiveModel
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_getattr_generic, register_model
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import from_dtype

from .arrays import Array
from .compiling import COMPILING, intrinsic
from .packing import FIRST_PARAMETER, Field, views

# numba has no types.
_NumbaType: Any = types.Type
_NumbaModel: Any = PrimitiveModel
_NumbaAttributes: Any = AttributeTemplate

_WORD = ir.IntType(64)


class Unpacked(_NumbaType):  # type: ignore[misc]
    """The fields of a named tuple that lives in a packed array: each with its type and place."""

    def __init__(self, owner: type[Any], kinds: tuple[Any, ...], place: int) -> None:
        places = place + np.cumsum([0, *(1 + getattr(kind, "ndim", 0) for kind in kinds)])
        self.fields = dict(
            zip(owner._fields, zip(kinds, places.tolist(), strict=False), strict=True)
        )
        self._owner = owner
        super().__init__(name=f"{owner.__module__}.{owner.__qualname__}{self.fields}")

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """How this type appears in the names of compiled functions; it need not be unique."""
        return self._owner.__name__, ()


@register_model(Unpacked)
class _Address(_NumbaModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Unpacked) -> None:
        super().__init__(manager, kind, ir.DoubleType().as_pointer())


@infer_getattr
class _FieldTypes(_NumbaAttributes):  # type: ignore[misc]
    key = Unpacked

    def generic_resolve(self, owner: Any, name: str) -> Any:
        """The type of a field; None if there is no field of this name."""
        return owner.fields[name][0] if name in owner.fields else None


@lower_getattr_generic(Unpacked)  # type: ignore[untyped-decorator]
def _field(context: Any, builder: Any, owner: Any, packed: Any, name: str) -> Any:
    """Code for ``owner.name``: a call of the function that reads this field."""
    kind, place = owner.fields[name]
    called = f"driftbandits.field.{place}.{kind}"
    reader = builder.module.globals.get(called)
    if reader is None:
        made = ir.FunctionType(context.get_value_type(kind), [packed.type])
        reader = ir.Function(builder.module, made, called)
        reader.linkage = "linkonce_odr"  # the same in every module that has it
        reader.attributes.add("alwaysinline")
        within = ir.IRBuilder(reader.append_basic_block())
        within.ret(_read(context, within, kind, reader.args[0], place))
    return builder.call(reader, [packed])


def _read(context: Any, builder: Any, kind: Any, packed: Any, place: int) -> Any:
    """Read a parameter, or build an array from its place and shape.

    The array does not own its memory: the packed array must outlive it, as an argument does.
    """
    if not isinstance(kind, types.Array):
        return _unchanging(builder, packed, place)
    layout = builder.bitcast(packed, _WORD.as_pointer())
    first, *shape = [_unchanging(builder, layout, place + i) for i in range(1 + kind.ndim)]
    strides = [ir.Constant(_WORD, 8)]
    for size in shape[:0:-1]:
        strides.insert(0, builder.mul(size, strides[0]))
    array = make_array(kind)(context, builder)
    data = builder.bitcast(builder.gep(packed, [first]), array.data.type)
    populate_array(array, data, shape, strides, ir.Constant(_WORD, 8), meminfo=None)
    return array._getvalue()


def _unchanging(builder: Any, numbers: Any, place: int) -> Any:
    """A number of the packed array that stays the same during a call."""
    number = builder.load(builder.gep(numbers, [ir.Constant(_WORD, place)]))
    number.set_metadata("invariant.load", builder.module.add_metadata([]))
    return number


@cache
def unpacker(
    parameters: type[Any], state: type[Any], fields: tuple[Field, ...]
) -> Callable[[Array], Any]:
    """``unpack(packed) -> (parameters, state)``, for compiled code."""
    count = len(parameters._fields)
    layout = FIRST_PARAMETER + count
    if not COMPILING:
        return lambda packed: (
            parameters(*packed[FIRST_PARAMETER:layout]),
            views(packed, state, fields, layout),
        )
    arrays = tuple(types.Array(from_dtype(field.dtype), field.ndim, "C") for field in fields)
    halves = types.Tuple(
        [
            Unpacked(parameters, (types.float64,) * count, FIRST_PARAMETER),
            Unpacked(state, arrays, layout),
        ]
    )

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = make_array(signature.args[0])(context, builder, arguments[0]).data
        return context.make_tuple(builder, halves, [address, address])

    @intrinsic
    def unpack(typing_context: Any, packed: Any) -> Any:
        return halves(packed), generate

    return unpack
