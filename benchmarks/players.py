"""Other libraries behind a common interface: ``select(actions)`` and ``update(action, reward)``.

Each library is used through its documented interface. It is imported only when it is used, so that
a missing library only adds a note to the table.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np

from .measure import Array


class Player(Protocol):
    """The common interface."""

    def select(self, actions: Array) -> int:
        """Index of the action to play, from ``actions`` (K, d)."""

    def update(self, action: Array, reward: float) -> None:
        """Learn the reward of the action (d,) that was played."""


class Library(NamedTuple):
    """A package on PyPI, the settings to try, and a note about what it does."""

    package: str
    make: Callable[..., Player]
    settings: tuple[dict[str, Any], ...]
    work: str
    tuning: int = 2  # replications to compare the settings on; more if results vary much


class VowpalWabbit:
    """cb_explore_adf. A set is parsed once; the played line gets a label and is learned."""

    def __init__(self, *, arguments: str, seed: int = 0) -> None:
        library = import_module("vowpalwabbit")
        fixed = f"--cb_explore_adf --quiet --noconstant --random_seed {seed}"
        self.workspace = library.Workspace(f"{fixed} {arguments}")
        self.label_type = library.LabelType.CONTEXTUAL_BANDIT
        self.rng = np.random.default_rng(seed)

    def select(self, actions: Array) -> int:
        """Sample from the predicted probabilities."""
        lines = [
            "|a " + " ".join(f"{i}:{value:.6g}" for i, value in enumerate(row))
            for row in actions.tolist()
        ]
        self.examples = self.workspace.parse(lines, self.label_type)
        self.probabilities = self.workspace.predict(self.examples)
        cumulated = np.cumsum(self.probabilities)
        self.chosen = int(np.searchsorted(cumulated, self.rng.random() * cumulated[-1]))
        return self.chosen

    def update(self, action: Array, reward: float) -> None:
        """Learn the cost −reward with the probability of the chosen action."""
        label = f"0:{-reward:.6g}:{self.probabilities[self.chosen]:.6g}"
        self.examples[self.chosen].set_label_string(label)
        self.workspace.learn(self.examples)
        self.workspace.finish_example(self.examples)


class Gittins:
    """Hashed features, a forgetful diagonal model, ε-greedy; in Rust."""

    def __init__(self, *, forgetfulness: float, epsilon: float) -> None:
        self.library = import_module("gittins")
        self.state = self.library.create(
            bits=8, horizon=10.0, epsilon=epsilon, forgetfulness=forgetfulness
        )
        self.names: list[str] = []
        self.round = 0.0

    def select(self, actions: Array) -> int:
        """Decide; all candidates have the same name, so that only their features differ."""
        if not self.names:
            self.names = [f"x{i}" for i in range(actions.shape[1])]
        names = self.names
        candidates = [("a", dict(zip(names, row, strict=True))) for row in actions.tolist()]
        self.round += 1.0
        self.record = self.library.decide(self.state, {}, candidates, self.round, "s")
        return int(self.record.chosen)

    def update(self, action: Array, reward: float) -> None:
        """Resolve the decision."""
        self.library.learn(self.state, self.record.decision_id, float(reward), self.round)


class BayesianBandits:
    """A shared normal regression with a forgetting rule; actions come in through a featurizer."""

    def __init__(
        self, *, rule: str, rate: float, policy: str, count: int, noise: float, seed: int = 0
    ) -> None:
        library = import_module("bayesianbandits")
        forgetting = getattr(library, rule)(rate=rate)
        policies = {
            "Thompson": library.ThompsonSampling(),
            "UCB": library.UpperConfidenceBound(alpha=0.95, samples=100),
        }
        self.agent = library.LipschitzContextualAgent(
            arms=[library.Arm(k) for k in range(count)],
            learner=library.NormalRegressor(alpha=0.1, beta=noise**-2, forgetting=forgetting),
            arm_featurizer=library.FunctionArmFeaturizer(self._features),
            policy=policies[policy],
            random_seed=seed,
        )
        self.count = count

    def _features(self, contexts: Any, tokens: Any) -> Array:
        """The context is the whole action set in one row; arm k has the k-th action's features."""
        rows = np.asarray(contexts).reshape(len(contexts), self.count, -1)
        return np.asarray(rows[:, tokens].transpose(0, 2, 1))

    def select(self, actions: Array) -> int:
        """Pull."""
        self.context = actions.reshape(1, -1)
        return int(self.agent.pull(self.context)[0])

    def update(self, action: Array, reward: float) -> None:
        """Update the arm that was pulled last."""
        self.agent.update(self.context, np.array([reward]))


class CobaLinUCB:
    """LinUCB by Sherman and Morrison; it never forgets, and has no setting for it."""

    def __init__(self, *, alpha: float) -> None:
        self.learner = import_module("coba.learners").LinUCBLearner(alpha=alpha, features=["a"])

    def select(self, actions: Array) -> int:
        """Predict, and look up the index of the returned action."""
        rows = [tuple(row) for row in actions.tolist()]
        self.played, self.probability = self.learner.predict(None, rows)[:2]
        return rows.index(self.played)

    def update(self, action: Array, reward: float) -> None:
        """Learn."""
        self.learner.learn(None, self.played, float(reward), self.probability)


def _context(actions: Array) -> Array:
    """x from the actions e_k ⊗ x of arms with separate models."""
    return np.asarray(actions[0, : actions.shape[1] // len(actions)])


class RiverLinUCB:
    """LinUCBDisjoint: one Bayesian regression per arm, with smoothing for drift."""

    def __init__(self, *, arms: int, smoothing: float, alpha: float, beta: float) -> None:
        bandit = import_module("river.bandit")
        self.policy = bandit.LinUCBDisjoint(alpha=alpha, beta=beta, smoothing=smoothing, seed=0)
        self.arms = list(range(arms))

    def select(self, actions: Array) -> int:
        """Pull."""
        self.context = dict(enumerate(_context(actions).tolist()))
        self.played = self.policy.pull(self.arms, context=self.context)
        return int(self.played)

    def update(self, action: Array, reward: float) -> None:
        """Update the arm that was pulled."""
        self.policy.update(self.played, self.context, float(reward))


class MabWiserLinUCB:
    """LinUCB, one ridge regression per arm; it never forgets, and has no setting for it."""

    def __init__(self, *, arms: int, alpha: float) -> None:
        library = import_module("mabwiser.mab")
        self.mab = library.MAB(
            list(range(arms)), library.LearningPolicy.LinUCB(alpha=alpha, l2_lambda=0.1)
        )
        first = [[0.0, 0.0]] * arms
        self.mab.fit(list(range(arms)), [0.0] * arms, first)

    def select(self, actions: Array) -> int:
        """Predict."""
        self.context = [_context(actions).tolist()]
        self.played = self.mab.predict(self.context)
        return int(self.played)

    def update(self, action: Array, reward: float) -> None:
        """Fit the arm that was played."""
        self.mab.partial_fit([self.played], [float(reward)], self.context)
