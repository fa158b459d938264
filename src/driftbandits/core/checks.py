"""Compiled checks of arguments, and the layout of a set of actions in compiled code.

Kernels check nothing. An entry point calls these first, and refuses the whole call if one fails.
"""

from __future__ import annotations

from .arrays import Array
from .compiling import lean_kernel
from .linalg import inner
from .packing import ACTION_BOUND, DIM

# The squares of rewards, and sums of them, stay far from overflow.
LARGEST_REWARD = 1e100

# A norm may exceed its bound by rounding, single precision included, but by no more.
NORM_SLACK = 1e-6

# How many numbers a panel of columns may have to stay in the caches (measured: 80,000 bytes are as
# fast as 8,000, 160,000 are slower; this is 98,304).
PANEL = 12_288


@lean_kernel
def admissible(packed: Array, actions: Array) -> bool:
    """Whether ``actions`` has shape (K, d), with finite rows and norms within the bound."""
    limit = (packed[ACTION_BOUND] * (1.0 + NORM_SLACK)) ** 2
    for k in range(actions.shape[0]):
        if not inner(actions[k], actions[k]) <= limit:
            return False
    return bool(actions.shape[0] > 0 and actions.shape[1] == packed[DIM])


@lean_kernel
def fitting(actions: Array, thetas: Array, means: Array, best: Array, noise: Array) -> bool:
    """Whether the arrays of a block have the shapes that `Block` states, and some actions."""
    dim, count = actions.shape[1:]
    rounds = best.size
    return bool(
        count > 0
        and actions.shape[0] in (1, rounds)
        and thetas.shape[0] == rounds
        and thetas.shape[1] == dim
        and means.shape[0] == rounds
        and means.shape[1] == count
        and noise.shape[0] == rounds
        and noise.shape[1] in (1, count)
    )


@lean_kernel
def panel(dim: int, count: int) -> int:
    """How many of ``count`` columns to take at a time: all, or equal parts; a multiple of four.

    Vector instructions take four columns at a time; any others are slower, one by one.
    """
    parts = 1 + (count - 1) // max(PANEL // dim, 16)
    width = 1 + (count - 1) // parts
    return (width + 3) // 4 * 4


@lean_kernel
def transpose(actions: Array, columns: Array) -> None:
    """columns ← actionsᵀ."""
    for i in range(actions.shape[1]):
        row = columns[i]
        for k in range(row.size):
            row[k] = actions[k, i]
