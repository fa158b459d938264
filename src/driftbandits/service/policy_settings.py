"""The settings of a hosted policy, as a frozen value for JSON, TOML and the journal."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Literal, Self

import msgspec

from ..agent import Agent
from ..core.checks import LARGEST_REWARD
from ..core.entry_points import certain
from ..features import FeatureError, Features
from ..policies import Policy, registered
from .errors import BadSettings

Mode = Literal["live", "shadow"]
Rule = Literal["assume", "wait", "hold"]
Rewards = Literal["first", "last", "sum"]

# Arguments of the learner that `PolicySettings` sets, so that `config` must not.
_OWN = ("dim", "action_bound", "floor", "seed")


class PolicySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a hosted policy.

    Attributes:
        features: Declaration of features as `driftbandits.features.Features.from_dict` reads it.
            None hashes everything, and crosses the context with the action.
        learner: The policy that chooses and learns: its label (``D-LinUCB``) or its class name.
        config: Its arguments, such as ``gamma``; not dim, action_bound, floor or seed.
        wait: Seconds after which a decision closes.
        default: Reward of a decision that closes without one. None learns nothing from it.
        rule: What is learned before a reward is known: "assume" the default, "wait", or "hold"
            everything until the decision closes.
        rewards: How several rewards of one decision combine. "first" refuses another value.
            "last" replaces the value. "sum" adds every reward, equal values too.
        floor: Probability with which a random action replaces the learner's choice. All
            propensities are then at least floor/K.
        mode: "live", or "shadow" to show a baseline and learn from its rewards.
        round_length: Seconds per round of the learner, to forget by time. None makes every
            decision one round, to forget by number of decisions.
        most_open: Largest number of open decisions. Beyond it the oldest one closes, as if its wait
            were over.
        most_actions: Largest number of actions with their own coordinates, if features have
            blocks per action. Each action costs memory and time, and clients choose the ids.
        remember: Number of closed decisions whose ids are still known.
        seed: Seed of the random numbers.
    """

    features: dict[str, Any] | None = None
    learner: str = "AdaptiveLinUCB"
    config: dict[str, Any] = {}
    wait: float = 1800.0
    default: float | None = 0.0
    rule: Rule = "assume"
    rewards: Rewards = "first"
    floor: float = 0.05
    mode: Mode = "live"
    round_length: float | None = None
    most_open: int = 1_000_000
    most_actions: int = 1000
    remember: int = 100_000
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON values, with all defaults."""
        return {name: getattr(self, name) for name in self.__struct_fields__}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The settings from a table; an error names the key."""
        try:
            settings = msgspec.convert(dict(content), cls)
        except msgspec.ValidationError as error:
            raise BadSettings(str(error)) from None
        settings.check()
        return settings

    def check(self) -> None:
        """Raise `BadSettings` with the key and the rule if the settings are wrong."""
        self.agent()

    def declaration(self) -> Features:
        """The declaration of features."""
        if self.features is None:
            return Features.hashed(context=8, action=8)
        try:
            return Features.from_dict(self.features)
        except (FeatureError, ValueError, TypeError) as error:
            raise BadSettings(f"features: {error}") from None

    def agent(self) -> Agent:
        """An agent that has seen nothing."""
        for name in ("remember", "most_actions"):
            if getattr(self, name) < 1:
                raise BadSettings(
                    f"{name} must be an integer of at least 1, got {getattr(self, name)}"
                )
        if self.default is not None and not abs(self.default) <= LARGEST_REWARD:
            raise BadSettings(
                f"default must be at most {LARGEST_REWARD:g} in size, got {self.default!r}"
            )
        features = self.declaration()
        policy = self._policy(features)
        try:
            return Agent(features=features, policy=policy, **self.agent_options())
        except ValueError as error:
            raise BadSettings(str(error)) from None

    def agent_options(self) -> dict[str, Any]:
        """The arguments of `Agent` besides features and policy."""
        names = ("wait", "default", "rule", "rewards", "mode", "round_length", "most_open")
        # The house itself remembers closed decisions.
        return {name: getattr(self, name) for name in names} | {"remember": 0}

    def learns_alike(self, other: PolicySettings) -> bool:
        """Whether a learner with the other settings can continue with these."""
        same = ("features", "learner", "config", "seed")
        return all(getattr(self, name) == getattr(other, name) for name in same)

    def _policy(self, features: Features) -> Policy:
        kind = learner_class(self.learner)
        given = [name for name in _OWN if name in self.config]
        if given:
            raise BadSettings(f"config must not have {given[0]}, which the service sets")
        self._check_config(kind)
        if self.floor == 0 and not draws_nothing(kind):
            raise BadSettings(
                f"floor must be above 0 for {kind.label}, which draws at random, so that the "
                "probability of every action is known; got 0"
            )
        try:
            return kind(
                dim=features.dim,
                action_bound=features.bound,
                floor=self.floor,
                seed=self.seed,
                **self.config,
            )
        except (ValueError, TypeError) as error:
            raise BadSettings(f"config: {error}") from None

    def _check_config(self, kind: type[Policy]) -> None:
        """Refuse unknown and missing arguments of the learner."""
        takes = {
            name: parameter.default is parameter.empty
            for name, parameter in inspect.signature(kind).parameters.items()
            if name not in _OWN
        }
        unknown = [name for name in self.config if name not in takes]
        if unknown:
            raise BadSettings(
                f"config: {kind.label} has no setting {unknown[0]!r}; it takes {', '.join(takes)}"
            )
        lacking = [name for name, needed in takes.items() if needed and name not in self.config]
        if lacking:
            raise BadSettings(f"config must have {lacking[0]}, which {kind.label} needs")


def draws_nothing(kind: type[Policy]) -> bool:
    """Whether a policy, without its floor, chooses without randomness."""
    return kind.kernels.propensities is certain


def learner_class(name: str) -> type[Policy]:
    """The policy class with a label or a class name."""
    offered = registered()
    by_name = {kind.__name__: kind for kind in offered.values()} | offered
    if name not in by_name:
        raise BadSettings(f"learner must be one of {', '.join(offered)}, got {name!r}")
    return by_name[name]
