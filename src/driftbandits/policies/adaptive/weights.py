"""How a bank of experts is judged: weights, the expert in force, and experts that must restart."""

from __future__ import annotations

from ...core.clock import CLOCK
from ...core.compiling import lean_kernel, rare_kernel
from .bank import overwrite
from .state import (
    DETECTIONS,
    ERROR,
    EVIDENCE,
    EXPERTS,
    LAW,
    MOVING,
    OBSERVATIONS,
    PRIOR,
    SCALE,
    WEIGHT,
    State,
)

MOST_EVIDENCE = 1e200  # bound on odds; larger odds would make no difference


@lean_kernel
def in_force(s: State, bank: int, share: float) -> int:
    """Row of the first expert at which the weights sum to ``share``, shorter memories first."""
    last = int(s.counters[EXPERTS]) - 1
    total = 0.0
    for j in range(last):
        total += s.facts[2 * j + bank, WEIGHT]
        if total >= share:
            return 2 * j + bank
    return 2 * last + bank


@lean_kernel
def bank_in_force(s: State) -> int:
    """CENTRED if the level moves, ANCHORED otherwise."""
    return int(s.counters[MOVING])


@lean_kernel
def residual_of(s: State, bank: int) -> float:
    """Σ w_j e_j² / scale_j: the squared errors of a bank, relative to their predicted variances."""
    errors, scales = s.forecasts[bank, ERROR], s.forecasts[bank, SCALE]
    total = 0.0
    for j in range(int(s.counters[EXPERTS])):
        total += s.facts[2 * j + bank, WEIGHT] * errors[j] ** 2 / scales[j]
    return total


@lean_kernel
def multiply_by_laws(s: State, bank: int) -> float:
    """Multiply weights by p = LAW, and update the odds G_j of shorter memories against expert j.

        G_j ← max(1, G_j Σ_{i<j} w_i p_i / (p_j Σ_{i<j} w_i))      w_j ← w_j p_j

    Returns the sum of the new weights.
    """
    laws = s.forecasts[bank, LAW]
    mixed = shorter = 0.0
    for j in range(int(s.counters[EXPERTS])):
        facts, law = s.facts[2 * j + bank], laws[j]
        if j > 0:
            odds = facts[EVIDENCE] * mixed / (shorter * law)
            facts[EVIDENCE] = min(MOST_EVIDENCE, max(1.0, odds))
        shorter += facts[WEIGHT]
        facts[WEIGHT] *= law
        mixed += facts[WEIGHT]
    return mixed


@lean_kernel
def judge(s: State, bank: int) -> float:
    """Update weights, by Bayes' rule with fixed share, and odds.

    Returns the bank's predictive density, in units of its laws.
    """
    mixed, share = multiply_by_laws(s, bank), 1.0 / s.counters[OBSERVATIONS]
    kept = (1.0 - share) / mixed
    for j in range(int(s.counters[EXPERTS])):
        facts = s.facts[2 * j + bank]
        facts[WEIGHT] = kept * facts[WEIGHT] + share * facts[PRIOR]
    return mixed


@lean_kernel
def any_refuted(s: State, odds: float) -> bool:
    """Whether the odds against any expert exceed ``odds``."""
    most = 0.0
    for e in range(2, 2 * int(s.counters[EXPERTS])):
        most = max(most, s.facts[e, EVIDENCE])
    return bool(most > odds)


@rare_kernel
def replace_refuted(s: State, odds: float) -> None:
    """Overwrite every refuted expert by the heaviest expert of shorter memory in its bank."""
    last = int(s.counters[EXPERTS]) - 1
    for bank in range(2):
        for j in range(last, 0, -1):
            if s.facts[2 * j + bank, EVIDENCE] > odds:
                heaviest = bank
                for i in range(1, j):
                    if s.facts[2 * i + bank, WEIGHT] > s.facts[heaviest, WEIGHT]:
                        heaviest = 2 * i + bank
                overwrite(s, 2 * j + bank, heaviest)
                if j == last and bank == bank_in_force(s):
                    s.detections[int(s.counters[DETECTIONS])] = s.counters[CLOCK] - 1.0
                    s.counters[DETECTIONS] += 1.0
