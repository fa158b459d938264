"""Audits: from time to time, an expert of shorter memory may retry an action that it has forgotten.

If an action is never played, its changes stay unseen. If actions are new in every round, no action
is forgotten in this sense, and audits cost nothing.
"""

from __future__ import annotations

import numpy as np

from ...core.clock import CLOCK
from ...core.compiling import lean_kernel
from .state import DISCOUNT, EXPERTS, GROWTH, RATIO, State

CYCLE = 2.0**20  # places repeat after this many audits, so that squares stay exact
GOLDEN = 0.6180339887498949  # (√5 − 1)/2


@lean_kernel
def audit_place(s: State, every: float) -> float:
    """A number in [0, 1) that differs from audit to audit; 1 if this round is no audit.

    One of ``every`` rounds is an audit. In the k-th such period, its position is
    ⌊every · frac(φk²)⌋, with the golden ratio φ = (√5 − 1)/2. These positions follow no regular
    pattern, so anything that recurs regularly is audited in all its phases. The number returned is
    frac(φk). These numbers fill [0, 1) evenly, as `auditor` needs.
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
    """Row of the first expert with memory G^{¼ − v} (c n)^{2/3} √(σ̂/ρ̂) or more, v = ``place``.

    Memories are a factor G = GROWTH apart, and v is spread evenly over [0, 1). So the two experts
    around (c n)^{2/3} √(σ̂/ρ̂) take turns.
    """
    last = int(s.counters[EXPERTS]) - 1
    rounds = s.counters[CLOCK] + 1.0
    memory = (c * rounds) ** (2.0 / 3.0) * s.counters[RATIO] ** 0.25 * GROWTH ** (0.25 - place)
    for j in range(last):
        if memory * (1.0 - s.facts[2 * j + bank, DISCOUNT]) <= 1.0:
            return 2 * j + bank
    return 2 * last + bank
