"""Changes to what was learned: correct a reward, or clear a coordinate.

The sums of the anchored bank and of the running means change exactly. The state does not store how
an observation was centred. So the centred bank uses its distance from the means around its round,
or, if that is too long ago, from the present longest running mean.

Weights, odds and noise change approximately. An expert that holds an observation with weight w
predicts it with error e and q = xᵀV⁻¹x. Without the observation, these would be

    e / (1 − wq)      q / (1 − wq)

(Sherman and Morrison). The same holds for u, the leverage of the level. For the old reward, these
are the numbers by which the expert was judged, apart from what it has learned since.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import lean_kernel, rare_kernel
from ...core.linalg import inner, subtract
from ...least_squares.amending import clear_along, clear_entries
from ...least_squares.sums import add_moment
from .bank import predict, weight_of
from .level import TRUST, level_of
from .means import NOTHING_LEFT, add_to_means, find_means, first_mean
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
    BEHIND,
    CENTRED,
    ERROR,
    EXPERTS,
    INFLATION,
    LAW,
    LEVELS,
    LEVERAGE,
    MOMENT,
    ORIGIN,
    PAST_SUMS,
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
    TRACKER,
    UNIT,
    VARIANCE,
    WEIGHT,
    State,
)
from .weights import bank_in_force, multiply_by_laws

# 1 − wq is positive for a row that V holds, apart from rounding. A division by it must not enlarge
# rounding errors.
LEAST_REST = 1e-9
# The centred bank may hold another row than the one that leaves it: rewards that came in between
# have changed the means around its round. Then wq may even exceed 1. Values from 0.001 to 0.3 did
# equally well.
LEAST_CENTRED_REST = 0.03


@lean_kernel
def mean_for(s: State, age: float) -> int:
    """Row of the mean that centres a reward which was learned before and is now taken out.

    Sets BEHIND, so that `first_mean` agrees.
    """
    near = find_means(s, s.counters[CLOCK] - age)
    row = first_mean(s) + int(s.counters[TRACKER])
    if near and s.trackers[row, TRACKED] >= NOTHING_LEFT:
        return row
    s.counters[BEHIND] = 0.0
    return LEVELS - 1


@lean_kernel
def row_of(s: State, bank: int, mean: Array, action: Array) -> float:
    """Write the action as ``bank`` sees it now to ``rows``; returns √F, by which y is divided."""
    if bank == ANCHORED or mean[TRACKED] == 0.0:
        for i in range(action.size):
            s.rows[bank, i] = action[i]
        return 1.0
    deviation = np.sqrt(1.0 + 1.0 / mean[TRACKED])
    for i in range(action.size):
        s.rows[bank, i] = (action[i] - mean[SUMS + i] / mean[TRACKED]) / deviation
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
    """Replace ``old`` by ``new`` in all sums; returns the change of the residual.

    ``share`` is the row of the anchored expert in force, from which the level is learned.
    ``judged`` says whether the experts were judged by the old reward.
    """
    gained = 0.0
    add_to_means(s, action, old, age, -1.0)
    mean = s.trackers[mean_for(s, age)]
    # Without another reward there is no mean, and the centred bank has learned nothing yet.
    for bank in range(2 if mean[TRACKED] > 0.0 else 1):
        deviation = row_of(s, bank, mean, action)
        changed = _change_bank(s, c, bank, mean, deviation, old, new, age, judged)
        if bank == bank_in_force(s):
            gained = changed
    forecast = s.forecasts[ANCHORED, :, share // 2]
    rest = max(1.0 - weight_of(s, c, share, age) * forecast[SPREAD], LEAST_REST)
    gain = TRUST * forecast[LEVERAGE] / rest / (1.0 + forecast[SPREAD] / rest)
    s.counters[MOMENT] += gain * (new - old)
    add_to_means(s, action, new, age, 1.0)
    return gained


@lean_kernel
def _seen_again(s: State, bank: int, mean: Array, reward: float) -> float:
    """The reward as ``bank`` sees it now, before the division by √F."""
    y = reward - s.counters[ORIGIN]
    if bank == CENTRED and mean[TRACKED] > 0.0:
        y -= mean[TRACKED_REWARDS] / mean[TRACKED]
    return float(y)


@lean_kernel
def leave_out(s: State, e: int, bank: int, weight: float) -> None:
    """Write ERROR and SCALE of the last row as if expert ``e`` did not hold it with ``weight``."""
    forecast = s.forecasts[bank, :, e // 2]
    least = LEAST_REST if bank == ANCHORED else LEAST_CENTRED_REST
    rest = max(1.0 - weight * forecast[SPREAD], least)
    forecast[ERROR] = (forecast[RAW] - level_of(s, bank) * forecast[LEVERAGE]) / rest
    forecast[SCALE] = 1.0 + forecast[SPREAD] / rest
    if bank == ANCHORED and s.counters[PRECISION] > 0.0:
        forecast[SCALE] += (forecast[LEVERAGE] / rest) ** 2 / s.counters[PRECISION]


@lean_kernel
def predict_again(s: State, c: float, action: Array, reward: float, age: float) -> None:
    """Let every expert predict a reward that it has learned, as if it had not learned it."""
    mean = s.trackers[mean_for(s, age)]
    for bank in range(2):
        deviation = row_of(s, bank, mean, action)
        y = _seen_again(s, bank, mean, reward) / deviation
        for j in range(int(s.counters[EXPERTS])):
            e = 2 * j + bank
            predict(s, e, s.rows[bank], y, 1.0 - bank)
            leave_out(s, e, bank, weight_of(s, c, e, age))
    s.counters[INFLATION] = deviation * deviation  # of the centred bank


@lean_kernel
def _change_bank(
    s: State,
    c: float,
    bank: int,
    mean: Array,
    deviation: float,
    old: float,
    new: float,
    age: float,
    judged: bool,
) -> float:
    """Correct the sums of a bank; if ``judged``, judge experts by ``new`` instead of ``old``."""
    x, freedom, phi = s.rows[bank], degrees_of_freedom(s), scale_power(s)
    y, difference = _seen_again(s, bank, mean, old), (new - old) / deviation
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


@rare_kernel
def _weigh_again(s: State, bank: int) -> None:
    """Multiply weights and odds by likelihood ratios; LAW holds their logarithms on entry."""
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
    """Replace a squared residual and a reward in the sums behind σ̂ and κ̂.

    These sums fade with every observation. The number of observations since then is not stored, so
    the age in rounds is used instead. Nor is the old residual stored, and it may have been smaller
    than today's. So the sum of squared residuals never falls: at a σ̂ that is too small, exploration
    would stop. Of σ̂, only the variance of the rewards can fall, which counts for the first few.
    """
    n, passed = s.counters, max(age, 0.0)
    faded = (1.0 - 1.0 / noise_memory) ** passed
    n[RESIDUALS] += faded * max(gained, 0.0)
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


@rare_kernel
def forget_along(s: State, mask: Array) -> None:
    """Clear the sums of all experts and means along ``mask``: its coordinates are new again."""
    for part in range(2):
        clear_entries(mask, s.features[part])
    for h in range(LEVELS):
        clear_entries(mask, s.trackers[h, SUMS:])
    for row in range(s.past.shape[0]):
        clear_entries(mask, s.past[row, PAST_SUMS:])
    clear_entries(mask, s.centres[1])
    clear_along(mask, s.awaited[:-1])
    clear_entries(mask, s.awaited[mask.size])
    for row in range(2):
        clear_entries(mask, s.chosen[row])
    for e in range(2 * int(s.counters[EXPERTS])):
        for part in range(2):
            clear_along(mask, s.grams[e, part])
            clear_entries(mask, s.moments[e, part])
            clear_entries(mask, s.offsets[e, part])
        _invert_without(mask, s.inverses[e])
        for i in range(mask.size):
            s.thetas[e, i] = inner(s.inverses[e, i], s.moments[e, 0])
            s.slopes[e, i] = inner(s.inverses[e, i], s.offsets[e, 0])


@rare_kernel
def _invert_without(mask: Array, inverse: Array) -> None:
    """Remove the coordinates i of ``mask`` from V; V⁻¹ = P becomes P − p pᵀ/p_i, p its column i."""
    for i in range(mask.size):
        pivot = inverse[i, i]
        if mask[i] == 0.0 or pivot == 0.0:
            continue
        for j in range(mask.size):
            if j != i:
                subtract(inverse[j], inverse[j, i] / pivot, inverse[i])
        for j in range(mask.size):
            inverse[i, j] = inverse[j, i] = 0.0
