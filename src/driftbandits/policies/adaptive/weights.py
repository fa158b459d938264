"""How a bank of experts is judged: weights, the noise level, and who has to start again."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import lean_kernel
from .bank import (
    ACTION_SQUARES,
    CHANGES,
    COUNT,
    DETECTIONS,
    DISCOUNT,
    ERROR,
    EVIDENCE,
    EXPERTS,
    KURTOSIS,
    LIKELIHOOD,
    NORMAL_KURTOSIS,
    OBSERVATIONS,
    PRIOR,
    RESIDUALS,
    REWARD_SQUARES,
    RIDGE,
    SPREAD,
    VARIANCE,
    WEIGHT,
    State,
    overwrite,
)

NOISE_MEMORY = 100.0  # rewards over which the noise level is taken, since it may change too
TAIL_MEMORY = 1000.0  # rewards over which its kurtosis is taken
OUTLIER = 25.0  # squares in it, in units of σ̂², are at most this: no single reward decides it
RIDGE_SHARE = 0.1  # λ in units of mean ‖a‖² σ̂² / mean r²
LEAST_RATIO = 1e-4  # σ̂² / mean r² in λ is at least this
LEAST_VARIANCE = 1e-12  # σ̂² / mean r² is at least this, where rewards have no noise
LEAST_SQUARE = 1e-200  # a mean square below this says nothing: all has been zero
SHARE_IN_FORCE = 0.4  # below the median: too long a memory costs more than too short a one
AUDIT_EVERY = 25.0  # rounds of which one is an audit
AUDIT_CYCLE = 2.0**20  # audits after which their places recur; squares stay exact
AUDIT_RADIUS = 1.5  # widths in audits, in units of those in other rounds
GOLDEN = 0.6180339887498949  # (√5 − 1)/2
FALSE_ALARMS = 0.05  # α: a correct expert is overwritten about α log T times in T rounds


@lean_kernel
def expert_in_force(s: State) -> int:
    """The first expert at which a share of the weight is reached, shorter memories first."""
    last = int(s.counters[EXPERTS]) - 1
    total = 0.0
    for j in range(last):
        total += s.facts[j, WEIGHT]
        if total >= SHARE_IN_FORCE:
            return j
    return last


@lean_kernel
def audit_place(s: State) -> float:
    """A number in [0, 1) that differs from audit to audit; 1 in rounds that are none.

    Of every 25 rounds one is an audit. Which one follows the squares times the golden ratio, which
    keep no step with anything: what recurs at a regular pace is audited in all its phases. The
    multiples of the ratio fill the unit interval evenly, which is what the number is for.
    """
    period = np.floor(s.counters[CLOCK] / AUDIT_EVERY)
    folded = period % AUDIT_CYCLE
    turned = folded * folded * GOLDEN
    place = np.floor(AUDIT_EVERY * (turned - np.floor(turned)))
    if np.floor(s.counters[CLOCK]) != AUDIT_EVERY * period + place:
        return 1.0
    even = folded * GOLDEN
    return float(even - np.floor(even))


@lean_kernel
def auditor(s: State, c: float, place: float) -> int:
    """The first expert of memory 2^{½ − v} (c n)^{2/3} √(σ̂/ρ̂) or more, v the audit's ``place``.

    ρ̂ is the root mean square reward. Memories are powers of two apart, v is spread evenly over
    [0, 1): the two around the formula take turns, and on average it is met.
    """
    last = int(s.counters[EXPERTS]) - 1
    ratio = 1.0
    if s.counters[REWARD_SQUARES] > 0.0:
        mean_square = s.counters[REWARD_SQUARES] / s.counters[COUNT]
        ratio = min(1.0, np.sqrt(s.counters[VARIANCE] / mean_square))
    rounds = s.counters[CLOCK] + 1.0
    memory = (c * rounds) ** (2.0 / 3.0) * np.sqrt(ratio) * 2.0 ** (0.5 - place)
    for j in range(last):
        if memory * (1.0 - s.facts[j, DISCOUNT]) <= 1.0:
            return j
    return last


@lean_kernel
def take_unit(s: State, action: Array) -> None:
    """The first action says what length is usual, and so what λ is small."""
    square = 0.0
    for i in range(action.size):
        square += action[i] * action[i]
    if square > 0.0:
        s.counters[RIDGE] = RIDGE_SHARE * square
    for j in range(int(s.counters[EXPERTS])):
        s.facts[j, CHANGES] = -1.0


@lean_kernel
def degrees_of_freedom(s: State) -> float:
    """ν of the Student-t law that has the noise's kurtosis, 3 + 6/(ν − 4); at most C + 1.

    Under a law of thin tails each outlier speaks for whoever was least sure, that is for the
    shortest memory. C + 1 is what an estimated noise level leaves of a normal law. The scale stays
    σ̂, so that a law of heavy tails is the wider one: where they are heavy, σ̂ is hardly known.
    """
    most, excess = s.counters[COUNT] + 1.0, s.counters[KURTOSIS] - NORMAL_KURTOSIS
    return float(min(most, 4.0 + 6.0 / excess)) if excess > 0.0 else float(most)


@lean_kernel
def log_likelihood(s: State, error: float, spread: float, freedom: float) -> float:
    """Of an error whose variance is σ̂² (1 + spread), by the Student-t law of ``freedom``."""
    scale = 1.0 + spread
    square = error**2 / (freedom * s.counters[VARIANCE] * scale)
    return float(-0.5 * (np.log(scale) + (freedom + 1.0) * np.log(1.0 + square)))


@lean_kernel
def judge(s: State) -> None:
    """Bayesian weights under fixed share, and the evidence of shorter memories against longer."""
    count, freedom = int(s.counters[EXPERTS]), degrees_of_freedom(s)
    for j in range(count):
        s.facts[j, LIKELIHOOD] = log_likelihood(s, s.facts[j, ERROR], s.facts[j, SPREAD], freedom)
    weigh(s)
    share = 1.0 / (s.counters[OBSERVATIONS] + 1.0)
    for j in range(count):
        s.facts[j, WEIGHT] = (1.0 - share) * s.facts[j, WEIGHT] + share * s.facts[j, PRIOR]


@lean_kernel
def weigh(s: State) -> None:
    """Multiply weights by likelihoods, and count as evidence what these say against each expert."""
    count, largest = int(s.counters[EXPERTS]), -np.inf
    for j in range(count):
        largest = max(largest, s.facts[j, LIKELIHOOD])
    mixed = shorter = 0.0
    for j in range(count):
        if j > 0:
            gained = largest + np.log(mixed / shorter) - s.facts[j, LIKELIHOOD]
            s.facts[j, EVIDENCE] = max(0.0, s.facts[j, EVIDENCE] + gained)
        shorter += s.facts[j, WEIGHT]
        # Not below e^−600, so that no weight is lost.
        s.facts[j, WEIGHT] *= np.exp(max(s.facts[j, LIKELIHOOD] - largest, -600.0))
        mixed += s.facts[j, WEIGHT]
    for j in range(count):
        s.facts[j, WEIGHT] /= mixed


@lean_kernel
def measure_noise(
    s: State, c: float, action: Array, reward: float, residual: float, known: bool
) -> None:
    """σ̂² from the squared residuals of late unless it is ``known``, κ̂, and λ in units of σ̂²."""
    n, square = s.counters, 0.0
    for i in range(action.size):
        square += action[i] * action[i]
    kept = 1.0 - 1.0 / NOISE_MEMORY
    n[RESIDUALS] = kept * n[RESIDUALS] + residual
    n[REWARD_SQUARES] = kept * n[REWARD_SQUARES] + reward * reward
    n[ACTION_SQUARES] = kept * n[ACTION_SQUARES] + square
    n[COUNT] = kept * n[COUNT] + 1.0
    n[OBSERVATIONS] += 1.0
    variance = set_noise(s, c, known)
    if variance > 0.0:
        n[KURTOSIS] += (fourth_power(residual, variance) - n[KURTOSIS]) / TAIL_MEMORY


@lean_kernel
def set_noise(s: State, c: float, known: bool) -> float:
    """σ̂² unless it is ``known``, and λ, from the sums of squares; returns the variance seen.

    That is 0, and nothing is set, while all rewards have been zero.
    """
    n = s.counters
    mean_square = n[REWARD_SQUARES] / n[COUNT]
    if not mean_square > LEAST_SQUARE:
        return 0.0
    # The first c rewards are fitted, whatever they are: lean on their mean square, and soon forget.
    lean = c * 2.0 ** ((1.0 - n[OBSERVATIONS]) / c)
    variance = (n[RESIDUALS] + lean * mean_square) / (n[COUNT] + lean)
    variance = max(variance, LEAST_VARIANCE * mean_square)
    if not known:
        n[VARIANCE] = variance
    if n[ACTION_SQUARES] > LEAST_SQUARE:
        ratio = min(1.0, max(LEAST_RATIO, n[VARIANCE] / mean_square))
        n[RIDGE] = RIDGE_SHARE * n[ACTION_SQUARES] / n[COUNT] * ratio
    return float(variance)


@lean_kernel
def fourth_power(residual: float, variance: float) -> float:
    """Of an error, in units of what is seen even where another level was given."""
    return min(residual / variance, OUTLIER) ** 2


@lean_kernel
def any_refuted(s: State, limit: float) -> bool:
    """Whether there is evidence above ``limit`` against any expert."""
    most = 0.0
    for j in range(1, int(s.counters[EXPERTS])):
        most = max(most, s.facts[j, EVIDENCE])
    return bool(most > limit)


@lean_kernel
def replace_refuted(s: State, limit: float) -> None:
    """Let every expert that the shorter ones have refuted start again from the heaviest of them."""
    last = int(s.counters[EXPERTS]) - 1
    for j in range(last, 0, -1):
        if s.facts[j, EVIDENCE] > limit:
            heaviest = 0
            for i in range(1, j):
                if s.facts[i, WEIGHT] > s.facts[heaviest, WEIGHT]:
                    heaviest = i
            overwrite(s, j, heaviest)
            if j == last:
                s.detections[int(s.counters[DETECTIONS])] = s.counters[CLOCK] - 1.0
                s.counters[DETECTIONS] += 1.0
