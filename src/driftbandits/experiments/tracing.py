"""The estimates, widths, memory and noise of a policy over the rounds of one run."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pandas as pd

from ..core.arrays import Array
from ..core.blocks import Waiting
from ..environments import Block, Environment
from ..policies import Policy
from ..simulation import even_rounds


class Explained(Protocol):
    """The attributes that a traced policy must have; AdaptiveLinUCB has them."""

    theta: Array
    memory: float
    radius: float
    noise_estimate: float

    def widths(self, actions: Any) -> Array:
        """Width of each action of ``actions`` (K, d)."""


def trace(
    policy: Policy,
    environment: Environment,
    *,
    seed: int = 0,
    replication: int = 0,
    count: int = 300,
) -> pd.DataFrame:
    """Play one replication, and record the state of the policy after about ``count`` rounds.

    Columns round, regret (cumulative), memory, noise, and for each coordinate i of the parameter
    theta_i (the estimate), half_i (radius times width in its direction) and true_i. The change
    points and detections are in ``attrs``.
    """
    missing = [name for name in ("memory", "radius", "widths") if not hasattr(policy, name)]
    if missing:
        raise ValueError(f"policy must have {', '.join(missing)}; {policy.label} does not")
    player: Any = policy.fresh(replication)
    stops = even_rounds(environment.horizon, count)
    rows, total, waiting = [], 0.0, Waiting(environment.dim)
    for block in environment.blocks(seed=seed, replication=replication, stops=stops):
        total += _play(player, block, waiting)
        if block.last in stops:
            rows.append(
                {"round": block.last, "regret": total, **_beliefs(player, block.parameters[-1])}
            )
    frame = pd.DataFrame(rows)
    frame.attrs["change_points"] = list(environment.change_points)
    frame.attrs["detections"] = list(getattr(player, "detections", ()))
    return frame


def _play(player: Policy, block: Block, waiting: Waiting) -> float:
    regret = np.empty(block.rounds)
    player.play(block, regret=regret, waiting=waiting)
    return float(regret[-1])


def _beliefs(player: Explained, truth: Array) -> dict[str, float]:
    theta = player.theta
    half = player.radius * player.widths(np.eye(len(theta)))
    beliefs = {"memory": player.memory, "noise": player.noise_estimate}
    for i in range(len(theta)):
        beliefs[f"theta_{i + 1}"] = float(theta[i])
        beliefs[f"half_{i + 1}"] = float(half[i])
        beliefs[f"true_{i + 1}"] = float(truth[i])
    return beliefs
