"""The options of an agent, and the checks that they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..core.arrays import finite, one_of, positive, whole
from ..features import Features
from ..policies import Policy
from .learning import COMBINES, RULES, Combine, Learning, Rule

Mode = Literal["live", "shadow"]
MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """All arguments of `Agent` except ``features`` and ``policy``; see there."""

    wait: float
    default: float | None
    rule: Rule
    rewards: Combine
    mode: Mode
    round_length: float | None
    most_open: int
    remember: int

    def __post_init__(self) -> None:
        positive("wait", self.wait)
        one_of("rule", self.rule, RULES)
        one_of("rewards", self.rewards, COMBINES)
        one_of("mode", self.mode, MODES)
        whole("most_open", self.most_open, least=1)
        whole("remember", self.remember, least=0)
        if self.default is not None:
            finite("default", self.default)
        if self.round_length is not None:
            positive("round_length", self.round_length)
        object.__setattr__(self, "wait", float(self.wait))

    @property
    def learning(self) -> Learning:
        """What a policy learns from a decision before and after its reward is known."""
        return Learning(rule=self.rule, default=self.default, combine=self.rewards)

    def check_policy(self, policy: Policy, features: Features) -> None:
        """Refuse a policy that does not fit the vectors, or cannot follow the rule."""
        if not isinstance(policy, Policy):
            raise ValueError(
                f"policy must be a policy such as AdaptiveLinUCB(dim=…), got {policy!r}"
            )
        if policy.dim != features.dim:
            raise ValueError(f"policy must have dim = {features.dim}, got {policy.dim}")
        if policy.action_bound < features.bound:
            raise ValueError(
                f"policy must have action_bound of at least {features.bound}, the bound of the "
                f"features, got {policy.action_bound}"
            )
        self.learning.check(policy)

    def check_baseline(self, baseline: Any, names: Sequence[Any]) -> None:
        """Require a baseline in shadow mode, and refuse one in live mode."""
        if self.mode == "shadow" and baseline not in names:
            raise ValueError(
                f"baseline must be one of the actions in shadow mode, got {baseline!r}"
            )
        if self.mode == "live" and baseline is not None:
            raise ValueError(f"baseline must not be given in live mode, got {baseline!r}")
