"""What a round and its reward change: judge, learn, forget, and restart refuted experts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import lean_kernel
from ...core.elementary import exp, log
from .amending import change_noise, change_reward, forget_along, predict_again
from .awaited import await_rewards, note_arrival, note_choice
from .bank import (
    absorb,
    memory_of,
    notice,
    pass_rounds,
    predict,
    prior_variance,
    weight_of,
)
from .inverses import invert, mend, restore
from .jumps import keep_differences, notice_jump
from .level import (
    apply_level,
    centre,
    learn_level,
    level_of,
    loosen,
    predict_by_means,
    seen_by,
    track,
    weigh_banks,
    weigh_trackers,
)
from .means import add_to_means, any_mean
from .noise import (
    any_variation,
    count_residual,
    count_reward,
    estimate_variance,
    measure_ratio,
    write_laws,
)
from .state import (
    ANCHORED,
    BEHIND,
    CENTRED,
    DETECTIONS,
    DISCOUNT,
    ERROR,
    EXPERTS,
    INFLATION,
    LEAN,
    MOST_EXPERTS,
    OBSERVATIONS,
    ORIGIN,
    SPREAD,
    State,
)
from .weights import any_refuted, bank_in_force, in_force, judge, replace_refuted, residual_of

# A rank-one change of V⁻¹ loses as many digits as w xᵀV⁻¹x has. Above this, V⁻¹ is computed afresh:
# for example, after a feature that was tiny has become large.
MOST_SPREAD = 1e6


class Parameters(NamedTuple):
    """The configuration in the form that kernels read: floats only."""

    coordinates: float
    provisional: float  # 1: rewards are judged when they are settled
    known: float  # 1: the noise level is given; 0: it is estimated
    exploration: float
    share: float
    never: float
    ridge: float
    conviction: float
    doubt: float
    jump: float
    audit_every: float
    audit_radius: float
    curiosity: float
    false_alarms: float
    noise_memory: float
    tail_memory: float
    temperature: float  # of random choices; 0: choices are not random


@lean_kernel
def predict_all(s: State, banks: int, reward: float) -> float:
    """Let every expert predict the reward; returns `mixed_residual`."""
    for bank in range(banks):
        y = seen_by(s, bank, reward)
        for j in range(int(s.counters[EXPERTS])):
            predict(s, 2 * j + bank, s.rows[bank], y, 1.0 - bank)
        apply_level(s, bank)
    return mixed_residual(s, banks)


@lean_kernel
def mixed_residual(s: State, banks: int) -> float:
    """Squared errors, each divided by its SCALE, averaged over experts by weight and evidence."""
    residual = residual_of(s, ANCHORED)
    if banks == 2:
        share = 1.0 / (1.0 + exp(-s.counters[LEAN]))
        residual += share * (residual_of(s, CENTRED) - residual)
    return residual


@lean_kernel
def was_above(p: Parameters, s: State, banks: int) -> bool:
    """Whether the last reward was above the prediction of the expert that is now in force."""
    bank = min(bank_in_force(s), banks - 1)
    return bool(s.forecasts[bank, ERROR, in_force(s, bank, p.share) // 2] > 0.0)


@lean_kernel
def judge_all(
    p: Parameters, s: State, banks: int, action: Array, reward: float, newest: bool
) -> None:
    """Update the weights of experts, running means and banks by how well they predicted.

    ``newest`` says that no reward of a later round has come.
    """
    if banks == 2:
        predict_by_means(s, action, reward)
    gained = write_laws(s)
    anchored = judge(s, ANCHORED)
    if banks == 2:
        weigh_trackers(s, newest)
        ratio = judge(s, CENTRED) / (anchored * np.sqrt(s.counters[INFLATION]))
        weigh_banks(s, gained + log(ratio), p.conviction, p.doubt)


@lean_kernel
def learn(p: Parameters, s: State, action: Array, reward: float, age: float) -> None:
    """Judge the experts by their predictions, then let all of them learn the reward."""
    if s.counters[OBSERVATIONS] == 0.0:
        s.counters[ORIGIN] = reward
    note_arrival(s, age, p.noise_memory)
    notice(s, action)
    mend(s, p.coordinates, p.ridge)
    if p.provisional == 0.0:
        notice_jump(s, action, reward, age, p.jump)
    banks = 2 if centre(s, action, age) else 1
    residual = predict_all(s, banks, reward)
    settled, known = p.provisional == 0.0, p.known > 0.0
    if settled and any_variation(s):
        judge_all(p, s, banks, action, reward, s.counters[BEHIND] == 0.0)
    count_reward(s, reward, p.noise_memory)
    if settled:
        above = was_above(p, s, banks)
        count_residual(s, p.coordinates, residual, above, p.noise_memory, p.tail_memory, known)
    else:
        estimate_variance(s, p.coordinates, known)
    bank, anchored = bank_in_force(s), in_force(s, ANCHORED, p.share)
    x = anchored if bank == ANCHORED else in_force(s, CENTRED, p.share)
    measure_ratio(s, x, level_of(s, bank))
    learn_level(s, anchored)
    loosen(s)
    keep_differences(s)
    for bank in range(banks):
        y = seen_by(s, bank, reward)
        for j in range(int(s.counters[EXPERTS])):
            e = 2 * j + bank
            weight = 1.0 if age == 0.0 else weight_of(s, p.coordinates, e, age)
            absorb(s, e, s.rows[bank], y, weight, 1.0 - bank)
            if weight * s.forecasts[bank, SPREAD, j] > MOST_SPREAD:
                invert(s, e, prior_variance(s, p.ridge))
    track(s, action, reward, age)


@lean_kernel
def expect(p: Parameters, s: State, columns: Array, k: int) -> None:
    """Note that column ``k`` was chosen for the open round."""
    note_choice(s, columns, k)


@lean_kernel
def advance(p: Parameters, s: State, rounds: float) -> None:
    """Close ``rounds`` rounds and forget; when the open round closes, restart refuted experts."""
    x = in_force(s, bank_in_force(s), p.share)
    await_rewards(s, rounds, s.facts[x, DISCOUNT])
    clock = s.counters[CLOCK]
    end, closing = clock + rounds, np.floor(clock) + 1.0
    odds = closing / p.false_alarms
    if closing <= end and any_refuted(s, odds):
        pass_rounds(s, p.coordinates, p.never, closing)
        replace_refuted(s, odds)
    pass_rounds(s, p.coordinates, p.never, end)
    restore(s, p.coordinates, p.ridge)


@lean_kernel
def fits(p: Parameters, s: State, rounds: float) -> bool:
    """Whether there is room for the experts born in ``rounds`` rounds, and for a detection."""
    count, clock = s.facts.shape[0] // 2, s.counters[CLOCK] + rounds
    born = count < MOST_EXPERTS and clock >= memory_of(p.coordinates, count - 1)
    return bool(not born and s.counters[DETECTIONS] < s.detections.size)


@lean_kernel
def settle(p: Parameters, s: State, action: Array, reward: float, age: float) -> None:
    """Judge the experts by a reward that was provisional, as if they had not learned it."""
    add_to_means(s, action, reward, age, -1.0)
    banks = 2 if any_mean(s) else 1
    predict_again(s, p.coordinates, action, reward, age)
    residual = mixed_residual(s, banks)
    if any_variation(s):
        judge_all(p, s, banks, action, reward, False)
    add_to_means(s, action, reward, age, 1.0)
    above, known = was_above(p, s, banks), p.known > 0.0
    count_residual(s, p.coordinates, residual, above, p.noise_memory, p.tail_memory, known)


@lean_kernel
def amend(p: Parameters, s: State, action: Array, old: float, new: float, age: float) -> bool:
    """Replace ``old`` by ``new`` in all sums, and judge by ``new`` instead of ``old``.

    A provisional reward judges the experts only when ``old`` = ``new``, which settles it.
    """
    if p.provisional > 0.0 and old == new:
        settle(p, s, action, new, age)
        return True
    if s.counters[OBSERVATIONS] == 1.0 and s.counters[ORIGIN] == old:
        s.counters[ORIGIN] = new  # sums hold rewards minus the first one: they are still zero
        return True
    x, judged = in_force(s, ANCHORED, p.share), p.provisional == 0.0
    gained = change_reward(s, p.coordinates, x, action, old, new, age, judged)
    keep_differences(s)
    if not judged:
        gained = 0.0
    change_noise(
        s,
        p.coordinates,
        old,
        new,
        gained,
        age,
        p.noise_memory,
        p.tail_memory,
        p.known > 0.0,
    )
    bank = bank_in_force(s)
    measure_ratio(s, in_force(s, bank, p.share), level_of(s, bank))
    return True


@lean_kernel
def forget(p: Parameters, s: State, mask: Array) -> None:
    """Clear the sums along the coordinates of ``mask``."""
    forget_along(s, mask)
    keep_differences(s)
