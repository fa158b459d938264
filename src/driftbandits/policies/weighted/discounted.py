"""What the policies that discount have in common: the discount, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...theory import tuning as rules
from ..budgeted import Budgeted
from .family import WeightedEstimate


@dataclass(frozen=True, kw_only=True, eq=False)
class Discounted(Budgeted, WeightedEstimate):
    """A policy of the weighted family that forgets by a discount.

    Attributes:
        gamma: Discount γ in (0, 1), what a weight keeps in a round. `from_budget` takes it from
            `driftbandits.theory.tuning.discount`.
    """

    gamma: float

    @classmethod
    def _memory_for(cls, **known: Any) -> dict[str, Any]:
        return {"gamma": rules.discount(**known)}

    def _validate(self) -> None:
        super()._validate()
        self._check_discount(self.gamma)
