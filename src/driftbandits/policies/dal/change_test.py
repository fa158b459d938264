"""LinUCB that tests whether its data come from one parameter: the kernels of detect-and-restart.

A split divides the observations since the last restart into the first ones and the rest, with Gram
matrices G₁, G₂ and moments b₁, b₂. Let V_i = G_i + λI, V = G₁ + G₂ + λI, b = b₁ + b₂ and

    log E_k = (b₁ᵀV₁⁻¹b₁ + b₂ᵀV₂⁻¹b₂ − bᵀV⁻¹b − λS²) / (2σ²) − ½ log(det V₁ det V₂ / λ^{2d})

It says how much better two parameters, each with the prior N(0, σ²/λ I), explain the rewards than
any single parameter of norm S or less. If one parameter made all rewards, E_k is at most a
non-negative supermartingale that starts at one, whatever the actions
(docs/explanation/successors.md). It then ever exceeds 1/ε with probability at most ε.

There is a split after every STRIDE-th observation; the k-th has ε = δ/(k(k + 1)). To bound the
memory, each level l keeps the last KEPT splits at odd multiples of 2^l strides. So splits are dense
in the recent past, and sparse in the distant past.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import kernel, lean_kernel
from ...core.entry_points import Kernels
from ...core.exploring import mix, only
from ...core.linalg import (
    argmax,
    cholesky,
    clear,
    clear_matrix,
    copy,
    copy_matrix,
    log_determinant,
    solve,
    whiten,
)
from ...core.randomness import uniform
from ...least_squares.amending import clear_along, clear_entries
from ...least_squares.radii import per_round_radius
from ...least_squares.sums import accumulate
from ..weighted.optimism import optimistic

STRIDE = 4
LEVELS = 14
KEPT = 2
SPLITS = LEVELS * KEPT

# Positions in ``counters``, after CLOCK.
OBSERVED = 1  # observations since the last restart
RESTART = 2  # the round of the last restart; rewards of earlier rounds are forgotten
DETECTIONS = 3
OUTDATED = 4  # 1 if the estimate is older than the sums
RADIUS = 5
COUNTERS = 6

# Columns of ``facts``, which has one row per split.
INDEX = 0  # k, in strides; 0 if there is no split yet
LOG_VOLUME = 1  # log(det V₁ / λ^d)
EXPLAINED = 2  # b₁ᵀ V₁⁻¹ b₁
FACTS = 3


class Parameters(NamedTuple):
    """The configuration in the form that kernels read: floats only."""

    ridge: float
    noise: float
    delta: float
    theta_bound: float
    action_bound: float
    explore: float  # probability of a forced round before the first detection
    alarm: float  # log(1/δ) of the test
    every: float  # observations between two tests


class State(NamedTuple):
    """The sums since the last restart, their values at the splits, and the detections."""

    counters: Array
    gram: Array  # (2, d, d), a compensated sum
    moment: Array  # (2, d)
    unweighted: Array  # (2, 0, 0): all weights are one
    factor: Array  # (d, d)
    theta: Array  # (d,)
    facts: Array  # (SPLITS, FACTS)
    grams: Array  # (SPLITS, d, d), G₁
    moments: Array  # (SPLITS, d), b₁
    rest: Array  # (d, d), room for G₂ and the factor of V₂
    rest_moment: Array  # (d,), room for b₂
    random: npt.NDArray[np.uint64]
    detections: Array  # rounds


@lean_kernel
def prepare(p: Parameters, s: State) -> None:
    """Recompute the factor of V, θ̂ and β if the sums have changed."""
    if s.counters[OUTDATED] == 0.0:
        return
    cholesky(s.gram[0], p.ridge, s.factor)
    solve(s.factor, s.moment[0], s.theta)
    s.counters[RADIUS] = per_round_radius(
        s.theta.size,
        p.ridge,
        p.ridge,
        p.noise,
        p.delta,
        p.theta_bound,
        p.action_bound,
        s.counters[OBSERVED],
    )
    s.counters[OUTDATED] = 0.0


@lean_kernel
def explained(s: State) -> float:
    """bᵀV⁻¹b of all observations since the restart; ``s`` must be prepared."""
    total = 0.0
    for i in range(s.theta.size):
        total += s.theta[i] * s.moment[0, i]
    return total


@lean_kernel
def evidence(p: Parameters, s: State, m: int, pooled: float) -> float:
    """log E of split ``m``, where ``pooled`` is bᵀV⁻¹b."""
    dim = s.theta.size
    for i in range(dim):
        s.rest_moment[i] = s.moment[0, i] - s.moments[m, i]
        for j in range(i, dim):
            s.rest[i, j] = s.gram[0, i, j] - s.grams[m, i, j]
    cholesky(s.rest, p.ridge, s.rest)
    gained = s.facts[m, EXPLAINED] - pooled - p.ridge * p.theta_bound * p.theta_bound
    gained += whiten(s.rest, s.rest_moment)  # b₂ᵀ V₂⁻¹ b₂
    volume = s.facts[m, LOG_VOLUME] + log_determinant(s.rest) - dim * np.log(p.ridge)
    return float(gained / (2.0 * p.noise * p.noise) - 0.5 * volume)


@lean_kernel
def changed(p: Parameters, s: State) -> bool:
    """Whether some split shows a change."""
    prepare(p, s)
    pooled = explained(s)
    for m in range(SPLITS):
        k = s.facts[m, INDEX]
        if k > 0.0 and evidence(p, s, m, pooled) >= p.alarm + np.log(k * (k + 1.0)):
            return True
    return False


@lean_kernel
def add_split(p: Parameters, s: State) -> None:
    """Store the present sums as a split, in place of the oldest split of the same level."""
    prepare(p, s)
    k = int(s.counters[OBSERVED]) // STRIDE
    odd, level = k, 0
    while odd % 2 == 0 and level < LEVELS - 1:
        odd //= 2
        level += 1
    m = level * KEPT + (odd // 2) % KEPT
    s.facts[m, INDEX] = k
    s.facts[m, LOG_VOLUME] = log_determinant(s.factor) - s.theta.size * np.log(p.ridge)
    s.facts[m, EXPLAINED] = explained(s)
    copy_matrix(s.gram[0], s.grams[m])
    copy(s.moment[0], s.moments[m])


@lean_kernel
def restart(s: State) -> None:
    """Forget everything, and record the detection."""
    for part in range(2):
        clear_matrix(s.gram[part])
        clear(s.moment[part])
    clear_matrix(s.facts)
    s.counters[OBSERVED] = 0.0
    s.counters[RESTART] = s.counters[CLOCK] + 1.0
    s.counters[OUTDATED] = 1.0
    s.detections[int(s.counters[DETECTIONS])] = s.counters[CLOCK]
    s.counters[DETECTIONS] += 1.0


@kernel
def choose(p: Any, s: Any, columns: Array, scratch: Array, scores: Array) -> int:
    """The action with the largest upper confidence bound, or in a forced round any action."""
    radius = s.counters[RADIUS]
    optimistic(s.factor, s.unweighted, p.ridge, s.theta, radius, columns, scratch, scores)
    if uniform(s.random) < p.explore * np.sqrt(s.counters[DETECTIONS] + 1.0):
        return int(uniform(s.random) * columns.shape[1])
    return argmax(scores)


@lean_kernel
def learn(p: Any, s: Any, action: Array, reward: float, age: float) -> None:
    """Learn, test, and restart if the test detects a change."""
    if age > s.counters[CLOCK] - s.counters[RESTART]:
        return
    accumulate(s.gram, s.unweighted, s.moment, action, reward, 1.0, 1.0, True)
    s.counters[OBSERVED] += 1.0
    s.counters[OUTDATED] = 1.0
    if s.counters[OBSERVED] % p.every == 0.0 and changed(p, s):
        restart(s)
    elif s.counters[OBSERVED] % STRIDE == 0.0:
        add_split(p, s)


@lean_kernel
def advance(p: Any, s: Any, rounds: float) -> None:
    """Move the clock; nothing fades."""
    s.counters[CLOCK] += rounds


@lean_kernel
def propensities(
    p: Any, s: Any, columns: Array, scratch: Array, scores: Array, rule: int, chances: Array
) -> None:
    """e/K, plus 1 − e for the largest upper confidence bound; a round is forced with chance e."""
    only(argmax(scores), chances)
    mix(min(p.explore * np.sqrt(s.counters[DETECTIONS] + 1.0), 1.0), chances)


@lean_kernel
def fits(p: Any, s: Any, rounds: float) -> bool:
    """Whether there is room for another detection."""
    return bool(s.counters[DETECTIONS] < s.detections.size)


@lean_kernel
def forget(p: Any, s: Any, mask: Array) -> None:
    """Clear the sums, also at the splits, along the coordinates of ``mask``."""
    for part in range(2):
        clear_along(mask, s.gram[part])
        clear_entries(mask, s.moment[part])
    for m in range(SPLITS):
        if s.facts[m, INDEX] == 0.0:
            continue
        clear_along(mask, s.grams[m])
        clear_entries(mask, s.moments[m])
        cholesky(s.grams[m], p.ridge, s.rest)
        copy(s.moments[m], s.rest_moment)
        s.facts[m, LOG_VOLUME] = log_determinant(s.rest) - mask.size * np.log(p.ridge)
        s.facts[m, EXPLAINED] = whiten(s.rest, s.rest_moment)
    s.counters[OUTDATED] = 1.0


DETECTING = Kernels(
    name="detect_restart",
    Parameters=Parameters,
    State=State,
    choose=choose,
    learn=learn,
    advance=advance,
    prepare=prepare,
    propensities=propensities,
    fits=fits,
    forget=forget,
)
