"""Audits: now and then an expert of shorter memory may try again what it has forgotten.

What nobody plays, nobody sees change. Where actions are fresh in every round, nothing is forgotten
in this sense, and audits cost nothing.
"""

from __future__ import annotations

import numpy as np

from ...core.clock import CLOCK
from ...core.compiling import lean_kernel
from .state import DISCOUNT, EXPERTS, GROWTH, RATIO, State

CYCLE = 2.0**20  # audits after which their places recur; squares stay exact
GOLDEN = 0.6180339887498949  # (√5 − 1)/2


@lean_kernel
def audit_place(s: State, every: float) -> float:
    """A number in [0, 1) that differs from audit to audit; 1 in rounds that are none.

    Of ``every`` rounds one is an audit. Which one follows the squares times the golden ratio, which
    keep no step with anything: what recurs at a regular pace is audited in all its phases. The
    multiples of the ratio fill the unit interval evenly, which is what the number is for.
    """
    period = np.floor(s.counters[CLOCK] / every)
    folded = period % CYCLE
    turned = folded * folded * GOLDEN
    place = np.floor(every * (turned - np.floor(turned)))
    if np.floor(s.counters[CLOCK]) != every * period + place:
        return 1.0
    even = folded * GOLDEN
    return float(even - np.floor(even))


@lean_kernel
def auditor(s: State, c: float, bank: int, place: float) -> int:
    """Row of the first expert of memory G^{¼ − v} (c n)^{2/3} √(σ̂/ρ̂) or more, v the ``place``.

    Memories are a factor G apart, v is spread evenly over [0, 1): the two around the formula take
    turns, and on average it is met.
    """
    last = int(s.counters[EXPERTS]) - 1
    rounds = s.counters[CLOCK] + 1.0
    memory = (c * rounds) ** (2.0 / 3.0) * s.counters[RATIO] ** 0.25 * GROWTH ** (0.25 - place)
    for j in range(last):
        if memory * (1.0 - s.facts[2 * j + bank, DISCOUNT]) <= 1.0:
            return 2 * j + bank
    return 2 * last + bank
