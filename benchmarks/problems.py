"""Environments that several sections use."""

from __future__ import annotations

import math

import numpy as np

from driftbandits import Problem
from driftbandits.environments import (
    ClippedCube,
    Environment,
    Gaussian,
    Kronecker,
    PiecewiseConstant,
    RandomWalk,
    Rotation,
)

from .measure import Array

CHANGES = (1001, 2001, 3001)


def abrupt(horizon: int = 6000) -> Environment:
    """The paper's abrupt changes."""
    corners = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    return Environment(
        path=PiecewiseConstant(corners, CHANGES),
        actions=ClippedCube(dim=2, count=50),
        noise=Gaussian(1.0),
        horizon=horizon,
    )


def slow(horizon: int = 6000) -> Environment:
    """The paper's slow drift."""
    return Environment(
        path=Rotation(angle=math.pi / 2, rounds=3000),
        actions=ClippedCube(dim=2, count=50),
        noise=Gaussian(1.0),
        horizon=horizon,
    )


def separate_arms(horizon: int = 6000, arms: int = 5) -> Environment:
    """A few fixed arms with one common context; each arm has its own turning parameter."""
    angles = 2.0 * np.pi * (np.arange(arms) / arms + np.arange(4)[:, None] / 4.0)
    values = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(4, 2 * arms)
    return Environment(
        path=PiecewiseConstant(values, CHANGES),
        actions=Kronecker(contexts=ClippedCube(dim=2, count=1), arms=arms),
        noise=Gaussian(0.5),
        horizon=horizon,
    )


def wandering(*, dim: int, count: int, horizon: int) -> Environment:
    """A parameter that walks on the sphere, for any dimension."""
    return Environment(
        path=RandomWalk(step=0.002, dim=dim),
        actions=ClippedCube(dim=dim, count=count),
        noise=Gaussian(0.1),
        horizon=horizon,
    )


def problem(environment: Environment, theta_bound: float = 1.0) -> Problem:
    """The facts about an environment that policies get."""
    return Problem(
        dim=environment.dim,
        horizon=environment.horizon,
        budget=environment.budget(),
        change_points=environment.change_points,
        noise=environment.noise.level,
        theta_bound=theta_bound,
    )


def action_sets(rounds: int, count: int, dim: int) -> tuple[Array, Array]:
    """Rounds of actions (n, K, d) of norm at most 1, and rewards (n, K) of a fixed parameter."""
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1.0, 1.0, (rounds, count, dim))
    actions /= np.maximum(np.linalg.norm(actions, axis=2, keepdims=True), 1.0)
    theta = np.full(dim, dim**-0.5)
    return actions, actions @ theta + rng.standard_normal((rounds, 1))
