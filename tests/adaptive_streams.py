"""Streams for the tests of AdaptiveLinUCB, and their tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftbandits.policies.adaptive.linucb import AdaptiveLinUCB
from oracles import Advance, Event, Late, Update

TOLERANCE = 1e-8


def assert_close(got: Any, expected: Any, what: str) -> None:
    """Agreement relative to the norm."""
    norm = float(np.linalg.norm(np.asarray(expected)))
    error = float(np.linalg.norm(np.asarray(got) - np.asarray(expected)))
    assert error <= TOLERANCE * max(norm, 1e-300), f"{what}: {error:.2e} of {norm:.2e}"


def events(rng: np.random.Generator, dim: int, count: int, *, fractional: bool) -> list[Event]:
    """A parameter that jumps, with little noise; batches, silences, late and early rewards."""
    made: list[Event] = []
    clock, theta = 0.0, rng.standard_normal(dim)
    for step in range(count):
        if step % 40 == 39:
            theta = 3 * rng.standard_normal(dim)
        kind = rng.choice(["update", "batch", "advance", "late"], p=[0.6, 0.1, 0.1, 0.2])
        size = 1 if kind == "update" else int(rng.integers(1, 4))
        actions = rng.standard_normal((size, dim))
        actions /= np.maximum(np.linalg.norm(actions, axis=1, keepdims=True), 1)
        rewards = actions @ theta + 0.1 * rng.standard_normal(size)
        if kind == "advance":
            passed = float(rng.uniform(0.05, 4)) if fractional else float(rng.integers(1, 5))
            made.append(Advance(passed))
            clock += passed
        elif kind == "late" and clock >= 1:
            low = max(1.0, clock - 30)
            rounds = (
                rng.uniform(low, clock, size)
                if fractional
                else rng.integers(int(low), int(clock) + 2, size).astype(float)
            )
            made.append(Late(actions, rewards, rounds))
        else:
            made.append(Update(actions, rewards))
            clock += 1.0
    return made


def choices(
    policy: AdaptiveLinUCB, *, rewards: float = 1.0, actions: Any = 1.0, constant: float = 0.0
) -> list[int]:
    """Play a parameter that jumps, with rewards and actions in other units."""
    rng = np.random.default_rng(5)
    chosen = []
    for t in range(500):
        offered = rng.uniform(-0.7, 0.7, (6, 2))
        theta = np.array([1.0, 0.0]) if t < 250 else np.array([-0.5, 0.8])
        noise = 0.3 * rng.standard_normal()
        k = policy.select(offered * actions)
        policy.update(offered[k] * actions, constant + rewards * (offered[k] @ theta + noise))
        chosen.append(k)
    return chosen
