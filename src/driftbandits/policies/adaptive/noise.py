"""The noise: its level σ̂, its tails, and its share in the variance of rewards.

If outliers lie on both sides, a law with heavy tails is right, and its centre is the mean. With
clicks and sales, outliers lie on one side: most rewards are zero. The centre of such a law would
then be near zero, and experts that predict zeros after a run of zeros would gain weight. Least
squares find the mean of any law. So the lighter of the two tails decides: κ̂ is twice its mean
fourth power.

Under least squares an outlier favours the expert that was least sure, by its scale alone. So if
outliers lie on one side, all experts get nearly the same scale (`scale_power`), and only errors
count.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.compiling import lean_kernel, precise_kernel, row_kernel
from ...core.elementary import exp, log
from ...core.linalg import inner
from .bank import lanes_in_use
from .state import (
    ANCHORED,
    CENTRED,
    COUNT,
    ERROR,
    EXPERTS,
    LAW,
    MEANS,
    NORMAL_TAIL,
    OBSERVATIONS,
    ORIGIN,
    RATIO,
    RESIDUALS,
    REWARD_COUNT,
    REWARD_MEAN,
    REWARD_SQUARES,
    SCALE,
    TAIL_ABOVE,
    TAIL_BELOW,
    VARIANCE,
    State,
)

OUTLIER = 25.0  # bound on squares in κ̂, in units of σ̂², so that no single reward decides κ̂
LEAST_RATIO = 1e-12  # least σ̂², in units of the variance of rewards: they may have no noise
LEAST_LIKELIHOOD = -600.0  # of an expert, in nats relative to the best, so that no weight is lost
LEAST_LAW = -300.0  # of a running mean, in nats, so that no weight is lost
NO_LEAN = 1100.0  # after this many halvings a float is zero, and computing it is slow
LOPSIDED = 2.0  # above this ratio of the two tails, outliers lie on one side
LEAST_SQUARE = 1e-200  # a smaller variance says nothing: all rewards have been the same


@lean_kernel
def degrees_of_freedom(s: State) -> float:
    """ν of the Student-t law with the noise's kurtosis κ̂ = 3 + 6/(ν − 4); at most C + 1.

    Under a law with thin tails, each outlier favours the expert that was least sure: the one with
    the shortest memory. For normal noise, ν is C + 1, since the noise level is estimated. The scale
    stays σ̂, so a law with heavy tails is wider: with heavy tails, σ̂ is hardly known.
    """
    lighter = min(s.counters[TAIL_BELOW], s.counters[TAIL_ABOVE])
    most, excess = s.counters[COUNT] + 1.0, 2.0 * (lighter - NORMAL_TAIL)
    return float(min(most, 4.0 + 6.0 / excess)) if excess > 0.0 else float(most)


@lean_kernel
def scale_power(s: State) -> float:
    """φ of the scale S^φ of a law: 1 unless one tail is more than twice as heavy as the other."""
    below, above = s.counters[TAIL_BELOW], s.counters[TAIL_ABOVE]
    return float(min(1.0, LOPSIDED * min(below, above) / max(below, above)))


@precise_kernel
def _log_ratios(errors: Array, scales: Array, unit: float, out: Array) -> None:
    for j in range(out.size):
        out[j] = log(1.0 + errors[j] * errors[j] / (unit * scales[j]))


@precise_kernel
def _densities(laws: Array, power: float, least: float, floor: float, scales: Array) -> None:
    for j in range(laws.size):
        exponent = min(0.0, max(floor, power * (laws[j] - least)))
        laws[j] = exp(exponent) / np.sqrt(scales[j])


@lean_kernel
def write_laws(s: State) -> float:
    """Write LAW of all ``forecasts``: the density of the reward, up to a constant.

        (1 + e²/(ν σ̂² S^φ))^(−½ (ν + 1)) / √S^φ

    In each bank, the power (…)^(−½ (ν + 1)) is divided by the largest one of the bank. SCALE
    becomes S^φ. Returns the logarithm of the centred bank's largest power, minus that of the
    anchored bank's.
    """
    lanes, freedom = lanes_in_use(s), degrees_of_freedom(s)
    power, phi = -0.5 * (freedom + 1.0), scale_power(s)
    if phi < 1.0:
        for group in range(3):
            for j in range(lanes):
                s.forecasts[group, SCALE, j] **= phi
    # Each stage runs for all three groups before the next one. Otherwise each number would wait
    # long for the number that it is computed from.
    for group in range(3):
        errors, scales = s.forecasts[group, ERROR, :lanes], s.forecasts[group, SCALE, :lanes]
        laws = s.forecasts[group, LAW, :lanes]
        _log_ratios(errors, scales, freedom * s.counters[VARIANCE], laws)
    anchored, centred = _least(s, ANCHORED), _least(s, CENTRED)
    for group in range(3):
        least, floor = 0.0, LEAST_LAW
        if group != MEANS:
            least, floor = anchored if group == ANCHORED else centred, LEAST_LIKELIHOOD
        scales, laws = s.forecasts[group, SCALE, :lanes], s.forecasts[group, LAW, :lanes]
        _densities(laws, power, least, floor, scales)
    return float(power * (centred - anchored))


@lean_kernel
def _least(s: State, bank: int) -> float:
    """The smallest entry of LAW among the experts of ``bank``."""
    laws = s.forecasts[bank, LAW]
    least = laws[0]
    for j in range(1, int(s.counters[EXPERTS])):
        least = min(least, laws[j])
    return float(least)


@lean_kernel
def any_variation(s: State) -> bool:
    """Whether two rewards have differed."""
    return bool(s.counters[REWARD_SQUARES] > LEAST_SQUARE * s.counters[REWARD_COUNT])


@lean_kernel
def count_reward(s: State, reward: float, noise_memory: float) -> None:
    """Add a reward to the mean and the variance of recent rewards."""
    n = s.counters
    kept = 1.0 - 1.0 / noise_memory
    n[REWARD_COUNT] = kept * n[REWARD_COUNT] + 1.0
    away = reward - n[ORIGIN] - n[REWARD_MEAN]
    n[REWARD_MEAN] += away / n[REWARD_COUNT]
    n[REWARD_SQUARES] *= kept
    n[REWARD_SQUARES] += away * (reward - n[ORIGIN] - n[REWARD_MEAN])


@lean_kernel
def count_residual(
    s: State,
    c: float,
    residual: float,
    above: bool,
    noise_memory: float,
    tail_memory: float,
    known: bool,
) -> None:
    """Update σ̂², unless it is ``known``, and the tails, from a squared residual.

    ``above`` says whether the reward was above its prediction.
    """
    n = s.counters
    if n[OBSERVATIONS] == 1.0:  # some level fits the first reward exactly
        return
    kept = 1.0 - 1.0 / noise_memory
    n[RESIDUALS] = kept * n[RESIDUALS] + residual
    n[COUNT] = kept * n[COUNT] + 1.0
    variance = estimate_variance(s, c, known)
    if variance > 0.0:
        for tail in (TAIL_BELOW, TAIL_ABOVE):
            n[tail] -= n[tail] / tail_memory
        n[TAIL_ABOVE if above else TAIL_BELOW] += fourth_power(residual, variance) / tail_memory


@lean_kernel
def estimate_variance(s: State, c: float, known: bool) -> float:
    """Write σ̂² unless it is ``known``; returns `variance_seen`."""
    variance = variance_seen(s, c)
    if variance > 0.0 and not known:
        s.counters[VARIANCE] = variance
    return variance


@lean_kernel
def variance_seen(s: State, c: float) -> float:
    """The mean squared residual of recent rewards; 0 while all rewards have been the same.

    Any estimator fits the first c rewards. So the variance of the rewards is mixed in, with a
    weight that starts at c and halves every c rewards.
    """
    n = s.counters
    if not any_variation(s):
        return 0.0
    usual = n[REWARD_SQUARES] / n[REWARD_COUNT]
    halvings = (n[OBSERVATIONS] - 1.0) / c
    lean = c * 2.0**-halvings if halvings < NO_LEAN else 0.0
    variance = (n[RESIDUALS] + lean * usual) / (n[COUNT] + lean)
    return float(max(variance, LEAST_RATIO * usual))


@lean_kernel
def fourth_power(residual: float, variance: float) -> float:
    """Fourth power of an error, in units of the variance seen even if another level was given."""
    return float(min(residual / variance, OUTLIER) ** 2)


@row_kernel
def _write_signals(
    squares: Array, counts: Array, theta: Array, slope: Array, level: float, out: Array
) -> None:
    """out_i ← √mean(a_i²) θ_i at ``level``; θ_i² alone may overflow."""
    for i in range(out.size):
        out[i] = np.sqrt(squares[i] / max(1.0, counts[i])) * (theta[i] - level * slope[i])


@lean_kernel
def measure_ratio(s: State, e: int, level: float) -> None:
    """Write σ̂²/ρ̂², where ρ̂² = σ̂² + Σ_i mean(a_i²) θ_i².

    ρ̂² is the variance of rewards if features vary. Unlike the variance of the rewards themselves,
    it does not fade while only the best action is played.
    """
    signals = s.factor[0]
    _write_signals(s.features[0], s.features[1], s.thetas[e], s.slopes[e], level, signals)
    signal, variance = inner(signals, signals), s.counters[VARIANCE]
    s.counters[RATIO] = max(LEAST_RATIO, variance / (variance + signal))
