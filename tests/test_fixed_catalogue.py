"""A fixed catalogue chooses the same item as scoring everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from driftbandits import (
    AdaptiveLinUCB,
    DLinUCB,
    DynamicLinUCB,
    LinUCB,
    Policy,
    Problem,
    Random,
    SWLinUCB,
)
from driftbandits.policies.dal.policy import DetectRestartLinUCB
from driftbandits.policies.fixed_catalogue import FixedCatalogue
from driftbandits.policies.weighted.d_rand_linucb import DRandLinUCB

POLICIES: list[Any] = [
    lambda dim: LinUCB(dim=dim, noise=0.2),
    lambda dim: DLinUCB(dim=dim, gamma=0.95, noise=0.2),
    lambda dim: DLinUCB(dim=dim, gamma=0.99, noise=0.2, restore_every=7),
    lambda dim: SWLinUCB(dim=dim, window=40, noise=0.2),
    lambda dim: DynamicLinUCB(dim=dim, noise=0.2),
]


def unit_items(rng: np.random.Generator, count: int, dim: int) -> Any:
    items = rng.normal(size=(count, dim))
    return items / np.maximum(np.linalg.norm(items, axis=1, keepdims=True), 1.0)


@pytest.mark.parametrize("make", POLICIES)
@pytest.mark.parametrize("dim", [1, 3, 20])
def test_same_index_as_brute_force_throughout_a_run(make: Any, dim: int) -> None:
    rng = np.random.default_rng(dim)
    items = unit_items(rng, 400, dim)
    theta = rng.normal(size=dim) / np.sqrt(dim)
    policy = make(dim)
    catalogue = FixedCatalogue(policy, items)
    for t in range(250):
        chosen = catalogue.select()
        assert chosen == policy.select(items), t
        if t == 120:
            theta = -theta
        policy.update(items[chosen], float(items[chosen] @ theta + 0.2 * rng.normal()))
        if t % 17 == 0:
            policy.advance(rounds=3)


def one_hot(rng: np.random.Generator, groups: int, values: int, count: int) -> Any:
    """One-hot features of several groups: as many directions as groups never occur."""
    picked = rng.integers(values, size=(count, groups))
    items = np.zeros((count, groups * values))
    for group in range(groups):
        items[np.arange(count), group * values + picked[:, group]] = 1.0 / np.sqrt(groups)
    return items


@pytest.mark.parametrize("make", [LinUCB, DLinUCB, SWLinUCB])
@pytest.mark.parametrize(
    ("scale", "ridge", "centred"), [(1000.0, 0.1, False), (1.0, 1e-6, False), (1.0, 1e-8, True)]
)
def test_same_index_where_digits_are_lost(
    make: Any, scale: float, ridge: float, centred: bool
) -> None:
    """Items that miss some directions, with almost no ridge: M is nearly unknown."""
    rng = np.random.default_rng(5)
    items = one_hot(rng, groups=4, values=5, count=500)
    if centred:
        items -= items.mean(axis=1, keepdims=True)
    items *= scale / np.linalg.norm(items, axis=1).max()
    memories: dict[Any, dict[str, Any]] = {
        LinUCB: {},
        DLinUCB: {"gamma": 0.999},
        SWLinUCB: {"window": 100},
    }
    policy = make(dim=20, ridge=ridge, action_bound=scale, noise=0.2, **memories[make])
    catalogue = FixedCatalogue(policy, items)
    theta = rng.normal(size=20) / scale
    for t in range(200):
        chosen = catalogue.select()
        assert chosen == policy.select(items), t
        policy.update(items[chosen], float(items[chosen] @ theta + 0.2 * rng.normal()))


def test_little_is_scored_once_data_has_been_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    items = unit_items(rng, 20_000, 8)
    policy = LinUCB(dim=8, noise=0.2)
    catalogue = FixedCatalogue(policy, items)
    theta = rng.normal(size=8)
    for _ in range(300):
        a = items[catalogue.select()]
        policy.update(a, float(a @ theta + 0.2 * rng.normal()))
    scored: list[int] = []
    exact = LinUCB.select

    def counting(self: LinUCB, actions: Any) -> int:
        scored.append(len(actions))
        return exact(self, actions)

    monkeypatch.setattr(LinUCB, "select", counting)
    for _ in range(50):
        a = items[catalogue.select()]
        policy.update(a, float(a @ theta + 0.2 * rng.normal()))
    assert np.mean(scored) < 0.02 * len(items)


def test_items_are_checked() -> None:
    policy = LinUCB(dim=2)
    with pytest.raises(ValueError, match="items"):
        FixedCatalogue(policy, [[np.nan, 0.0]])
    with pytest.raises(ValueError, match="action_bound"):
        FixedCatalogue(policy, [[3.0, 0.0]])


@pytest.mark.parametrize("kind", [AdaptiveLinUCB, DetectRestartLinUCB, DRandLinUCB, Random])
def test_policies_that_do_not_always_play_the_largest_bound_are_refused(kind: type[Policy]) -> None:
    policy: Any = kind.tuned(Problem(dim=2, horizon=100, budget=1.0))
    with pytest.raises(TypeError, match=f"not '{kind.label}'"):
        FixedCatalogue(policy, np.eye(2))


def test_items_are_a_copy_that_cannot_be_changed() -> None:
    items = np.eye(2)
    catalogue = FixedCatalogue(LinUCB(dim=2), items)
    items[0] = 0.0
    assert catalogue.items[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        catalogue.items[0] = 0.0


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 4])
def test_same_index_where_radius_and_estimate_are_zero(dim: int, count: int) -> None:
    """All scores are 0, but bounds from an earlier estimate that was not 0 still have rounding."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        items = rng.uniform(-0.3, 0.3, (count, dim))
        policy = SWLinUCB(dim=dim, window=2, noise=0.0, theta_bound=0.0)
        catalogue = FixedCatalogue(policy, items)
        for t in range(30):
            assert catalogue.select() == policy.select(items), (seed, t)
            if rng.random() < 0.5:
                policy.advance()
            else:
                policy.update(items[rng.integers(count)], float(rng.normal()))


@pytest.mark.parametrize("make", POLICIES)
@pytest.mark.parametrize("dim", [1, 2, 3, 8, 21])
def test_exact_ties_are_broken_as_by_select(make: Any, dim: int) -> None:
    """Every item occurs several times, and the first of the best is chosen."""
    rng = np.random.default_rng(dim)
    distinct = unit_items(rng, 7, dim)
    items = distinct[rng.integers(7, size=61)]
    policy = make(dim)
    catalogue = FixedCatalogue(policy, items)
    for t in range(60):
        chosen = catalogue.select()
        assert chosen == policy.select(items), t
        assert not (items[:chosen] == items[chosen]).all(axis=1).any()
        policy.update(items[chosen], float(rng.normal()))
        # A score depends only on the item, not on its place or on the other items.
        alone = np.array([policy.scores(item[None])[0] for item in items])
        np.testing.assert_array_equal(policy.scores(items), alone)


def test_ties_of_items_are_broken_as_by_select_at_any_time() -> None:
    """A reading of scores may be rounded otherwise than a decision: the decision counts."""
    items = np.eye(20)
    policy, rng = SWLinUCB(dim=20, window=30), np.random.default_rng(0)
    catalogue = FixedCatalogue(policy, items)
    for _ in range(80):
        policy.update(items[rng.integers(20)], 1.0)
        expected = policy.copy().select(items)
        assert catalogue.select() == expected
