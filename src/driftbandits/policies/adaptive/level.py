"""The level that all rewards share: fixed, or moving.

**Fixed.** The anchored bank estimates the level as μ̂ with precision κ, from κ = 0. At level μ, an
expert's error is raw − u μ. Here ``raw`` is the error at level zero, and u = 1 − xᵀV⁻¹Σ w x is the
part of a level of one that the expert's θ does not explain. With raw, u and q = xᵀV⁻¹x of the
expert in force, each reward changes the level:

    κ ← κ + ½u²/(1 + q)      κμ̂ ← κμ̂ + ½u raw/(1 + q)

A reward counts half, since earlier rewards picked its action (see `TRUST`). The differences forget,
but the level does not. This makes a fall of all rewards, which is a change of level, differ from a
change of direction.

**Moving.** The centred bank uses only distances from running means. With memory h,

    x = (a − ā_h)/√F      y = (r − r̄_h)/√F      F = 1 + 1/n_h

n_h is the discounted number of rewards behind the means. If the level is a random walk and h fits
its pace, this is the innovations form of the local level model (Harvey, 1989): y is the error of
the best prediction, and least squares on (x, y) are generalised least squares. Any level that is
nearly the same over h rounds cancels. Each h has a weight by how well it predicts, as memories do.

**Which.** While one action is played again and again, a moving level and a moving action look the
same. So evidence counts in proportion to how far the action is from recent ones. Evidence of 1 nat
decides. One reward adds 0.3 nats at most, so a sudden change is not mistaken for a moving level.

**Falls.** With a moving level, a loss of the played action alone stays hidden. So when rewards fall
faster than the running mean in force predicts, the anchored bank takes over. It tries other
actions. Their rewards show whether the level fell or the action.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import lean_kernel, precise_kernel
from ...core.linalg import inner
from .bank import lanes_in_use
from .means import NOTHING_LEFT, add_to_means, find_means, first_mean, pass_to
from .state import (
    ANCHORED,
    CENTRED,
    ERROR,
    EXPERTS,
    FALL,
    FALL_FROM,
    INFLATION,
    LAW,
    LEAN,
    LEVELS,
    LEVERAGE,
    MEANS,
    MOMENT,
    MOVING,
    OBSERVATIONS,
    ORIGIN,
    PRECISION,
    RAW,
    SCALE,
    SPREAD,
    SUMS,
    TRACKED,
    TRACKED_REWARDS,
    TRACKER,
    TRACKER_WEIGHT,
    WEIGHT,
    State,
)
from .weights import MOST_EVIDENCE

# A reward counts this much for the fixed level. Actions that look better than they are get played.
# Then the level looks lower than it is, by more than κ says: in the environment heavy-noise by two
# standard errors after 500 rounds.
TRUST = 0.5
# The most that one reward adds to the evidence for a moving level, and the most that it takes away.
# A moving level shows little by little. A change that shows in a few rewards is one of the
# parameter.
MOST_FOR = 0.3
MOST_AGAINST = 1.0
MOST_LEAN = 28.0  # bound on the evidence, so that it can change sign within a few dozen rewards
TRACKER_SHARE = 0.4  # as for the expert in force: a memory too long costs more than one too short
TIE = 1e-12  # two of five equal weights must reach TRACKER_SHARE, however they are rounded
LOOSE = 1.0  # bound on κ while the level moves: the fixed level is then as good as one reward


@lean_kernel
def fixed_level(s: State) -> float:
    """μ̂; 0 while κ = 0."""
    return float(s.counters[MOMENT] / s.counters[PRECISION]) if s.counters[PRECISION] > 0 else 0.0


@lean_kernel
def level_of(s: State, bank: int) -> float:
    """The level that experts of ``bank`` assume in their estimates."""
    return fixed_level(s) if bank == ANCHORED else 0.0


@lean_kernel
def centre(s: State, action: Array, age: float) -> bool:
    """Write the action and the centred action to ``rows``; returns False if it has no mean.

    The mean is the one for the round that the reward belongs to (`find_means`).
    """
    for i in range(action.size):
        s.rows[0, i] = action[i]
    pass_to(s, s.counters[CLOCK] - age)
    if not find_means(s, s.counters[CLOCK] - age):
        return False
    tracker = s.trackers[first_mean(s) + int(s.counters[TRACKER])]
    if tracker[TRACKED] < NOTHING_LEFT:
        return False
    s.counters[INFLATION] = 1.0 + 1.0 / tracker[TRACKED]
    factor, count = 1.0 / np.sqrt(s.counters[INFLATION]), 1.0 / tracker[TRACKED]
    for i in range(action.size):
        s.rows[1, i] = (action[i] - tracker[SUMS + i] * count) * factor
    return True


@lean_kernel
def seen_by(s: State, bank: int, reward: float) -> float:
    """y, the reward as ``bank`` sees it; the x for it is in ``rows``."""
    shifted = reward - s.counters[ORIGIN]
    if bank == ANCHORED:
        return float(shifted)
    tracker = s.trackers[first_mean(s) + int(s.counters[TRACKER])]
    mean = tracker[TRACKED_REWARDS] / tracker[TRACKED]
    return float((shifted - mean) / np.sqrt(s.counters[INFLATION]))


@lean_kernel
def track(s: State, action: Array, reward: float, age: float) -> None:
    """Add a reward to the running means, and find the mean in force from their weights."""
    add_to_means(s, action, reward, age, 1.0)
    total, found = 0.0, LEVELS - 1
    for h in range(LEVELS - 1):
        total += s.trackers[h, TRACKER_WEIGHT]
        if total > TRACKER_SHARE - TIE:
            found = h
            break
    s.counters[TRACKER] = found
    for i in range(action.size):
        s.centres[1, i] = s.trackers[found, SUMS + i] / s.trackers[found, TRACKED]


@lean_kernel
def predict_by_means(s: State, action: Array, reward: float) -> None:
    """Predict the reward by the heaviest centred expert with each of the running means."""
    heaviest = 0
    for j in range(1, int(s.counters[EXPERTS])):
        if s.facts[2 * j + CENTRED, WEIGHT] > s.facts[2 * heaviest + CENTRED, WEIGHT]:
            heaviest = j
    theta = s.thetas[2 * heaviest + CENTRED]
    spread = s.forecasts[CENTRED, SPREAD, heaviest]
    forecasts, y = s.forecasts[MEANS], reward - s.counters[ORIGIN] - inner(theta, action)
    first = first_mean(s)
    for h in range(LEVELS):
        tracker = s.trackers[first + h]
        held = 1.0 / tracker[TRACKED] if tracker[TRACKED] >= NOTHING_LEFT else 0.0
        mean = tracker[TRACKED_REWARDS] - inner(theta, tracker[SUMS:])
        forecasts[ERROR, h] = y - mean * held
        forecasts[SCALE, h] = 1.0 + held + spread


@lean_kernel
def weigh_trackers(s: State, newest: bool) -> None:
    """Update the weights of the running means by how well each of them predicted.

    ``newest`` says that the means hold no later reward, so that the reward may show a fall.
    """
    laws, first, total = s.forecasts[MEANS, LAW], first_mean(s), 0.0
    for h in range(LEVELS):
        if s.trackers[first + h, TRACKED] < NOTHING_LEFT:  # a mean of no rewards predicts nothing
            laws[h] = 0.0
        total += s.trackers[h, TRACKER_WEIGHT] * laws[h]
    if newest:
        notice_falls(s)
    share = 1.0 / s.counters[OBSERVATIONS]
    kept = (1.0 - share) / total
    for h in range(LEVELS):
        weight = kept * s.trackers[h, TRACKER_WEIGHT] * laws[h]
        s.trackers[h, TRACKER_WEIGHT] = weight + share / LEVELS


@lean_kernel
def notice_falls(s: State) -> None:
    """Update FALL, the odds of shorter running means that are lower, against mean FALL_FROM.

    FALL_FROM is the mean that was in force when the odds were last 1. A reward above its prediction
    does not add to the odds: else a high one would, since shorter means are less sure.
    """
    if s.counters[FALL] == 1.0:
        s.counters[FALL_FROM] = s.counters[TRACKER]
    laws, above = s.forecasts[MEANS, LAW], int(s.counters[FALL_FROM])
    high, before, after = s.trackers[above], 0.0, 0.0
    for h in range(above):
        low = s.trackers[h]
        if low[TRACKED_REWARDS] * high[TRACKED] < high[TRACKED_REWARDS] * low[TRACKED]:
            before += low[TRACKER_WEIGHT]
            after += low[TRACKER_WEIGHT] * laws[h]
    if before > 0.0 and laws[above] > 0.0:
        ratio = after / (before * laws[above])
        if s.forecasts[MEANS, ERROR, above] > 0.0:
            ratio = min(1.0, ratio)
        s.counters[FALL] = min(MOST_EVIDENCE, max(1.0, s.counters[FALL] * ratio))


@precise_kernel
def _errors_at(forecasts: Array, level: float, variance: float, sure: float, lanes: int) -> None:
    for j in range(lanes):
        leverage = forecasts[LEVERAGE, j]
        forecasts[ERROR, j] = sure * (forecasts[RAW, j] - leverage * level)
        forecasts[SCALE, j] = 1.0 + forecasts[SPREAD, j] + leverage * leverage * variance


@lean_kernel
def apply_level(s: State, bank: int) -> None:
    """Write ERROR and SCALE of the experts of ``bank``, at the level that the bank assumes."""
    forecasts, lanes, precision = s.forecasts[bank], lanes_in_use(s), s.counters[PRECISION]
    if bank == CENTRED:
        _errors_at(forecasts, 0.0, 0.0, 1.0, lanes)
    elif precision > 0.0:
        _errors_at(forecasts, fixed_level(s), 1.0 / precision, 1.0, lanes)
    else:  # nothing is known of the level: it can explain any reward
        _errors_at(forecasts, 0.0, 0.0, 0.0, lanes)


@lean_kernel
def learn_level(s: State, e: int) -> None:
    """Update κ and κμ̂ of the fixed level by the last reward, as expert ``e`` saw it."""
    forecast = s.forecasts[ANCHORED, :, e // 2]
    gain = TRUST * forecast[LEVERAGE] / (1.0 + forecast[SPREAD])
    s.counters[PRECISION] += gain * forecast[LEVERAGE]
    s.counters[MOMENT] += gain * forecast[RAW]


@lean_kernel
def moved(s: State) -> float:
    """min(1, ‖a − ā‖²/‖a‖²) of the last action a, with norms in units of the features' scales."""
    distance = length = 0.0
    for i in range(s.rows.shape[1]):
        if s.features[1, i] > 0.0:
            weight = s.features[1, i] / s.features[0, i]  # 1/s_i
            distance += weight * s.rows[1, i] ** 2
            length += weight * s.rows[0, i] ** 2
    return min(1.0, distance * s.counters[INFLATION] / length) if length > 0.0 else 0.0


@lean_kernel
def weigh_banks(s: State, gained: float, conviction: float, doubt: float) -> None:
    """Add ``gained`` nats, times `moved`, for a moving level; decide which bank is in force."""
    c = s.counters
    lean = c[LEAN] + min(MOST_FOR, max(-MOST_AGAINST, gained * moved(s)))
    c[LEAN] = min(MOST_LEAN, max(-MOST_LEAN, lean))
    if c[FALL] > doubt:
        c[FALL] = 1.0
        c[LEAN] = min(c[LEAN], 0.0)
    if c[LEAN] > conviction:
        c[MOVING] = 1.0
    elif c[LEAN] <= 0.0:
        c[MOVING] = 0.0


@lean_kernel
def loosen(s: State) -> None:
    """While the level moves, limit κ, so that the fixed level can follow."""
    if s.counters[MOVING] > 0.0 and s.counters[PRECISION] > LOOSE:
        s.counters[MOMENT] *= LOOSE / s.counters[PRECISION]
        s.counters[PRECISION] = LOOSE
