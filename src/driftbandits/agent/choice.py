"""What an agent answers: which action to show, and how it was chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..core.arrays import Array


@dataclass(frozen=True)
class Choice:
    """A decision.

    Attributes:
        id: Name of the decision, for `Agent.reward`.
        action: Name of the action to show.
        propensity: Probability with which this action was shown.
        round: The policy's round that the reward belongs to.
        proposed: The most probable action. It is the choice of the policy's rule, unless the rule
            itself draws at random. ``action`` differs from it when the floor explored, and in
            shadow mode, where ``action`` is the baseline.
        actions: Names of the actions that could be shown, in the order given.
        scores: The policy's score of each of these actions, shape (K,).
        propensities: Probability with which the policy would have shown each of them, shape (K,).
        prediction: Reward that the policy expected of ``action``, in every 16th decision. None in
            all other decisions, and if the policy has no estimate.
    """

    id: str
    action: str
    propensity: float
    round: float
    proposed: str
    actions: tuple[str, ...] = field(repr=False)
    scores: Array = field(repr=False, compare=False)
    propensities: Array = field(repr=False, compare=False)
    prediction: float | None = field(repr=False)

    @cached_property
    def ranking(self) -> tuple[str, ...]:
        """All actions: the one to show, then the others from the best score down."""
        order = np.argsort(-self.scores, kind="stable").tolist()
        names = self.actions
        return (self.action, *(names[k] for k in order if names[k] != self.action))
