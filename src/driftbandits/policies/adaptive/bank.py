"""A bank of discounted least squares, one a memory, for policies that learn how fast to forget.

Expert j forgets with memory m_j = 2c·2^j, that is γ_j = 1 − 1/m_j, and the last one not at all.
c is the number of coordinates, d, unless more were added later (`AdaptiveLinUCB.widened`):

    V_j = Σ w_j(s) a_s a_sᵀ + λ_j I      b_j = Σ w_j(s) r_s a_s      θ_j = V_j⁻¹ b_j

A memory longer than the past is none, so the bank starts with the last expert alone, which splits
in two whenever the clock reaches the next memory. An expert may also be overwritten by a shorter
one. Until its birth at m_j an expert did not forget, and before an overwriting its past is that of
its source: so w_j(s) is known for every round s, and a late reward enters at the weight that it
would have by now. A log of the last overwritings is what that takes.

The sums are compensated (`driftbandits.least_squares.sums`) and kept in a unit, as in
`driftbandits.least_squares.forgetting`: a round that passes costs nothing. V_j⁻¹ follows them by
rank-one changes while λ_j fades with the data. Every c rounds it is made afresh, with λ_j back in
place: O(d²) per round and expert. An explicit inverse, unlike a factor, answers for one action in
one pass over contiguous rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import lean_kernel
from ...core.linalg import cholesky, clear, copy, copy_matrix, inner, solve, subtract
from ...least_squares.amending import clear_along, clear_entries
from ...least_squares.combining import padded
from ...least_squares.forgetting import LARGEST_UNIT
from ...least_squares.sums import accumulate, add_moment, shrink

# Positions in ``counters``, after CLOCK.
EXPERTS = 1  # experts in the bank
OBSERVATIONS = 2  # N, rewards seen
RESIDUALS = 3  # S, discounted sum of squared residuals, each in units of its predicted variance
REWARD_SQUARES = 4  # R, of squared rewards
ACTION_SQUARES = 5  # A, of squared norms of actions
COUNT = 6  # C, of ones
VARIANCE = 7  # σ̂²
RIDGE = 8  # λ that the experts are restored to
DETECTIONS = 9
KURTOSIS = 10  # κ̂ of the noise
COUNTERS = 11

# Columns of ``facts``, a row an expert.
WEIGHT = 0  # by how well it has predicted of late
EVIDENCE = 1  # against it, in nats
UNIT = 2  # what a weight of one is stored as
PENALTY = 3  # λ_j in force, in units
RESTORED = 4  # the clock when λ was last put in place
CHANGES = 5  # rank-one changes of the inverse since it was made; −1 where it has to be made
REMEMBERED = 6  # Σ w_j(s) over all closed rounds
COPIES = 7  # overwritings so far
DISCOUNT = 8  # γ_j
ERROR = 9  # of the last reward, less what was predicted
SPREAD = 10  # aᵀV_j⁻¹a of its action
LIKELIHOOD = 11  # of it, as a logarithm
PRIOR = 12  # π_j, what its weight is drawn to
FACTS = 13

SHORTEST = 2.0  # memory of the first expert, in units of c
LOG = 64  # overwritings that an expert's log holds
MOST_EXPERTS = 48  # memories up to 2c·2⁴⁶

NEVER = 0.6  # π of the last expert: that nothing changes
NORMAL_KURTOSIS = 3.0


class State(NamedTuple):
    """The bank, a row an expert, those of shorter memory first; and what is shared."""

    counters: Array
    facts: Array  # (J, FACTS)
    grams: Array  # (J, 2, d, d), with what rounding owes
    moments: Array  # (J, 2, d)
    inverses: Array  # (J, d, d), V_j⁻¹
    thetas: Array  # (J, d)
    images: Array  # (J, d), V_j⁻¹a of the last action, in stored units
    copies: Array  # (J, LOG, 2), rings of [clock, source]
    factor: Array  # (d, d), room for a Cholesky factor
    unweighted: Array  # (2, 0, 0): no sums of squared weights
    detections: Array  # rounds


# What has a row for every expert.
ROWS = ("facts", "grams", "moments", "inverses", "thetas", "images", "copies")


def birth(c: float, j: int) -> float:
    """m_j, which is also the clock at which expert ``j`` is born."""
    return float(SHORTEST * c * 2.0**j)


memory_of = lean_kernel(birth)


@lean_kernel
def invert(s: State, j: int) -> None:
    """Put λ_j back in place, and make V_j⁻¹ and θ_j from the sums."""
    s.facts[j, PENALTY] = s.counters[RIDGE] * s.facts[j, UNIT]
    s.facts[j, RESTORED] = s.counters[CLOCK]
    s.facts[j, CHANGES] = 0.0
    _solve_from_sums(s, j)


@lean_kernel
def _solve_from_sums(s: State, j: int) -> None:
    """V_j⁻¹ and θ_j from the sums, with λ_j as it is."""
    cholesky(s.grams[j, 0], s.facts[j, PENALTY], s.factor)
    solve(s.factor, s.moments[j, 0], s.thetas[j])
    _invert_factor(s.factor, s.inverses[j])


@lean_kernel
def forget_along(s: State, mask: Array) -> None:
    """Clear the sums of every expert along the coordinates of ``mask``; λ_j stays as it is."""
    for j in range(int(s.counters[EXPERTS])):
        for part in range(2):
            clear_along(mask, s.grams[j, part])
            clear_entries(mask, s.moments[j, part])
        _solve_from_sums(s, j)


@lean_kernel
def _invert_factor(factor: Array, inverse: Array) -> None:
    """(RᵀR)⁻¹ = R⁻¹R⁻ᵀ, written to ``inverse``; ``factor`` is overwritten with R⁻¹."""
    dim = factor.shape[0]
    for i in range(dim - 1, -1, -1):
        row, inverse_pivot = inverse[i], 1.0 / factor[i, i]
        clear(row[i + 1 :])
        for j in range(i + 1, dim):
            subtract(row[j:], factor[i, j] * inverse_pivot, factor[j, j:])
        copy(row[i + 1 :], factor[i, i + 1 :])
        factor[i, i] = inverse_pivot
    for i in range(dim):
        for j in range(i, dim):
            inverse[i, j] = inverse[j, i] = inner(factor[i, j:], factor[j, j:])


@lean_kernel
def predict(s: State, j: int, action: Array, reward: float) -> None:
    """What expert ``j`` makes of an observation before it learns of it: its error and aᵀV_j⁻¹a."""
    dim = action.size
    error, spread = reward, 0.0
    for i in range(dim):
        total = 0.0
        for k in range(dim):
            total += s.inverses[j, i, k] * action[k]
        s.images[j, i] = total
        spread += total * action[i]
        error -= s.thetas[j, i] * action[i]
    s.facts[j, ERROR] = error
    s.facts[j, SPREAD] = max(spread, 0.0) * s.facts[j, UNIT]


@lean_kernel
def absorb(s: State, j: int, action: Array, reward: float, weight: float) -> None:
    """Add to expert ``j`` the observation that it has just predicted, at ``weight``."""
    dim, stored = action.size, weight * s.facts[j, UNIT]
    accumulate(s.grams[j], s.unweighted, s.moments[j], action, reward, stored, 0.0, True)
    gain = stored / (1.0 + weight * s.facts[j, SPREAD])
    for i in range(dim):
        scaled = gain * s.images[j, i]
        s.thetas[j, i] += scaled * s.facts[j, ERROR]
        for k in range(dim):
            s.inverses[j, i, k] -= scaled * s.images[j, k]
    s.facts[j, CHANGES] += 1.0


@lean_kernel
def correct(s: State, j: int, action: Array, difference: float, weight: float) -> None:
    """Add ``difference`` to the reward of an observation that expert ``j`` holds at ``weight``.

    Its V_j⁻¹a must be in ``images``, where `predict` has put it.
    """
    stored = weight * s.facts[j, UNIT]
    add_moment(s.moments[j], action, difference, stored)
    for i in range(action.size):
        s.thetas[j, i] += stored * difference * s.images[j, i]


@lean_kernel
def weight_of(s: State, c: float, j: int, age: float) -> float:
    """w_j now of a round closed ``age`` rounds ago: follow the overwritings back to it.

    Zero where it lies before what the log still holds.
    """
    weight = 1.0
    reached = 0.0  # the age up to which ``weight`` accounts for
    limit = -1.0  # overwritings of this age and younger are behind us
    while True:
        count = int(s.facts[j, COPIES])
        oldest = max(0, count - LOG)
        source, copied = -1, 0.0
        entry = count - 1
        while entry >= oldest:
            copied = s.counters[CLOCK] - s.copies[j, entry % LOG, 0]
            if copied > limit:
                if copied <= age:
                    source = int(s.copies[j, entry % LOG, 1])
                break
            entry -= 1
        if entry < oldest and oldest > 0:
            return 0.0
        # Before its birth an expert did not forget.
        born = max(s.counters[CLOCK] - memory_of(c, j), reached)
        until = copied if source >= 0 else age
        weight *= s.facts[j, DISCOUNT] ** (min(until, born) - reached)
        if source < 0:
            return float(weight)
        reached = limit = copied
        j = source


@lean_kernel
def overwrite(s: State, j: int, source: int) -> None:
    """Let expert ``j`` start again from expert ``source``, and note it down."""
    for part in range(2):
        copy_matrix(s.grams[source, part], s.grams[j, part])
    copy_matrix(s.moments[source], s.moments[j])
    copy_matrix(s.inverses[source], s.inverses[j])
    copy(s.thetas[source], s.thetas[j])
    for fact in (UNIT, PENALTY, RESTORED, CHANGES, REMEMBERED):
        s.facts[j, fact] = s.facts[source, fact]
    s.facts[j, EVIDENCE] = 0.0
    place = int(s.facts[j, COPIES]) % LOG
    s.copies[j, place, 0] = s.counters[CLOCK]
    s.copies[j, place, 1] = source
    s.facts[j, COPIES] += 1.0


@lean_kernel
def set_priors(s: State) -> None:
    """π: `NEVER` for the last expert, the rest as 1, ½, ⅓, … for the others, the longest first.

    Slow drift leaves only long memories behind that are any better than the last expert, and many
    short ones must not take the weight from these few.
    """
    last = int(s.counters[EXPERTS]) - 1
    total = 0.0
    for j in range(last):
        total += 1.0 / (last - j)
    for j in range(last):
        s.facts[j, PRIOR] = (1.0 - NEVER) / (total * (last - j))
    s.facts[last, PRIOR] = NEVER


@lean_kernel
def split(s: State, c: float) -> None:
    """Two experts of the last one, the former of which forgets from now on.

    Until now they were one forecaster, so its weight is divided as π divides theirs.
    """
    last = int(s.counters[EXPERTS]) - 1
    s.counters[EXPERTS] += 1.0
    set_priors(s)
    weight = s.facts[last, WEIGHT] / (s.facts[last, PRIOR] + s.facts[last + 1, PRIOR])
    s.facts[last + 1, COPIES] = 0.0
    overwrite(s, last + 1, last)
    s.facts[last + 1, EVIDENCE] = s.facts[last, EVIDENCE]
    s.facts[last, EVIDENCE] = 0.0
    s.facts[last, WEIGHT] = weight * s.facts[last, PRIOR]
    s.facts[last + 1, WEIGHT] = weight * s.facts[last + 1, PRIOR]
    s.facts[last, DISCOUNT] = 1.0 - 1.0 / memory_of(c, last)
    s.facts[last + 1, DISCOUNT] = 1.0


@lean_kernel
def fade(s: State, clock: float) -> None:
    """Move the clock, and let what is remembered fade: the units grow."""
    rounds = clock - s.counters[CLOCK]
    s.counters[CLOCK] = clock
    last = int(s.counters[EXPERTS]) - 1
    s.facts[last, REMEMBERED] += rounds
    for j in range(last):
        gamma = s.facts[j, DISCOUNT]
        kept = gamma if rounds == 1.0 else gamma**rounds
        s.facts[j, REMEMBERED] = kept * s.facts[j, REMEMBERED] + (1.0 - kept) / (1.0 - gamma)
        if s.facts[j, UNIT] < LARGEST_UNIT * kept:
            s.facts[j, UNIT] /= kept
            continue
        factor = kept / s.facts[j, UNIT]
        shrink(s.grams[j], s.unweighted, s.moments[j], factor)
        s.facts[j, PENALTY] *= factor
        s.facts[j, UNIT] = 1.0
        s.facts[j, CHANGES] = -1.0


@lean_kernel
def pass_rounds(s: State, c: float, clock: float) -> None:
    """Move the clock, and split the last expert at each memory on the way."""
    last = int(s.counters[EXPERTS]) - 1
    while last + 1 < s.facts.shape[0] and memory_of(c, last) <= clock:
        fade(s, memory_of(c, last))
        split(s, c)
        last += 1
    if clock > s.counters[CLOCK]:
        fade(s, clock)


@lean_kernel
def restore(s: State, c: float) -> None:
    """Put λ_j back in place where c rounds have passed, and wherever an inverse is missing.

    Rank-one changes leave rounding behind, which rewards that come without rounds must not pile up.
    """
    for j in range(int(s.counters[EXPERTS])):
        faded = s.counters[CLOCK] - s.facts[j, RESTORED]
        if faded >= c or not 0.0 <= s.facts[j, CHANGES] <= 32.0 + c:
            invert(s, j)


def experts_at(c: float, clock: float) -> int:
    """How many experts there are when the clock stands at ``clock``."""
    born = sum(birth(c, j) <= clock for j in range(MOST_EXPERTS - 1))
    return 1 + born


def widened(state: State, dim: int) -> State:
    """``state`` with zeros along further coordinates, ``dim`` in all."""
    count, old = state.thetas.shape
    inverses = padded(state.inverses, count, dim, dim)
    new = np.arange(old, dim)
    born = int(state.counters[EXPERTS])
    inverses[:born, new, new] = 1.0 / state.facts[:born, PENALTY, None]
    return state._replace(
        grams=padded(state.grams, count, 2, dim, dim),
        moments=padded(state.moments, count, 2, dim),
        inverses=inverses,
        thetas=padded(state.thetas, count, dim),
        images=padded(state.images, count, dim),
        factor=np.zeros((dim, dim)),
    )


def initial_state(*, dim: int, ridge: float) -> State:
    """One expert that has seen nothing."""
    counters, facts = np.zeros(COUNTERS), np.zeros((1, FACTS))
    counters[EXPERTS], counters[VARIANCE], counters[RIDGE] = 1.0, 1.0, ridge
    counters[KURTOSIS] = NORMAL_KURTOSIS
    facts[0, [WEIGHT, UNIT, DISCOUNT]] = 1.0
    facts[0, PENALTY] = ridge
    return State(
        counters=counters,
        facts=facts,
        grams=np.zeros((1, 2, dim, dim)),
        moments=np.zeros((1, 2, dim)),
        inverses=np.eye(dim)[None] / ridge,
        thetas=np.zeros((1, dim)),
        images=np.zeros((1, dim)),
        copies=np.zeros((1, LOG, 2)),
        factor=np.zeros((dim, dim)),
        unweighted=np.zeros((2, 0, 0)),
        detections=np.zeros(0),
    )
