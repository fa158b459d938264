"""The players of the leaderboard: all registered policies, and D-LinUCB on grids of settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..environments import Environment
from ..policies import DLinUCB, LinUCB, Policy, Problem, Random

# Fields of a problem that are facts of the environment, and their symbols in tables. The other
# fields are choices (ridge, delta) or visible in the actions (dim, action_bound).
FACTS = {
    "budget": "B",
    "horizon": "T",
    "change_points": "change points",
    "noise": "σ",
    "theta_bound": "S",
}
# The facts about the drift.
DRIFT = ("B", "T", "change points")

NO_FORGETTING = "D-LinUCB, no forgetting"
RADII = (0.05, 0.2, 0.5)  # fractions of the theorem's radius, which is cautious
_SHORTEST, _RATIO = 10.0, math.sqrt(2.0)


class RecordingProblem(Problem):
    """A problem that remembers which of its facts were read, so which facts a policy needs.

    Examples:
        >>> from driftbandits import DLinUCB
        >>> problem = RecordingProblem(dim=2, horizon=100, budget=1.0)
        >>> policy = DLinUCB.tuned(problem)
        >>> problem.told
        ('B', 'T', 'σ', 'S')
    """

    def __getattribute__(self, name: str) -> Any:
        if name in FACTS:
            vars(self).setdefault("_read", set()).add(name)
        return super().__getattribute__(name)

    @property
    def told(self) -> tuple[str, ...]:
        """The facts that were read, by their symbols in tables."""
        read = vars(self).get("_read", set())
        return tuple(name for field, name in FACTS.items() if field in read)


@dataclass(frozen=True, kw_only=True)
class Competitor:
    """A policy on the leaderboard.

    Attributes:
        label: Its name.
        told: Facts of the environment that its tuning reads.
        policy: The tuned policy, or None if it cannot play.
        reason: Why it cannot play.
    """

    label: str
    told: tuple[str, ...]
    policy: Policy | None = None
    reason: str = ""


def enter(
    label: str, policy: type[Policy], environment: Environment, problem: Problem
) -> Competitor:
    """A registered policy with its documented tuning for a problem."""
    recording = RecordingProblem(**asdict(problem))
    try:
        tuned = policy.tuned(recording)
    except ValueError as error:
        return Competitor(label=label, told=recording.told, reason=str(error))
    gradual = problem.budget > 0 and not environment.change_points
    if "change points" in recording.told and gradual:
        reason = "it has to be told change points, and gradual drift has none"
        return Competitor(label=label, told=recording.told, reason=reason)
    return Competitor(label=label, told=recording.told, policy=tuned)


def fixed_discounts(problem: Problem) -> dict[str, Policy]:
    """D-LinUCB with memories 1/(1 − γ) of 10 · 2^{k/2} rounds, from 5d to 2T, and LinUCB.

    Fewer than 5d rounds tell little about d parameters. With a memory beyond 2T hardly anything is
    forgotten.
    """
    options = problem.common()
    policies: dict[str, Policy] = {}
    memory = _SHORTEST
    while memory <= 2 * problem.horizon:
        if memory >= 5 * problem.dim:
            policies[memory_label(memory)] = DLinUCB(gamma=1 - 1 / memory, **options)
        memory *= _RATIO
    return {**policies, NO_FORGETTING: LinUCB(**options)}


def scaled_radii(problem: Problem) -> dict[str, Policy]:
    """Every second policy of `fixed_discounts`, with its radius multiplied by each of `RADII`.

    The best policy in hindsight among these and `fixed_discounts` is D-LinUCB "tuned twice": the
    regret chooses its memory and its radius. The radius is proportional to σ and S, so they are
    scaled instead.
    """
    policies: dict[str, Policy] = {}
    for share in RADII:
        scaled = replace(
            problem, noise=share * problem.noise, theta_bound=share * problem.theta_bound
        )
        for label, policy in list(fixed_discounts(scaled).items())[::-2]:
            policies[f"{label}, {share} of the radius"] = policy
    return policies


def memory_label(memory: float) -> str:
    """The label in tables of D-LinUCB with this memory, in rounds."""
    return f"D-LinUCB, memory {memory:.0f}"


def reference(problem: Problem) -> Mapping[str, Policy]:
    """The reference policies: fixed discounts, smaller radii, and random play."""
    chance = {Random.label: Random.tuned(problem)}
    return {**fixed_discounts(problem), **scaled_radii(problem), **chance}
