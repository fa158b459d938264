"""Who plays on the leaderboard: every registered policy, and every fixed discount in hindsight."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..environments import Environment
from ..policies import DLinUCB, LinUCB, Policy, Problem, Random

# Fields of a problem that are facts of the environment, and what tables call them. The others are
# choices (ridge, delta) or seen by looking (dim, action_bound).
FACTS = {
    "budget": "B",
    "horizon": "T",
    "change_points": "change points",
    "noise": "σ",
    "theta_bound": "S",
}
# Those that say something of the drift.
DRIFT = ("B", "T", "change points")

NO_FORGETTING = "D-LinUCB, no forgetting"
RADII = (0.05, 0.2, 0.5)  # shares of the theorem's radius, which is cautious
_SHORTEST, _RATIO = 10.0, math.sqrt(2.0)


class RecordingProblem(Problem):
    """A problem that remembers which of its facts were read: what a policy had to be told.

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
        """The facts that were read, as tables call them."""
        read = vars(self).get("_read", set())
        return tuple(name for field, name in FACTS.items() if field in read)


@dataclass(frozen=True, kw_only=True)
class Competitor:
    """A policy on the leaderboard.

    Attributes:
        label: Its name.
        told: Facts of the environment that its tuning reads.
        policy: The policy at its tuning, or None where it cannot play.
        reason: Why not.
    """

    label: str
    told: tuple[str, ...]
    policy: Policy | None = None
    reason: str = ""


def enter(
    label: str, policy: type[Policy], environment: Environment, problem: Problem
) -> Competitor:
    """A registered policy at its documented tuning for a problem."""
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

    Fewer rounds than 5d say little about d parameters; beyond 2T hardly anything is forgotten.
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
    """Every other one of `fixed_discounts`, with each of `RADII` of its radius.

    The best of these and of `fixed_discounts`, in hindsight, is D-LinUCB "tuned twice": its memory
    and its radius are chosen by the regret. A radius is scaled through σ and S, which it is
    proportional to.
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
    """What tables call D-LinUCB with this memory, in rounds."""
    return f"D-LinUCB, memory {memory:.0f}"


def reference(problem: Problem) -> Mapping[str, Policy]:
    """What all are measured by: fixed discounts, smaller radii, and playing at random."""
    chance = {Random.label: Random.tuned(problem)}
    return {**fixed_discounts(problem), **scaled_radii(problem), **chance}
