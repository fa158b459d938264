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
decides at 2 nats, and one reward adds 0.3 at most: a sudden change is not taken for a level.

**Falls.** A level that moves hides what the action that is played loses by itself. So when rewards
fall faster than the running mean in force expects, the anchored bank takes over: it tries other
actions, and what they give tells a level that fell from an action that fell.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import lean_kernel
from .bank import mean_square
from .noise import degrees_of_freedom
from .state import (
    ANCHORED,
    CENTRED,
    ERROR,
    EXPERTS,
    FALL,
    FALL_FROM,
    INFLATION,
    LATEST,
    LEAN,
    LEVEL_GROWTH,
    LEVELS,
    LEVERAGE,
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
    TRACKER_LAW,
    TRACKER_WEIGHT,
    VARIANCE,
    WEIGHT,
    State,
)
from .weights import MOST_EVIDENCE

# A reward counts this much for the fixed level. Actions that looked better than they are get played,
# and the level then looks lower than it is, by more than κ says: by two standard errors after 500
# rounds of heavy-noise. With 1 its regret is 12% higher, with ¼ and ½ it is the same.
TRUST = 0.5
# What one reward may add to the evidence for a level that moves, and take from it. A level that
# moves shows little by little. What shows in a few rewards is a change of the parameter.
MOST_FOR = 0.3
MOST_AGAINST = 1.0
MOST_LEAN = 28.0  # evidence beyond this is not kept, so that it can turn within a few dozen rewards
TRACKER_SHARE = 0.4  # as for the expert in force: too long a memory costs more than too short a one
NOTHING_LEFT = 1e-100  # a mean of fewer rewards says nothing; squares of that must not vanish
ROUNDING = 1e-12  # a count of rewards below this is what subtracting has left
LOOSE = 1.0  # κ is at most this while the level moves: the fixed level is as good as one reward


@lean_kernel
def level_discount(h: int) -> float:
    """ρ_h of running mean ``h``, whose memory is 3·√10^h rewards."""
    return float(1.0 - 1.0 / (SHORTEST_LEVEL * LEVEL_GROWTH**h))


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
        if total >= TRACKER_SHARE:
            found = h
            break
    s.counters[TRACKER] = found
    for i in range(action.size):
        s.centres[1, i] = s.trackers[found, SUMS + i] / s.trackers[found, TRACKED]


@lean_kernel
def weigh_trackers(s: State, action: Array, reward: float) -> None:
    """Weights of the running means, by how the heaviest centred expert predicts with each."""
    freedom, heaviest = degrees_of_freedom(s), CENTRED
    for j in range(1, int(s.counters[EXPERTS])):
        if s.facts[2 * j + CENTRED, WEIGHT] > s.facts[heaviest, WEIGHT]:
            heaviest = 2 * j + CENTRED
    theta, spread = s.thetas[heaviest], s.facts[heaviest, SPREAD]
    total = 0.0
    for h in range(LEVELS):
        tracker = s.trackers[h]
        tracker[TRACKER_LAW] = 0.0
        if tracker[TRACKED] < NOTHING_LEFT:  # it predicts nothing, for certain: its law is zero
            continue
        error = reward - s.counters[ORIGIN] - tracker[TRACKED_REWARDS] / tracker[TRACKED]
        for i in range(action.size):
            error -= theta[i] * (action[i] - tracker[SUMS + i] / tracker[TRACKED])
        scale = 1.0 + 1.0 / tracker[TRACKED] + spread
        square = error * error / (freedom * s.counters[VARIANCE] * scale)
        law = np.exp(max(-0.5 * (freedom + 1.0) * np.log(1.0 + square), -300.0)) / np.sqrt(scale)
        tracker[TRACKER_LAW] = law
        total += tracker[TRACKER_WEIGHT] * law
    notice_falls(s)
    share = 1.0 / s.counters[OBSERVATIONS]
    for h in range(LEVELS):
        kept = (1.0 - share) * s.trackers[h, TRACKER_WEIGHT] * s.trackers[h, TRACKER_LAW] / total
        s.trackers[h, TRACKER_WEIGHT] = kept + share / LEVELS


@lean_kernel
def notice_falls(s: State) -> None:
    """Odds of the shorter running means, where they are lower, against the one in force before."""
    if s.counters[FALL] == 1.0:
        s.counters[FALL_FROM] = s.counters[TRACKER]
    high = s.trackers[int(s.counters[FALL_FROM])]
    before = after = 0.0
    for h in range(int(s.counters[FALL_FROM])):
        low = s.trackers[h]
        if low[TRACKED_REWARDS] * high[TRACKED] < high[TRACKED_REWARDS] * low[TRACKED]:
            before += low[TRACKER_WEIGHT]
            after += low[TRACKER_WEIGHT] * low[TRACKER_LAW]
    if before > 0.0 and high[TRACKER_LAW] > 0.0:
        odds = s.counters[FALL] * after / (before * high[TRACKER_LAW])
        s.counters[FALL] = min(MOST_EVIDENCE, max(1.0, odds))


@lean_kernel
def apply_level(s: State, e: int, bank: int) -> None:
    """Error and scale of expert ``e``, at the level that its bank knows."""
    facts = s.facts[e]
    facts[ERROR], facts[SCALE] = facts[RAW], 1.0 + facts[SPREAD]
    if bank == CENTRED:
        return
    if s.counters[PRECISION] > 0.0:
        facts[ERROR] -= facts[LEVERAGE] * fixed_level(s)
        facts[SCALE] += facts[LEVERAGE] ** 2 / s.counters[PRECISION]
    else:
        facts[ERROR] = 0.0


@lean_kernel
def learn_level(s: State, e: int) -> None:
    """Add to the fixed level what the last reward says of it, as expert ``e`` saw it."""
    gain = TRUST * s.facts[e, LEVERAGE] / (1.0 + s.facts[e, SPREAD])
    s.counters[PRECISION] += gain * s.facts[e, LEVERAGE]
    s.counters[MOMENT] += gain * s.facts[e, RAW]


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
