"""What AdaptiveLinUCB keeps: names for every number, and the state it starts from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
from ...least_squares.combining import padded

# Positions in ``counters``, after CLOCK.
EXPERTS = 1  # J, experts in each of the two banks
OBSERVATIONS = 2  # N, rewards seen
ORIGIN = 3  # the first reward; all others are counted from it
# Noise: sums over recent rewards, and what is made of them.
RESIDUALS = 4  # S, discounted sum of squared residuals, each in units of its predicted variance
COUNT = 5  # C, how many they are, discounted
REWARD_MEAN = 6  # discounted mean of the rewards
REWARD_SQUARES = 7  # discounted sum of their squared distances from it
REWARD_COUNT = 8
VARIANCE = 9  # σ̂²
TAIL_BELOW = 10  # mean fourth power of residuals below zero, in units of σ̂⁴
TAIL_ABOVE = 11  # and of those above
RATIO = 12  # σ̂²/ρ̂², the share of noise in what rewards vary by
# Level: the fixed one of the anchored bank, and which bank is in force.
PRECISION = 13  # κ, of the fixed level
MOMENT = 14  # κ times its estimate μ̂
LEAN = 15  # evidence for a level that moves, in nats
MOVING = 16  # 1 while the centred bank is in force
LATEST = 17  # the latest round of which there was a reward
TRACKER = 18  # h, the running mean in force
INFLATION = 19  # F, variance of a centred reward in units of σ²
FALL = 20  # odds that rewards have fallen from the running mean FALL_FROM
FALL_FROM = 21
DETECTIONS = 22
COUNTERS = 23

# Columns of ``facts``, one row per expert.
WEIGHT = 0  # by how well it has predicted of late; those of a bank sum to one
EVIDENCE = 1  # odds of the shorter memories against it
UNIT = 2  # what a weight of one is stored as
RESTORED = 3  # the clock when its ridge was last put in place
CHANGES = 4  # rank-one changes of the inverse since it was made; −1 where it has to be made
REMEMBERED = 5  # Σ w_j(s) over all closed rounds
COPIES = 6  # overwritings so far
DISCOUNT = 7  # γ_j
PRIOR = 8  # π_j, what its weight is drawn to
FACTS = 9

# The two banks. Expert j of a bank is in row 2j + bank.
ANCHORED, CENTRED = 0, 1

# Rows of ``forecasts``: of the last reward, before it was learned, one column per expert of a bank.
RAW = 0  # its error at level zero
LEVERAGE = 1  # u, what a level of one adds to the reward beyond what the expert has learned of it
SPREAD = 2  # xᵀV_j⁻¹x of its row
ERROR = 3  # its error
SCALE = 4  # variance of the error, in units of σ²
LAW = 5  # density of the reward, by its prediction
FORECASTS = 6
MEANS = 2  # and after those of the two banks, one column per running mean: ERROR, SCALE and LAW
LANES = 8  # columns that vector instructions take at a time

# Columns of ``trackers``, one row per running mean; sums of actions follow.
TRACKED = 0  # how many rewards, discounted
TRACKED_REWARDS = 1  # their sum, discounted
TRACKER_WEIGHT = 2  # by how well it predicts
SUMS = 3

SHORTEST = 2.0  # memory of the first expert, in units of c
GROWTH = 4.0  # ratio of neighbouring memories
LOG = 64  # overwritings that an expert's log holds
MOST_EXPERTS = 24  # memories up to 2c·4²²; a multiple of LANES

LEVELS = 5  # running means, with memories of 3 to 300 rewards
SHORTEST_LEVEL = 3.0
LEVEL_GROWTH = 10.0**0.5

NORMAL_TAIL = 1.5  # of a normal law, on each side: half its kurtosis


class State(NamedTuple):
    """Two banks, their rows shared, shorter memories first; and what belongs to both."""

    counters: Array
    facts: Array  # (2J, FACTS)
    forecasts: Array  # (3, FORECASTS, MOST_EXPERTS), by bank, and by running means
    grams: Array  # (2J, 2, d, d), Σ w x xᵀ, with what rounding owes
    moments: Array  # (2J, 2, d), Σ w y x
    offsets: Array  # (2J, 2, d), Σ w x over rows that hold the level
    inverses: Array  # (2J, d, d), V_j⁻¹
    thetas: Array  # (2J, d), V_j⁻¹ Σ w y x: the estimate at level zero
    slopes: Array  # (2J, d), V_j⁻¹ Σ w x: how much of it a level of one takes away
    images: Array  # (2J, d), V_j⁻¹x of the last row, in stored units
    copies: Array  # (2J, LOG, 2), rings of [clock, source]
    trackers: Array  # (LEVELS, SUMS + d), running means of rewards and actions
    features: Array  # (2, d): Σ a_i², and how often a_i was not zero
    rows: Array  # (2, d): the last action as it is, and centred
    centres: Array  # (2, d): zeros, and the mean action that the next one is centred by
    factor: Array  # (d, d), room for a Cholesky factor
    unweighted: Array  # (2, 0, 0): no sums of squared weights
    detections: Array  # rounds


# What has a row for every expert.
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
    """m_j = 2c·4^j, which is also the clock at which expert ``j`` of each bank is born."""
    return float(SHORTEST * c * GROWTH**j)


def experts_at(c: float, clock: float) -> int:
    """How many experts each bank has when the clock stands at ``clock``."""
    return 1 + sum(birth(c, j) <= clock for j in range(MOST_EXPERTS - 1))


def initial_state(*, dim: int) -> State:
    """One expert in each bank, which has seen nothing."""
    counters, facts = np.zeros(COUNTERS), np.zeros((2, FACTS))
    counters[[EXPERTS, VARIANCE, RATIO, INFLATION, FALL]] = 1.0
    counters[[TAIL_BELOW, TAIL_ABOVE]] = NORMAL_TAIL
    facts[:, [WEIGHT, EVIDENCE, UNIT, DISCOUNT, PRIOR]] = 1.0
    facts[:, CHANGES] = -1.0
    forecasts = np.zeros((3, FORECASTS, MOST_EXPERTS))
    forecasts[:, SCALE] = 1.0
    trackers = np.zeros((LEVELS, SUMS + dim))
    trackers[:, TRACKER_WEIGHT] = 1.0 / LEVELS
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
        images=np.zeros((2, dim)),
        copies=np.zeros((2, LOG, 2)),
        trackers=trackers,
        features=np.zeros((2, dim)),
        rows=np.zeros((2, dim)),
        centres=np.zeros((2, dim)),
        factor=np.zeros((dim, dim)),
        unweighted=np.zeros((2, 0, 0)),
        detections=np.zeros(0),
    )


def widened(state: State, dim: int) -> State:
    """``state`` with zeros along further coordinates, ``dim`` in all: they are new."""
    rows = len(state.facts)
    return state._replace(
        grams=padded(state.grams, rows, 2, dim, dim),
        moments=padded(state.moments, rows, 2, dim),
        offsets=padded(state.offsets, rows, 2, dim),
        inverses=padded(state.inverses, rows, dim, dim),
        thetas=padded(state.thetas, rows, dim),
        slopes=padded(state.slopes, rows, dim),
        images=padded(state.images, rows, dim),
        trackers=padded(state.trackers, LEVELS, SUMS + dim),
        features=padded(state.features, 2, dim),
        rows=padded(state.rows, 2, dim),
        centres=padded(state.centres, 2, dim),
        factor=np.zeros((dim, dim)),
    )
