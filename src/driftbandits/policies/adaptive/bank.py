"""Discounted least squares, one expert per memory, in two banks that see rewards differently.

Expert j has memory m_j = 2c·4^j and discount γ_j = 1 − 1/m_j. The last expert never forgets. c is
the number of coordinates: d, unless more were added later. Each expert has

    V_j = Σ w_j(s) x_s x_sᵀ + Λ_j      θ_j(μ) = V_j⁻¹ (Σ w_j(s) y_s x_s − μ Σ w_j(s) x_s)

In the anchored bank x is the action, y the reward, and μ the level. In the centred bank x and y are
distances from running means (`driftbandits.policies.adaptive.level`), and there is no second sum.

A memory longer than the past forgets nothing. So a bank starts with the last expert alone, which
splits in two whenever the clock reaches the next memory. Also, an expert of shorter memory may
overwrite an expert. w_j(s) is known for every round s: before its birth at m_j an expert did not
forget, and before an overwriting it has the past of its source. So a late reward enters with the
weight that it would have now. This needs a log of the last overwritings.

The sums are compensated (`driftbandits.least_squares.sums`) and stored in a unit, as in
`driftbandits.least_squares.forgetting`: a passing round costs nothing. Rank-one changes keep V_j⁻¹
up to date while Λ_j fades with the data. From time to time V_j⁻¹ is computed afresh, with Λ_j
restored (`driftbandits.policies.adaptive.inverses`): O(d²) per round and expert. For two
coordinates, the operations on one expert are written out (`driftbandits.policies.adaptive.plane`).

Λ_j is diagonal, in units of each feature's mean square, so that no feature's scale matters. A
coordinate that was zero in all actions so far has no scale yet. V_j⁻¹ is zero there, and widths
add the bonus of a new coordinate separately.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import lean_kernel, rare_kernel
from ...core.linalg import copy, copy_matrix, inner, subtract, sum_rows
from ...least_squares.forgetting import LARGEST_UNIT
from ...least_squares.sums import accumulate, add_moment, shrink
from ..stateful import SMALLEST_BOUND
from .plane import absorb_in_plane, predict_in_plane
from .state import (
    CHANGES,
    COPIES,
    DISCOUNT,
    EVIDENCE,
    EXPERTS,
    LANES,
    LEVERAGE,
    LOG,
    MOST_EXPERTS,
    OBSERVATIONS,
    PRIOR,
    RATIO,
    RAW,
    REMEMBERED,
    RESTORED,
    SPREAD,
    UNIT,
    WEIGHT,
    State,
    birth,
)

_MEMORIES = np.array([birth(1.0, j) for j in range(MOST_EXPERTS)])


@lean_kernel
def memory_of(c: float, j: int) -> float:
    """m_j, like `birth`, but from a table: kernels need it several times per round."""
    return float(c * _MEMORIES[j])


@lean_kernel
def lanes_in_use(s: State) -> int:
    """Columns of ``forecasts`` to compute: J, rounded up to a multiple of LANES."""
    return (int(s.counters[EXPERTS]) + LANES - 1) // LANES * LANES


@lean_kernel
def features_per_action(s: State) -> float:
    """k̄, the mean number of coordinates of an action that are not zero; 1 at least."""
    present = 0.0
    for i in range(s.features.shape[1]):
        present += s.features[1, i]
    return float(max(1.0, present / max(1.0, s.counters[OBSERVATIONS])))


@lean_kernel
def prior_variance(s: State, ridge: float) -> float:
    """1/λ of a coordinate whose mean square is one: 1/(ridge · k̄ · σ̂²/ρ̂²).

    So predicted rewards have variance ρ̂²/ridge before anything is learned, for any d.
    """
    return float(1.0 / (ridge * features_per_action(s) * s.counters[RATIO]))


@lean_kernel
def is_zero(entry: float) -> bool:
    """Whether an entry of an action counts as zero: in units so small, V⁻¹ would overflow."""
    return bool(abs(entry) < SMALLEST_BOUND)


@lean_kernel
def notice(s: State, action: Array) -> None:
    """Count a reward, and update the features' scales; a new feature makes all inverses stale."""
    new = False
    s.counters[OBSERVATIONS] += 1.0
    for i in range(action.size):
        if not is_zero(action[i]):
            new = new or s.features[1, i] == 0.0
            s.features[0, i] += action[i] * action[i]
            s.features[1, i] += 1.0
    if new:
        for e in range(2 * int(s.counters[EXPERTS])):
            s.facts[e, CHANGES] = -1.0


@lean_kernel
def mean_square(s: State, i: int) -> float:
    """Mean square of feature i over actions in which it is not zero; 0 if there are none."""
    return float(s.features[0, i] / max(1.0, s.features[1, i]))


@lean_kernel
def predict(s: State, e: int, x: Array, y: float, held: float) -> None:
    """Predict a row by expert ``e`` before it learns the row: RAW, LEVERAGE, SPREAD and V⁻¹x.

    ``held`` is 1 if y includes the level, and 0 if not.
    """
    if x.size == 2:
        predict_in_plane(s, e, x, y, held)
        return
    image = s.images[e]
    sum_rows(x, s.inverses[e], image)  # V⁻¹ is symmetric
    forecast = s.forecasts[e & 1, :, e >> 1]
    forecast[RAW], forecast[LEVERAGE] = y - inner(s.thetas[e], x), held - inner(s.slopes[e], x)
    forecast[SPREAD] = max(inner(image, x), 0.0) * s.facts[e, UNIT]


@lean_kernel
def absorb(s: State, e: int, x: Array, y: float, weight: float, held: float) -> None:
    """Add to expert ``e`` the row that it has just predicted, with ``weight``."""
    if x.size == 2:
        absorb_in_plane(s, e, x, y, weight, held)
        return
    stored = weight * s.facts[e, UNIT]
    accumulate(s.grams[e], s.unweighted, s.moments[e], x, y, stored, 0.0, True)
    if held > 0.0:
        add_moment(s.offsets[e], x, 1.0, stored)
    forecast = s.forecasts[e & 1, :, e >> 1]
    image, gain = s.images[e], stored / (1.0 + weight * forecast[SPREAD])
    subtract(s.thetas[e], -gain * forecast[RAW], image)
    subtract(s.slopes[e], -gain * forecast[LEVERAGE], image)
    for i in range(x.size):
        subtract(s.inverses[e, i], gain * image[i], image)
    s.facts[e, CHANGES] += 1.0


@lean_kernel
def weight_of(s: State, c: float, e: int, age: float) -> float:
    """Present weight w of a round closed ``age`` rounds ago: follow the overwritings back to it.

    The weight is 0 if the log no longer reaches back to the round.
    """
    weight = 1.0
    reached = 0.0  # ``weight`` includes the discounts up to this age
    limit = -1.0  # overwritings of this age or younger are done
    while True:
        count = int(s.facts[e, COPIES])
        oldest = max(0, count - LOG)
        source, copied = -1, 0.0
        entry = count - 1
        while entry >= oldest:
            copied = s.counters[CLOCK] - s.copies[e, entry % LOG, 0]
            if copied > limit:
                if copied <= age:
                    source = int(s.copies[e, entry % LOG, 1])
                break
            entry -= 1
        if entry < oldest and oldest > 0:
            return 0.0
        # Before its birth an expert did not forget.
        born = max(s.counters[CLOCK] - memory_of(c, e // 2), reached)
        until = copied if source >= 0 else age
        weight *= s.facts[e, DISCOUNT] ** (min(until, born) - reached)
        if source < 0:
            return float(weight)
        reached = limit = copied
        e = source


@rare_kernel
def overwrite(s: State, e: int, source: int) -> None:
    """Restart expert ``e`` from the sums of expert ``source``, and log the overwriting."""
    for part in range(2):
        copy_matrix(s.grams[source, part], s.grams[e, part])
    copy_matrix(s.moments[source], s.moments[e])
    copy_matrix(s.offsets[source], s.offsets[e])
    copy_matrix(s.inverses[source], s.inverses[e])
    copy(s.thetas[source], s.thetas[e])
    copy(s.slopes[source], s.slopes[e])
    for fact in (UNIT, RESTORED, CHANGES, REMEMBERED):
        s.facts[e, fact] = s.facts[source, fact]
    s.facts[e, EVIDENCE] = 1.0
    place = int(s.facts[e, COPIES]) % LOG
    s.copies[e, place, 0] = s.counters[CLOCK]
    s.copies[e, place, 1] = source
    s.facts[e, COPIES] += 1.0


@rare_kernel
def set_priors(s: State, bank: int, never: float) -> None:
    """Set π: ``never`` for the last expert; the others share the rest as 1, ½, ⅓, …, longest first.

    Under slow drift, only a few long memories are better than the last expert. Many short memories
    must not take the weight from these few.
    """
    last = int(s.counters[EXPERTS]) - 1
    total = 0.0
    for j in range(last):
        total += 1.0 / (last - j)
    for j in range(last):
        s.facts[2 * j + bank, PRIOR] = (1.0 - never) / (total * (last - j))
    s.facts[2 * last + bank, PRIOR] = never


@rare_kernel
def split(s: State, c: float, never: float) -> None:
    """Split the last expert of each bank in two; the first of them forgets from now on.

    Until now both were one forecaster, so they share its weight in proportion to π.
    """
    j = int(s.counters[EXPERTS]) - 1
    s.counters[EXPERTS] += 1.0
    for bank in range(2):
        set_priors(s, bank, never)
        last, twin = 2 * j + bank, 2 * j + 2 + bank
        weight = s.facts[last, WEIGHT] / (s.facts[last, PRIOR] + s.facts[twin, PRIOR])
        s.facts[twin, COPIES] = 0.0
        overwrite(s, twin, last)
        s.facts[twin, EVIDENCE] = s.facts[last, EVIDENCE]
        s.facts[last, EVIDENCE] = 1.0
        s.facts[last, WEIGHT] = weight * s.facts[last, PRIOR]
        s.facts[twin, WEIGHT] = weight * s.facts[twin, PRIOR]
        s.facts[last, DISCOUNT] = 1.0 - 1.0 / memory_of(c, j)
        s.facts[twin, DISCOUNT] = 1.0


@lean_kernel
def fade(s: State, clock: float) -> None:
    """Move the clock without a split, and discount the sums: the units grow."""
    rounds = clock - s.counters[CLOCK]
    s.counters[CLOCK] = clock
    last = 2 * int(s.counters[EXPERTS]) - 2
    for e in range(last, last + 2):
        s.facts[e, REMEMBERED] += rounds
    for e in range(last):
        gamma = s.facts[e, DISCOUNT]
        kept, gained = gamma, 1.0
        if rounds != 1.0:
            kept = gamma**rounds
            gained = (1.0 - kept) / (1.0 - gamma)
        s.facts[e, REMEMBERED] = kept * s.facts[e, REMEMBERED] + gained
        if s.facts[e, UNIT] < LARGEST_UNIT * kept:
            s.facts[e, UNIT] /= kept
            continue
        factor = kept / s.facts[e, UNIT]
        shrink(s.grams[e], s.unweighted, s.moments[e], factor)
        for i in range(s.offsets.shape[2]):
            s.offsets[e, 0, i] *= factor
            s.offsets[e, 1, i] *= factor
        s.facts[e, UNIT] = 1.0
        s.facts[e, CHANGES] = -1.0


@lean_kernel
def pass_rounds(s: State, c: float, never: float, clock: float) -> None:
    """Move the clock to ``clock``, and split the last experts at each memory on the way."""
    last = int(s.counters[EXPERTS]) - 1
    while 2 * last + 2 < s.facts.shape[0] and memory_of(c, last) <= clock:
        fade(s, memory_of(c, last))
        split(s, c, never)
        last += 1
    if clock > s.counters[CLOCK]:
        fade(s, clock)
