"""D-LinUCB as the published figures were made: for the reproduction, not for use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .._compile import inline_kernel
from ..arrays import Array
from ..memory import UNIT
from ..policies import DLinUCB
from ..policies import weighted as family
from ..policies.kernels import Kernels, never_misses


@inline_kernel
def learn(p: family.Parameters, s: family.State, action: Array, reward: float, age: float) -> None:
    """Ṽ ← γ² V + a aᵀ + (1 − γ²) λI with the *new* V, where Algorithm 1 has the old Ṽ."""
    family.learn(p, s, action, reward, age)
    unit = s.counters[UNIT]
    for i in range(action.size):
        for j in range(i, action.size):
            fading = p.gamma * p.gamma * s.gram[0, i, j]
            s.gram_squared[0, i, j] = unit * (fading + unit * action[i] * action[j])
            s.gram_squared[1, i, j] = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class DLinUCBAsPublished(DLinUCB):
    """The recursion of the authors' released code, which is not Algorithm 1.

    Ṽ then stays close to V and the widths come out too large. It has no meaning for late rewards,
    and no confidence set to check.
    """

    label: ClassVar[str] = "D-LinUCB (as published)"
    summary: ClassVar[str] = "the recursion behind the published figures"
    kernels: ClassVar[Kernels] = family.WEIGHTED._replace(
        name="as_published", learn=learn, misses=never_misses
    )
