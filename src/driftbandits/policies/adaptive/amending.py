"""What was learned, changed afterwards: a reward that turned out otherwise, a coordinate cleared.

The sums of the anchored bank and of the running means change exactly. How an observation was
centred is not kept: the centred bank takes it as its distance from the longest running mean of
today.

What judges is changed as well as it can be. An expert that holds an observation at weight w
predicts it with error e and q = xᵀV⁻¹x. Had it not seen the observation, these would be

    e / (1 − wq)      q / (1 − wq)

(Sherman and Morrison), and likewise for what it makes of the level. For the old reward, this is
what it was judged by, but for what was learned since.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import lean_kernel
from ...core.linalg import inner, subtract
from ...least_squares.amending import clear_along, clear_entries
from ...least_squares.sums import add_moment
from .bank import predict, weight_of
from .level import TRUST, level_discount, level_of
from .noise import (
    LEAST_LIKELIHOOD,
    any_variation,
    degrees_of_freedom,
    estimate_variance,
    fourth_power,
    scale_power,
)
from .state import (
    ANCHORED,
    CENTRED,
    ERROR,
    EXPERTS,
    INFLATION,
    LATEST,
    LAW,
    LEVELS,
    LEVERAGE,
    MOMENT,
    ORIGIN,
    PRECISION,
    RAW,
    RESIDUALS,
    REWARD_COUNT,
    REWARD_MEAN,
    REWARD_SQUARES,
    SCALE,
    SPREAD,
    SUMS,
    TAIL_ABOVE,
    TAIL_BELOW,
    TRACKED,
    TRACKED_REWARDS,
    UNIT,
    VARIANCE,
    WEIGHT,
    State,
)
from .weights import bank_in_force, multiply_by_laws

# 1 − wq is above zero but for rounding, which the division must not blow up.
LEAST_REST = 1e-9


@lean_kernel
def row_of(s: State, bank: int, action: Array) -> float:
    """Write the action as ``bank`` would see it to ``rows``; returns √F, what y is divided by."""
    longest = s.trackers[LEVELS - 1]
    if bank == ANCHORED or longest[TRACKED] == 0.0:
        for i in range(action.size):
            s.rows[bank, i] = action[i]
        return 1.0
    deviation = np.sqrt(1.0 + 1.0 / longest[TRACKED])
    for i in range(action.size):
        s.rows[bank, i] = (action[i] - longest[SUMS + i] / longest[TRACKED]) / deviation
    return float(deviation)


@lean_kernel
def change_reward(
    s: State,
    c: float,
    share: int,
    action: Array,
    old: float,
    new: float,
    age: float,
    judged: bool,
) -> float:
    """Put ``new`` in the place of ``old`` in all sums; returns by how much the residual changes.

    ``share`` is the row of the anchored expert in force, which the level is learned from.
    ``judged`` says whether the experts were judged by the old reward.
    """
    gained = 0.0
    for bank in range(2):
        deviation = row_of(s, bank, action)
        changed = _change_bank(s, c, bank, deviation, old, new, age, judged)
        if bank == bank_in_force(s):
            gained = changed
    forecast = s.forecasts[ANCHORED, :, share // 2]
    rest = max(1.0 - weight_of(s, c, share, age) * forecast[SPREAD], LEAST_REST)
    gain = TRUST * forecast[LEVERAGE] / rest / (1.0 + forecast[SPREAD] / rest)
    s.counters[MOMENT] += gain * (new - old)
    behind = s.counters[LATEST] - (s.counters[CLOCK] - age)
    for h in range(LEVELS):
        s.trackers[h, TRACKED_REWARDS] += level_discount(h) ** max(behind, 0.0) * (new - old)
    return gained


@lean_kernel
def _seen_again(s: State, bank: int, reward: float) -> float:
    """A reward as ``bank`` would see it, but for √F."""
    y, longest = reward - s.counters[ORIGIN], s.trackers[LEVELS - 1]
    if bank == CENTRED and longest[TRACKED] > 0.0:
        y -= longest[TRACKED_REWARDS] / longest[TRACKED]
    return float(y)


@lean_kernel
def leave_out(s: State, e: int, bank: int, weight: float) -> None:
    """Error and scale of the last row by expert ``e``, had it not learned it at ``weight``."""
    forecast = s.forecasts[bank, :, e // 2]
    rest = max(1.0 - weight * forecast[SPREAD], LEAST_REST)
    forecast[ERROR] = (forecast[RAW] - level_of(s, bank) * forecast[LEVERAGE]) / rest
    forecast[SCALE] = 1.0 + forecast[SPREAD] / rest
    if bank == ANCHORED and s.counters[PRECISION] > 0.0:
        forecast[SCALE] += (forecast[LEVERAGE] / rest) ** 2 / s.counters[PRECISION]


@lean_kernel
def predict_again(s: State, c: float, action: Array, reward: float, age: float) -> None:
    """Let every expert predict a reward that it has learned, as if it had not."""
    for bank in range(2):
        deviation = row_of(s, bank, action)
        y = _seen_again(s, bank, reward) / deviation
        for j in range(int(s.counters[EXPERTS])):
            e = 2 * j + bank
            predict(s, e, s.rows[bank], y, 1.0 - bank)
            leave_out(s, e, bank, weight_of(s, c, e, age))
        s.counters[INFLATION] = deviation * deviation


@lean_kernel
def _change_bank(
    s: State,
    c: float,
    bank: int,
    deviation: float,
    old: float,
    new: float,
    age: float,
    judged: bool,
) -> float:
    """Correct the sums of a bank, and judge its experts by the new reward if the old one was."""
    x, freedom, phi = s.rows[bank], degrees_of_freedom(s), scale_power(s)
    y, difference = _seen_again(s, bank, old), (new - old) / deviation
    before = after = 0.0
    for j in range(int(s.counters[EXPERTS])):
        e = 2 * j + bank
        predict(s, e, x, y / deviation, 1.0 - bank)
        facts, weight = s.facts[e], weight_of(s, c, e, age)
        leave_out(s, e, bank, weight)
        error, scale = s.forecasts[bank, ERROR, j], s.forecasts[bank, SCALE, j]
        variance = freedom * s.counters[VARIANCE] * scale**phi
        was, now = error**2, (error + difference) ** 2
        ratio = np.log((1.0 + was / variance) / (1.0 + now / variance))
        s.forecasts[bank, LAW, j] = 0.5 * (freedom + 1.0) * ratio
        before += facts[WEIGHT] * was / scale
        after += facts[WEIGHT] * now / scale
        stored = weight * facts[UNIT]
        add_moment(s.moments[e], x, difference, stored)
        for i in range(x.size):
            s.thetas[e, i] += stored * difference * s.images[e, i]
    if judged and any_variation(s):
        _weigh_again(s, bank)
    return after - before


@lean_kernel
def _weigh_again(s: State, bank: int) -> None:
    """Multiply weights and odds by ratios of likelihoods, whose logarithms LAW holds so far."""
    count, laws, largest = int(s.counters[EXPERTS]), s.forecasts[bank, LAW], -np.inf
    for j in range(count):
        largest = max(largest, laws[j])
    for j in range(count):
        laws[j] = np.exp(max(laws[j] - largest, LEAST_LIKELIHOOD))
    mixed = multiply_by_laws(s, bank)
    for j in range(count):
        s.facts[2 * j + bank, WEIGHT] /= mixed


@lean_kernel
def change_noise(
    s: State,
    c: float,
    old: float,
    new: float,
    gained: float,
    age: float,
    noise_memory: float,
    tail_memory: float,
    known: bool,
) -> None:
    """Replace a squared residual and a reward in the sums that σ̂ and κ̂ come from.

    They fade by the observation. The age in rounds stands for the number of observations since.
    """
    n, passed = s.counters, max(age, 0.0)
    faded = (1.0 - 1.0 / noise_memory) ** passed
    n[RESIDUALS] = max(n[RESIDUALS] + faded * gained, 0.0)
    old_away, new_away = old - n[ORIGIN] - n[REWARD_MEAN], new - n[ORIGIN] - n[REWARD_MEAN]
    squares = new_away * new_away - old_away * old_away
    shift = faded * (new - old) / max(1.0, n[REWARD_COUNT])
    n[REWARD_MEAN] += shift
    squares = n[REWARD_SQUARES] + faded * squares - n[REWARD_COUNT] * shift * shift
    n[REWARD_SQUARES] = max(squares, 0.0)
    variance = estimate_variance(s, c, known)
    if variance > 0.0:
        kept = (1.0 - 1.0 / tail_memory) ** passed / tail_memory
        tail = TAIL_ABOVE if new > old else TAIL_BELOW
        n[tail] += kept * fourth_power(max(gained, 0.0), variance)


@lean_kernel
def forget_along(s: State, mask: Array) -> None:
    """Clear the sums of all experts and means along the coordinates of ``mask``: they are new."""
    for part in range(2):
        clear_entries(mask, s.features[part])
    for h in range(LEVELS):
        clear_entries(mask, s.trackers[h, SUMS:])
    clear_entries(mask, s.centres[1])
    for e in range(2 * int(s.counters[EXPERTS])):
        for part in range(2):
            clear_along(mask, s.grams[e, part])
            clear_entries(mask, s.moments[e, part])
            clear_entries(mask, s.offsets[e, part])
        _invert_without(mask, s.inverses[e])
        for i in range(mask.size):
            s.thetas[e, i] = inner(s.inverses[e, i], s.moments[e, 0])
            s.slopes[e, i] = inner(s.inverses[e, i], s.offsets[e, 0])


@lean_kernel
def _invert_without(mask: Array, inverse: Array) -> None:
    """The inverse of V without the coordinates of ``mask``: P − p pᵀ/p_i, for each of them."""
    for i in range(mask.size):
        pivot = inverse[i, i]
        if mask[i] == 0.0 or pivot == 0.0:
            continue
        for j in range(mask.size):
            if j != i:
                subtract(inverse[j], inverse[j, i] / pivot, inverse[i])
        for j in range(mask.size):
            inverse[i, j] = inverse[j, i] = 0.0
