"""What a policy learns from a decision before and after its reward is known.

Three rules:

    assume   the default at once; a reward amends it
    wait     nothing; the reward when it comes, the default when the decision closes
    hold     nothing before the decision closes, even if a reward came; then the reward, or the
             default

One number per decision is enough for all three: ``learned``, the reward that the policy has
learned for it so far. If there is none, a new value is an update. Otherwise it is an amendment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ..policies import Policy
from .open_decisions import OpenDecision, Status

Rule = Literal["assume", "wait", "hold"]
Combine = Literal["sum", "last", "first"]

RULES: tuple[Rule, ...] = get_args(Rule)
COMBINES: tuple[Combine, ...] = get_args(Combine)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """The rule by which a policy learns from decisions.

    Attributes:
        rule: What it learns before the reward is known.
        default: The reward of a decision that never gets one; None to learn nothing then.
        combine: How to combine several rewards of one decision.
    """

    rule: Rule
    default: float | None
    combine: Combine

    def check(self, policy: Policy) -> None:
        """Refuse a policy that cannot follow the rule."""
        if self.rule == "assume" and self.default is None:
            raise ValueError("default must be given for rule assume, got None")
        reason = policy.refusal("amend")
        if self.rule != "hold" and reason:
            raise ValueError(
                f"rule must be hold for {type(policy).__name__}, which cannot amend rewards "
                f"({reason}), got {self.rule}"
            )

    def opened(self, policy: Policy, decision: OpenDecision) -> None:
        """Learn from a decision that was just made or activated."""
        if self.rule == "assume" and decision.activated:
            _learn(policy, decision, self.default)

    def rewarded(self, policy: Policy, decision: OpenDecision, value: float) -> Status:
        """Learn the reward of an open decision."""
        if not decision.activated:
            return "not_activated"
        if decision.reward is not None and self._adds_nothing(decision.reward, value):
            return "duplicate"
        summed = self.combine == "sum" and decision.reward is not None
        decision.reward = decision.reward + value if summed else value  # type: ignore[operator]
        if self.rule == "hold":
            return "held"
        _learn(policy, decision, decision.reward)
        return "learned"

    def closed(self, policy: Policy, decision: OpenDecision) -> None:
        """Learn from a decision that has just closed."""
        if decision.activated and decision.learned is None:
            _learn(policy, decision, self.default if decision.reward is None else decision.reward)

    def _adds_nothing(self, known: float, value: float) -> bool:
        return self.combine == "first" or (self.combine == "last" and known == value)


def _learn(policy: Policy, decision: OpenDecision, value: float | None) -> None:
    """Update or amend the policy so that it has learned ``value`` for a decision."""
    if value is None or value == decision.learned:
        return
    if decision.learned is None:
        policy.update(decision.row, value, round=decision.round)
    else:
        policy.amend(decision.row, round=decision.round, old=decision.learned, new=value)
    decision.learned = value
