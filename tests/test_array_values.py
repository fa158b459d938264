"""Indexing in compiled code, which takes fields of arrays directly, against plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from driftbandits.core.array_values import ArrayValue
from driftbandits.core.arrays import Array
from driftbandits.core.compiling import COMPILING, entry_point, kernel, lean_kernel

if COMPILING:
    from llvmlite import ir
    from numba.core import types
    from numba.core.registry import cpu_target


def _elements(block: Array, out: Array) -> int:
    """Numbers by integers, negative ones too, and by tuples."""
    out[0], out[1], out[2] = block[1, 0, 2], block[-1, -2, -3], block[0][1][-1]
    block[1, -1, 0] += 10.0
    block[-2][0, 1] = 7.0
    count = 3
    for i in range(-3, 3):  # indices that are not known beforehand
        block[-1, i, 1] -= 1.0
        row = block[i % 2][i]
        out[count], out[count + 1] = block[0, i, i], row[-abs(i)]
        count += 2
    return count


@lean_kernel
def _put(view: Array, out: Array, count: int) -> int:
    for i in range(view.size):
        out[count + i] = view[i]
    return count + len(view)


def _views(block: Array, out: Array) -> int:
    """Slices, with and without a step, and views of views."""
    layer = block[1]
    count = _put(layer[0, 1:], out, 0)
    count = _put(layer[1, ::-1], out, count)
    count = _put(layer[:, 1], out, count)
    count = _put(block[0, 1, :-1], out, count)
    count = _put(block[:, 0, 2], out, count)
    inner = layer[1:, 1:]
    inner[0, 0] *= 3.0
    out[count], out[count + 1] = inner.shape[0], inner.size
    return count + 2


def _forms(block: Array, out: Array) -> int:
    """What needs the address of an array's fields, or makes an array."""
    count = 0
    flat, turned, whole = block.reshape(block.size), block[0].T, np.empty((2, 2))
    whole[0], whole[1] = flat[2:4], turned[1, 1:]
    for row in whole:
        for number in row:
            out[count] = number
            count += 1
    alone = np.zeros(())
    alone[()] = 4.0
    out[count], out[count + 1], out[count + 2] = (
        alone[()],
        block[np.uint8(1), 2, 1],
        block[()][0, 1, 2],
    )
    count += 3
    copied = block[1].copy()
    copied[0, 0] = -5.0
    out[count], out[count + 1] = copied.sum(), block[1, 0, 0]
    return count + 2


_INNER = {"elements": lean_kernel(_elements), "views": lean_kernel(_views), "forms": kernel(_forms)}


def inner(block: Array, out: Array) -> int:
    """Placeholder that `entry_point` replaces."""
    raise RuntimeError("a template was called")


def _template(block: Array, out: Array) -> int:
    return int(inner(block, out))


@pytest.mark.parametrize(
    ("name", "plain"), [("elements", _elements), ("views", _views), ("forms", _forms)]
)
def test_compiled_indexing_is_python_s(name: str, plain: Any) -> None:
    block = np.arange(18.0).reshape(2, 3, 3) ** 2
    ours, theirs = (block.copy(), np.full(30, -1.0)), (block.copy(), np.full(30, -1.0))
    compiled = entry_point(_template, f"indexing_{name}", inner=_INNER[name])
    assert compiled(*ours) == plain(*theirs)
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_array_equal(ours[1], theirs[1])


@pytest.mark.skipif(not COMPILING, reason="nothing is compiled")
def test_a_field_that_was_set_is_read_again() -> None:
    context, kind = cpu_target.target_context, types.Array(types.float64, 1, "C")
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), []), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    nothing = ir.Constant(context.get_value_type(kind), None)
    array = ArrayValue(context, kind, builder, nothing)
    assert array._getvalue() is nothing
    assert array.nitems.opname == "extractvalue"
    array.nitems = ir.Constant(ir.IntType(64), 5)
    assert array.nitems.opname == "load"
    assert array._getvalue().opname == "load"
