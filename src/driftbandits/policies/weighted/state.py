"""Parameters and state of the weighted family: a name for every number, and the initial state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
from ...least_squares.forgetting import COUNTERS, FACTOR_AGE, MU, RIDGE, UNIT

# Codes for ``Parameters.radius``; codes from DETERMINANT on use the determinant of Ṽ.
PER_ROUND, ANYTIME, PUBLISHED_WINDOW, UNION, BLOCKWISE = range(5)
DETERMINANT, ANYTIME_DETERMINANT, BLOCKWISE_DETERMINANT = range(5, 8)
RADIUS_CODES: dict[str, int] = {
    "per-round": PER_ROUND,
    "anytime": ANYTIME,
    "blockwise": BLOCKWISE,
    "determinant": DETERMINANT,
    "anytime-determinant": ANYTIME_DETERMINANT,
    "blockwise-determinant": BLOCKWISE_DETERMINANT,
}


class Parameters(NamedTuple):
    """The configuration in the form that kernels read: floats only."""

    gamma: float  # 1: nothing is discounted
    window: float  # 0: no window
    ridge: float
    mu: float
    noise: float
    delta: float
    theta_bound: float
    action_bound: float
    radius: float
    horizon: float  # for the union bound over rounds
    restore: float  # rounds between two restorations of λ under discounting
    follow: float  # 1: the factor follows the sums by rank-one changes
    period: float  # rounds between two restarts, which forget everything; 0: no restarts
    released: float  # 1: Ṽ is computed as in the authors' released code


class State(NamedTuple):
    """Sums, clock and history, and the estimate last computed from them."""

    gram: Array  # (2, d, d), Σ w a aᵀ, a compensated sum
    gram_squared: Array  # (2, d, d), Σ w² a aᵀ; (2, 0, 0) if widths come from V alone
    moment: Array  # (2, d), b
    counters: Array  # see driftbandits.least_squares.forgetting
    history: Array  # (capacity, d + 2), the window's rows [action, reward, round], a ring
    restarts: Array  # rounds at which everything is forgotten
    factor: Array  # (d, d), R of V = RᵀR
    theta: Array  # (d,), θ̂
    work: Array  # (d + 1, d), room for a factor of Ṽ and a vector; (1, d) without Ṽ
    belated: Array  # (1 + capacity, d + 2), rows out of order, a heap; (0, d + 2) without a window


def initial_state(
    *,
    dim: int,
    ridge: float,
    discounted: bool = False,
    window: int = 0,
    restarts: Array | None = None,
) -> State:
    """A state that has seen nothing."""
    counters = np.zeros(COUNTERS)
    counters[UNIT], counters[FACTOR_AGE] = 1.0, -1.0
    counters[RIDGE] = counters[MU] = ridge
    squared = dim if discounted else 0
    return State(
        gram=np.zeros((2, dim, dim)),
        gram_squared=np.zeros((2, squared, squared)),
        moment=np.zeros((2, dim)),
        counters=counters,
        history=np.zeros((min(window, 64), dim + 2)),
        restarts=np.zeros(0) if restarts is None else restarts,
        factor=np.zeros((dim, dim)),
        theta=np.zeros(dim),
        work=np.zeros((squared + 1, dim)),
        belated=np.zeros((min(window + 1, 65) if window else 0, dim + 2)),
    )
