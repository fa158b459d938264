"""The level that all rewards share: fixed, or moving.

**Fixed.** The anchored bank knows the level as μ̂ with precision κ, and starts with κ = 0. Given μ,
an expert's error is raw − u μ, where ``raw`` is the error at level zero and u what a level of one
adds beyond what the expert has learned of it. So each reward adds to the level, as the expert in
force sees it,

    κ ← κ + ½u²/(1 + q)      κμ̂ ← κμ̂ + ½u raw/(1 + q)

Half, since the rewards that tell of the level are those of actions that earlier rewards had picked.
The level does not forget when the differences do: this is what makes a fall of all rewards, which
is a change of level, differ from a change of direction.

**Moving.** The centred bank looks at distances from running means alone. With memory h,

    x = (a − ā_h)/√F      y = (r − r̄_h)/√F      F = 1 + 1/n_h

n_h is the discounted number of rewards behind the means. If the level is a random walk and h fits
its pace, this is the innovations form of the local level model (Harvey, 1989): y is the error of
the best prediction, and least squares on (x, y) are generalised least squares. Any level that is
nearly the same over h rounds cancels. h is weighed by how well it predicts, like the memories.

**Which.** While one action is played again and again, a level that moves and an action that moves
look the same. So evidence counts in proportion to how far the action is from the recent ones. It
decides at 1 nat, and one reward adds 0.3 at most: a sudden change is not taken for a level.

**Falls.** A level that moves hides what the action that is played loses by itself. So when rewards
fall faster than the running mean in force expects, the anchored bank takes over: it tries other
actions, and what they give tells a level that fell from an action that fell.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import lean_kernel, precise_kernel
from .bank import lanes_in_use, mean_square
from .state import (
    ANCHORED,
    CENTRED,
    ERROR,
    EXPERTS,
    FALL,
    FALL_FROM,
    INFLATION,
    LATEST,
    LAW,
    LEAN,
    LEVEL_GROWTH,
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
    SHORTEST_LEVEL,
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

# A reward counts this much for the fixed level. Actions that looked better than they are get
# played, and the level then looks lower than it is, by more than κ says: by two standard errors
# after 500 rounds of heavy-noise. With 1 its regret is 12% higher, with ¼ it is as with ½.
TRUST = 0.5
# What one reward may add to the evidence for a level that moves, and take from it. A level that
# moves shows little by little. What shows in a few rewards is a change of the parameter.
MOST_FOR = 0.3
MOST_AGAINST = 1.0
MOST_LEAN = 28.0  # evidence beyond this is not kept, so that it can turn within a few dozen rewards
TRACKER_SHARE = 0.4  # as for the expert in force: too long a memory costs more than too short a one
NOTHING_LEFT = 1e-100  # a mean of fewer rewards says nothing; squares of that must not vanish
ROUNDING = 1e-12  # a count of rewards below this is what subtracting has left; and see `track`
LOOSE = 1.0  # κ is at most this while the level moves: the fixed level is as good as one reward


_DISCOUNTS = 1.0 - 1.0 / (SHORTEST_LEVEL * LEVEL_GROWTH ** np.arange(LEVELS))


@lean_kernel
def level_discount(h: int) -> float:
    """ρ_h of running mean ``h``, whose memory is 3·√10^h rewards."""
    return float(_DISCOUNTS[h])


@lean_kernel
def fixed_level(s: State) -> float:
    """μ̂."""
    return float(s.counters[MOMENT] / s.counters[PRECISION]) if s.counters[PRECISION] > 0 else 0.0


@lean_kernel
def level_of(s: State, bank: int) -> float:
    """What an expert of ``bank`` takes for the level in its estimate."""
    return fixed_level(s) if bank == ANCHORED else 0.0


@lean_kernel
def centre(s: State, action: Array, age: float) -> bool:
    """Write the action, and the centred one, to ``rows``; False while there is no mean yet.

    The running means live in rounds of rewards. Where all rewards are equally late, they are as if
    none were late. One that comes after those of later rounds is held against what is there.
    """
    c, dim = s.counters, action.size
    for i in range(dim):
        s.rows[0, i] = action[i]
    steps = max(0.0, c[CLOCK] - age - c[LATEST])
    c[LATEST] += steps
    if steps > 0.0:
        for h in range(LEVELS):
            kept = level_discount(h)
            if steps != 1.0:
                kept = kept**steps
            s.trackers[h, TRACKED] *= kept
            s.trackers[h, TRACKED_REWARDS] *= kept
            for i in range(dim):
                s.trackers[h, SUMS + i] *= kept
    tracker = s.trackers[int(c[TRACKER])]
    if tracker[TRACKED] < NOTHING_LEFT:
        return False
    c[INFLATION] = 1.0 + 1.0 / tracker[TRACKED]
    factor = 1.0 / np.sqrt(c[INFLATION])
    for i in range(dim):
        s.rows[1, i] = (action[i] - s.centres[1, i]) * factor
    return True


@lean_kernel
def any_mean(s: State) -> bool:
    """Whether any running mean holds a reward: the longest one does if any does."""
    return bool(s.trackers[LEVELS - 1, TRACKED] >= NOTHING_LEFT)


@lean_kernel
def add_to_means(s: State, action: Array, reward: float, age: float, sign: float) -> None:
    """Add a reward to the running means; at ``sign`` −1, take out one that they hold."""
    behind = s.counters[LATEST] - (s.counters[CLOCK] - age)
    for h in range(LEVELS):
        weight = sign * level_discount(h) ** behind if behind > 0.0 else sign
        count = s.trackers[h, TRACKED] + weight
        s.trackers[h, TRACKED] = count if count > ROUNDING else 0.0
        s.trackers[h, TRACKED_REWARDS] += weight * (reward - s.counters[ORIGIN])
        for i in range(action.size):
            s.trackers[h, SUMS + i] += weight * action[i]


@lean_kernel
def track(s: State, action: Array, reward: float, age: float) -> None:
    """Add a reward to the running means, and take the one in force from their weights."""
    add_to_means(s, action, reward, age, 1.0)
    total, found = 0.0, LEVELS - 1
    for h in range(LEVELS - 1):
        total += s.trackers[h, TRACKER_WEIGHT]
        if total > TRACKER_SHARE - ROUNDING:  # two of five equal weights are a tie
            found = h
            break
    s.counters[TRACKER] = found
    for i in range(action.size):
        s.centres[1, i] = s.trackers[found, SUMS + i] / s.trackers[found, TRACKED]


@lean_kernel
def predict_by_means(s: State, action: Array, reward: float) -> None:
    """How the heaviest centred expert predicts with each of the running means."""
    heaviest = 0
    for j in range(1, int(s.counters[EXPERTS])):
        if s.facts[2 * j + CENTRED, WEIGHT] > s.facts[2 * heaviest + CENTRED, WEIGHT]:
            heaviest = j
    theta = s.thetas[2 * heaviest + CENTRED]
    spread = s.forecasts[CENTRED, SPREAD, heaviest]
    forecasts, y = s.forecasts[MEANS], reward - s.counters[ORIGIN]
    for i in range(action.size):
        y -= theta[i] * action[i]
    for h in range(LEVELS):
        tracker = s.trackers[h]
        held = 1.0 / tracker[TRACKED] if tracker[TRACKED] >= NOTHING_LEFT else 0.0
        mean = tracker[TRACKED_REWARDS]
        for i in range(action.size):
            mean -= theta[i] * tracker[SUMS + i]
        forecasts[ERROR, h] = y - mean * held
        forecasts[SCALE, h] = 1.0 + held + spread


@lean_kernel
def weigh_trackers(s: State) -> None:
    """Weights of the running means, by how well each of them predicted."""
    laws, total = s.forecasts[MEANS, LAW], 0.0
    for h in range(LEVELS):
        if s.trackers[h, TRACKED] < NOTHING_LEFT:  # it predicts nothing, for certain
            laws[h] = 0.0
        total += s.trackers[h, TRACKER_WEIGHT] * laws[h]
    notice_falls(s)
    share = 1.0 / s.counters[OBSERVATIONS]
    kept = (1.0 - share) / total
    for h in range(LEVELS):
        weight = kept * s.trackers[h, TRACKER_WEIGHT] * laws[h]
        s.trackers[h, TRACKER_WEIGHT] = weight + share / LEVELS


@lean_kernel
def notice_falls(s: State) -> None:
    """Odds of the shorter running means, where they are lower, against the one in force before."""
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
        odds = s.counters[FALL] * after / (before * laws[above])
        s.counters[FALL] = min(MOST_EVIDENCE, max(1.0, odds))


@precise_kernel
def _errors_at(forecasts: Array, level: float, variance: float, sure: float, lanes: int) -> None:
    for j in range(lanes):
        leverage = forecasts[LEVERAGE, j]
        forecasts[ERROR, j] = sure * (forecasts[RAW, j] - leverage * level)
        forecasts[SCALE, j] = 1.0 + forecasts[SPREAD, j] + leverage * leverage * variance


@lean_kernel
def apply_level(s: State, bank: int) -> None:
    """Errors and scales of the experts of ``bank``, at the level that it knows."""
    forecasts, lanes, precision = s.forecasts[bank], lanes_in_use(s), s.counters[PRECISION]
    if bank == CENTRED:
        _errors_at(forecasts, 0.0, 0.0, 1.0, lanes)
    elif precision > 0.0:
        _errors_at(forecasts, fixed_level(s), 1.0 / precision, 1.0, lanes)
    else:  # any level fits
        _errors_at(forecasts, 0.0, 0.0, 0.0, lanes)


@lean_kernel
def learn_level(s: State, e: int) -> None:
    """Add to the fixed level what the last reward says of it, as expert ``e`` saw it."""
    forecast = s.forecasts[ANCHORED, :, e // 2]
    gain = TRUST * forecast[LEVERAGE] / (1.0 + forecast[SPREAD])
    s.counters[PRECISION] += gain * forecast[LEVERAGE]
    s.counters[MOMENT] += gain * forecast[RAW]


@lean_kernel
def moved(s: State) -> float:
    """How far the last action was from recent ones, from 0 to 1, in units of features' scales."""
    distance = length = 0.0
    for i in range(s.rows.shape[1]):
        square = mean_square(s, i)
        if square > 0.0:
            distance += s.rows[1, i] ** 2 / square
            length += s.rows[0, i] ** 2 / square
    return min(1.0, distance * s.counters[INFLATION] / length) if length > 0.0 else 0.0


@lean_kernel
def weigh_banks(s: State, gained: float, conviction: float, doubt: float) -> None:
    """Take in ``gained`` nats for a level that moves, and decide which bank is in force."""
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
    """While the level moves, let the fixed one follow."""
    if s.counters[MOVING] > 0.0 and s.counters[PRECISION] > LOOSE:
        s.counters[MOMENT] *= LOOSE / s.counters[PRECISION]
        s.counters[PRECISION] = LOOSE
