"""A reward that turned out otherwise: the experts and the noise level, judged once more.

An expert that holds an observation at weight w predicts it with error e and q = aᵀV⁻¹a. Had it not
seen the observation, these would be

    e / (1 − wq)      q / (1 − wq)

(Sherman and Morrison). The first, for the old reward, is what it was judged by, but for what was
learned since; plus the difference of the rewards it is what it should have been judged by.
"""

from __future__ import annotations

from ...core.arrays import Array
from ...core.compiling import lean_kernel
from .bank import (
    ERROR,
    EXPERTS,
    KURTOSIS,
    LIKELIHOOD,
    RESIDUALS,
    REWARD_SQUARES,
    SPREAD,
    WEIGHT,
    State,
    weight_of,
)
from .weights import (
    NOISE_MEMORY,
    TAIL_MEMORY,
    degrees_of_freedom,
    fourth_power,
    log_likelihood,
    set_noise,
    weigh,
)

# 1 − wq is above zero but for rounding, which the division must not blow up.
LEAST_REST = 1e-9


@lean_kernel
def judge_again(
    s: State, c: float, action: Array, old: float, new: float, age: float, known: bool
) -> None:
    """Weights, evidence and σ̂ as if the reward had been ``new``; `predict` was told ``old``."""
    count, freedom = int(s.counters[EXPERTS]), degrees_of_freedom(s)
    before = after = 0.0
    for j in range(count):
        rest = max(1.0 - weight_of(s, c, j, age) * s.facts[j, SPREAD], LEAST_REST)
        error, spread = s.facts[j, ERROR] / rest, s.facts[j, SPREAD] / rest
        corrected = error + new - old
        s.facts[j, LIKELIHOOD] = log_likelihood(s, corrected, spread, freedom) - log_likelihood(
            s, error, spread, freedom
        )
        before += s.facts[j, WEIGHT] * error**2 / (1.0 + spread)
        after += s.facts[j, WEIGHT] * corrected**2 / (1.0 + spread)
    if count > 1 and s.counters[REWARD_SQUARES] > 0.0:
        weigh(s)
    _measure_noise_again(s, c, before, after, new**2 - old**2, age, known)


@lean_kernel
def _measure_noise_again(
    s: State, c: float, before: float, after: float, squares: float, age: float, known: bool
) -> None:
    """Replace a squared residual and a squared reward in the sums that σ̂, κ̂ and λ come from.

    They fade by the observation. The age in rounds stands for the number of observations since.
    """
    n, passed = s.counters, max(age, 0.0)
    faded = (1.0 - 1.0 / NOISE_MEMORY) ** passed
    n[RESIDUALS] = max(n[RESIDUALS] + faded * (after - before), 0.0)
    n[REWARD_SQUARES] = max(n[REWARD_SQUARES] + faded * squares, 0.0)
    variance = set_noise(s, c, known)
    if variance > 0.0:
        fourths = fourth_power(after, variance) - fourth_power(before, variance)
        kept = (1.0 - 1.0 / TAIL_MEMORY) ** passed
        n[KURTOSIS] = max(n[KURTOSIS] + kept * fourths / TAIL_MEMORY, 1.0)
