"""Make every compiled call of an agent or a service once, to fill the cache of an image."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from ..core.arrays import Array
from ..events import Decide, Learn
from ..features import Features, Number, OneHot, PerAction
from ..policies import Policy
from ..policies.problem import Problem
from .agent import Agent
from .learning import Rule

_FEATURES = Features(
    context={"hour": Number(12.0, 12.0), "country": OneHot(["FR", "DE"])},
    action={"kind": OneHot(["new", "old"])},
    per_action=PerAction(slots=2),
)
_ACTIONS = {"a": {"kind": "new"}, "b": {"kind": "old"}}
_CONTEXT = {"hour": 12.0, "country": "FR"}


def compile_calls(kind: type[Policy]) -> None:
    """Compile or load every function that the policy ``kind`` and its agent call.

    One dimension is enough: the compiled code serves all dimensions.
    """
    policy = kind.tuned(Problem(dim=_FEATURES.dim, horizon=1000, budget=1.0))
    actions = np.eye(policy.dim)
    _decide_and_learn(policy.copy(), actions)
    _look_at(policy.copy(), actions)
    _lead_agent(policy.copy())


def _decide_and_learn(policy: Policy, actions: Array) -> None:
    """Choose, learn and forget in every possible way."""
    chosen = policy.select(actions)
    policy.update(actions[chosen], 0.5)
    policy.update(actions[:2], [0.5, 0.4])
    decision = policy.decide(actions)
    policy.update(actions[decision.index], 0.3, round=decision.round)
    policy.advance()
    if not policy.refusal("amend"):
        policy.amend(actions[decision.index], round=decision.round, old=0.3, new=0.2)
    if not policy.refusal("forget"):
        policy.forget([0])
    policy.replay([Decide(actions), Learn(actions[0], 0.5, round=1)])


def _look_at(policy: Policy, actions: Array) -> None:
    """Read every property and call every query that the policy has."""
    policy.update(actions[0], 0.5)
    for name in ("theta", "radius"):
        getattr(policy, name, None)
    scores = () if policy.refusal("scores") else ("scores",)
    for name in ("widths", "propensities", *scores):
        if hasattr(policy, name):
            getattr(policy, name)(actions)
            getattr(policy, name)(actions[:2])  # of two actions, some know more


def _lead_agent(policy: Policy) -> None:
    """Call every method of an agent that calls its policy."""
    rule: Rule = "hold" if policy.refusal("amend") else "assume"
    agent = Agent(features=_FEATURES, policy=policy, wait=10.0, rule=rule)
    choice = agent.decide(_CONTEXT, _ACTIONS, now=0.0)
    agent.reward(choice.id, 1.0, now=1.0)
    agent.page(_CONTEXT, _ACTIONS, places=2, now=2.0)
    agent.expire(now=20.0)
    if hasattr(policy, "theta"):
        agent.explain()
    if not policy.refusal("forget"):
        agent.remove(["a"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.npz"
        agent.save(path)
        Agent.load(path)
