"""The state of AdaptiveLinUCB: a name for every number, and the initial state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
from ...least_squares.combining import padded

# Positions in ``counters``, after CLOCK.
EXPERTS = 1  # J, the number of experts in each of the two banks
OBSERVATIONS = 2  # N, the number of rewards seen
ORIGIN = 3  # the first reward; it is subtracted from all rewards
# Noise: sums over recent rewards, and estimates from these sums.
RESIDUALS = 4  # S, discounted sum of squared errors, each divided by its SCALE
COUNT = 5  # C, discounted number of these errors
REWARD_MEAN = 6  # discounted mean of reward − ORIGIN
REWARD_SQUARES = 7  # discounted sum of squared distances of rewards from their mean
REWARD_COUNT = 8  # discounted number of rewards
VARIANCE = 9  # σ̂²
TAIL_BELOW = 10  # mean fourth power of residuals, in units of σ̂⁴; those above zero count as 0
TAIL_ABOVE = 11  # the same; residuals below zero count as 0
RATIO = 12  # σ̂²/ρ̂², the share of noise in the variance of rewards
# Level: the fixed level of the anchored bank, and which bank is in force.
PRECISION = 13  # κ, the precision of the fixed level
MOMENT = 14  # κ μ̂, where μ̂ estimates the fixed level
LEAN = 15  # evidence for a moving level, in nats
MOVING = 16  # 1 while the centred bank is in force
LATEST = 17  # the latest round that has a reward
TRACKER = 18  # h, the running mean in force
INFLATION = 19  # F, variance of a centred reward in units of σ²
FALL = 20  # odds that rewards have fallen below the running mean FALL_FROM
FALL_FROM = 21
BEHIND = 22  # rounds from the round of the last reward to LATEST; 0 if rewards come in order
SINCE = 23  # the running means hold the rewards since this round, when the level jumped
DETECTIONS = 24
# Delays: the rewards that are on their way.
DELAYS = 25  # discounted sum of the ages of rewards when they came
REWARDS_AGED = 26  # discounted number of these rewards
AWAITED = 27  # expected number of rewards on their way, without that of the round closed last
AWAITED_UNIT = 28  # the unit of ``awaited``; it grows instead of fading the array
CHOSEN = 29  # 1 if an action was chosen for the open round
CLOSED = 30  # 1 if an action was chosen for the round closed last, and its reward has not come
CLOSED_ROUND = 31  # the round closed last, as its reward will name it
COUNTERS = 32

# Columns of ``facts``, one row per expert.
WEIGHT = 0  # how well the expert has predicted recent rewards; the weights of a bank sum to one
EVIDENCE = 1  # odds of the shorter memories against the expert
UNIT = 2  # a weight of one is stored as this number
RESTORED = 3  # the clock when Λ_j was last restored
CHANGES = 4  # rank-one changes of V_j⁻¹ since it was computed; −1: it has to be computed
REMEMBERED = 5  # Σ w_j(s) over all closed rounds
COPIES = 6  # how often the expert was overwritten
DISCOUNT = 7  # γ_j
PRIOR = 8  # π_j; fixed share moves the weight towards it
FACTS = 9

# The two banks. Expert j of a bank is in row 2j + bank.
ANCHORED, CENTRED = 0, 1

# Rows of ``forecasts``: predictions of the last reward, made before it was learned. There is one
# column per expert of a bank.
RAW = 0  # error at level zero
LEVERAGE = 1  # u: at level μ, the error is RAW − u μ
SPREAD = 2  # xᵀV_j⁻¹x of the last row
ERROR = 3  # error at the level that the bank assumes
SCALE = 4  # variance of the error, in units of σ²
LAW = 5  # density of the reward under the prediction
FORECASTS = 6
# Position in ``forecasts``, after the two banks, of the running means. They have one column each,
# with ERROR, SCALE and LAW.
MEANS = 2
LANES = 8  # vector instructions handle this many columns at a time

# Columns of ``trackers``. There is one row per running mean. The rows after them are means around
# the round of the last reward, if it came out of order (`driftbandits.policies.adaptive.means`).
TRACKED = 0  # discounted number of rewards
TRACKED_REWARDS = 1  # discounted sum of reward − ORIGIN
TRACKER_WEIGHT = 2  # how well the mean predicts
SUMS = 3  # the first of d columns with the discounted sum of actions

SHORTEST = 2.0  # memory of the first expert, in units of c
GROWTH = 4.0  # ratio of neighbouring memories
LOG = 64  # number of overwritings in an expert's log
MOST_EXPERTS = 24  # memories up to 2c·4²²; a multiple of LANES

LEVELS = 5  # number of running means; their memories are 3 to 300 rounds
SHORTEST_LEVEL = 3.0
LEVEL_GROWTH = 10.0**0.5

PAST = 512  # rounds whose rewards are kept apart, for rewards out of order; a power of two
# Columns of ``past``, one row per round.
PAST_COUNT = 0
PAST_REWARDS = 1  # sum of reward − ORIGIN
PAST_SUMS = 2  # the first of d columns with the sum of actions

NORMAL_TAIL = 1.5  # TAIL_BELOW and TAIL_ABOVE of a normal law: half of its kurtosis


class State(NamedTuple):
    """Two banks, in alternate rows from short memories to long ones, and what both share."""

    counters: Array
    facts: Array  # (2J, FACTS)
    forecasts: Array  # (3, FORECASTS, MOST_EXPERTS), of the two banks and the running means
    grams: Array  # (2J, 2, d, d), Σ w x xᵀ, a compensated sum
    moments: Array  # (2J, 2, d), Σ w y x
    offsets: Array  # (2J, 2, d), Σ w x over rows whose y includes the level
    inverses: Array  # (2J, d, d), V_j⁻¹
    thetas: Array  # (2J, d), V_j⁻¹ Σ w y x: the estimate at level zero
    slopes: Array  # (2J, d), V_j⁻¹ Σ w x: the estimate at level μ is thetas − μ slopes
    earlier: (
        Array  # (d + 1, d), θ and V⁻¹ (i ≤ j) of the last centred expert before the last reward
    )
    images: Array  # (2J, d), V_j⁻¹x of the last row, in stored units
    copies: Array  # (2J, LOG, 2), logs of overwritings [clock, source], each a ring
    trackers: Array  # (2 LEVELS, SUMS + d), the running means, and means around a past round
    past: Array  # (PAST, PAST_SUMS + d), what the last rounds add to the running means; a ring
    features: Array  # (2, d): Σ a_i², and how often a_i was not zero
    rows: Array  # (2, d): the last action, and the last action centred
    centres: Array  # (2, d): zeros, and the mean that is subtracted from the next action
    awaited: Array  # (d + 1, d), AWAITED_UNIT · Σ w a aᵀ and · Σ w a; rewards on their way
    chosen: Array  # (2, d): the actions of CHOSEN and CLOSED
    ahead: Array  # (d, d), room for the inverse that V will have when these rewards have come
    factor: Array  # (d, d), room for a Cholesky factor
    unweighted: Array  # (2, 0, 0), empty: there are no sums of squared weights
    detections: Array  # rounds


# Arrays with one row per expert.
ROWS = (
    "facts",
    "grams",
    "moments",
    "offsets",
    "inverses",
    "thetas",
    "slopes",
    "images",
    "copies",
)


def birth(c: float, j: int) -> float:
    """m_j = 2c·4^j, the memory of expert ``j`` of each bank, and the clock at its birth."""
    return float(SHORTEST * c * GROWTH**j)


def experts_at(c: float, clock: float) -> int:
    """Number of experts in each bank when the clock is ``clock``."""
    return 1 + sum(birth(c, j) <= clock for j in range(MOST_EXPERTS - 1))


def initial_state(*, dim: int) -> State:
    """A state with one expert in each bank, and without any reward."""
    counters, facts = np.zeros(COUNTERS), np.zeros((2, FACTS))
    counters[[EXPERTS, VARIANCE, RATIO, INFLATION, FALL, AWAITED_UNIT]] = 1.0
    counters[[TAIL_BELOW, TAIL_ABOVE]] = NORMAL_TAIL
    facts[:, [WEIGHT, EVIDENCE, UNIT, DISCOUNT, PRIOR]] = 1.0
    facts[:, CHANGES] = -1.0
    forecasts = np.zeros((3, FORECASTS, MOST_EXPERTS))
    forecasts[:, SCALE] = 1.0
    trackers = np.zeros((2 * LEVELS, SUMS + dim))
    trackers[:LEVELS, TRACKER_WEIGHT] = 1.0 / LEVELS
    return State(
        counters=counters,
        facts=facts,
        forecasts=forecasts,
        grams=np.zeros((2, 2, dim, dim)),
        moments=np.zeros((2, 2, dim)),
        offsets=np.zeros((2, 2, dim)),
        inverses=np.zeros((2, dim, dim)),
        thetas=np.zeros((2, dim)),
        slopes=np.zeros((2, dim)),
        earlier=np.zeros((dim + 1, dim)),
        images=np.zeros((2, dim)),
        copies=np.zeros((2, LOG, 2)),
        trackers=trackers,
        past=np.zeros((PAST, PAST_SUMS + dim)),
        features=np.zeros((2, dim)),
        rows=np.zeros((2, dim)),
        centres=np.zeros((2, dim)),
        awaited=np.zeros((dim + 1, dim)),
        chosen=np.zeros((2, dim)),
        ahead=np.zeros((dim, dim)),
        factor=np.zeros((dim, dim)),
        unweighted=np.zeros((2, 0, 0)),
        detections=np.zeros(0),
    )


def widened(state: State, dim: int) -> State:
    """``state`` with ``dim`` coordinates; the added ones are zero, as for new coordinates."""
    rows = len(state.facts)
    return state._replace(
        grams=padded(state.grams, rows, 2, dim, dim),
        moments=padded(state.moments, rows, 2, dim),
        offsets=padded(state.offsets, rows, 2, dim),
        inverses=padded(state.inverses, rows, dim, dim),
        thetas=padded(state.thetas, rows, dim),
        slopes=padded(state.slopes, rows, dim),
        earlier=padded(state.earlier, dim + 1, dim),
        images=padded(state.images, rows, dim),
        trackers=padded(state.trackers, 2 * LEVELS, SUMS + dim),
        past=padded(state.past, PAST, PAST_SUMS + dim),
        features=padded(state.features, 2, dim),
        rows=padded(state.rows, 2, dim),
        centres=padded(state.centres, 2, dim),
        awaited=np.vstack(
            [padded(state.awaited[:-1], dim, dim), padded(state.awaited[-1:], 1, dim)]
        ),
        chosen=padded(state.chosen, 2, dim),
        ahead=np.zeros((dim, dim)),
        factor=np.zeros((dim, dim)),
    )
