"""D-LinUCB as in the code behind the published figures: for reproduction, not for use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..policies import DLinUCB
from ..policies.weighted.state import Parameters


@dataclass(frozen=True, kw_only=True, eq=False)
class DLinUCBAsPublished(DLinUCB):
    """The recursion of the authors' released code, which is not Algorithm 1.

        Ṽ ← γ² V + a aᵀ + (1 − γ²) λI      with the new V, where Algorithm 1 has the old Ṽ

    Ṽ then stays close to V, and the widths are too large. The recursion is not defined for late
    rewards, and has no confidence set to check.
    """

    label: ClassVar[str] = "D-LinUCB (as published)"
    summary: ClassVar[str] = "the recursion behind the published figures"

    @property
    def checks_coverage(self) -> bool:
        """False: the ellipsoid is not the one of Theorem 1."""
        return False

    def _make_parameters(self) -> Parameters:
        return super()._make_parameters()._replace(released=1.0)
