"""Compares the paths, action sets and noise of environments with their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from driftbandits.environments import (
    ActionSequence,
    Bernoulli,
    Block,
    Bounded,
    Catalogue,
    ClippedCube,
    DrawnActions,
    Environment,
    Gaussian,
    Heteroscedastic,
    Kronecker,
    NoiseSequence,
    Periodic,
    PiecewiseConstant,
    Pools,
    RandomWalk,
    Rotation,
    Sphere,
    Trajectory,
    canonical_basis,
)

RNG = np.random.default_rng

PATHS = [
    PiecewiseConstant([[1.0, 0.0], [0.0, 1.0]], (401,)),
    Rotation(angle=1.0, rounds=300),
    Periodic(period=97),
    RandomWalk(step=0.05),
    Trajectory(RNG(0).normal(size=(700, 2))),
]
ACTIONS = [
    ClippedCube(dim=2, count=7),
    Sphere(dim=2, count=7),
    Catalogue([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]),
    Pools((RNG(1).normal(size=(5, 2)), RNG(2).normal(size=(9, 2)))),
    DrawnActions(function=lambda t, rng: rng.normal(size=(3, 2)) / t, dim=2, count=3),
]
NOISES = [
    Gaussian(0.5),
    Bounded(0.5),
    Heteroscedastic(lambda actions: 0.1 * np.abs(actions[:, 0, :]).clip(max=10), level=1.0),
]


def environment(**changes: Any) -> Environment:
    parts: dict[str, Any] = {
        "path": PATHS[0],
        "actions": ACTIONS[0],
        "noise": NOISES[0],
        "horizon": 1100,
    }
    return Environment(**{**parts, **changes})


def whole(source: Environment, **options: Any) -> Block:
    """All blocks of a replication as one."""
    blocks = list(source.blocks(seed=3, replication=1, **options))
    joined = [np.concatenate([getattr(b, name) for b in blocks]) for name in Block._fields[2:6]]
    fixed = isinstance(source.actions, Catalogue)
    actions = blocks[0].actions if fixed else np.concatenate([b.actions for b in blocks])
    longest = max(b.longest for b in blocks)
    theta, means, best, noise = joined
    return Block(blocks[0].first, actions, theta, means, best, noise, longest)


@pytest.mark.parametrize("path", PATHS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("actions", ACTIONS, ids=lambda a: type(a).__name__)
def test_how_it_is_cut_changes_no_number(path: Any, actions: Any) -> None:
    source = environment(path=path, actions=actions)
    one, other = whole(source), whole(source, stops=(1, 2, 17, 500, 501, 900))
    for name in Block._fields:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("actions", ACTIONS, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("noise", NOISES, ids=lambda n: type(n).__name__)
def test_means_are_inner_products(actions: Any, noise: Any) -> None:
    block = whole(environment(actions=actions, noise=noise))
    columns = np.broadcast_to(block.actions, (block.rounds, *block.actions.shape[1:]))
    expected = np.einsum("td,tdk->tk", block.parameters, columns)
    np.testing.assert_allclose(block.means, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(block.best, block.means.max(axis=1))


def test_replications_and_seeds_differ_but_repeat() -> None:
    source = environment()
    first = next(source.blocks(seed=0, replication=0))
    again = next(source.blocks(seed=0, replication=0))
    other = next(source.blocks(seed=0, replication=1))
    reseeded = next(source.blocks(seed=1, replication=0))
    np.testing.assert_array_equal(first.actions, again.actions)
    assert not np.array_equal(first.actions, other.actions)
    assert not np.array_equal(first.noise, reseeded.noise)


def test_piecewise_constant_changes_at_its_points() -> None:
    source = environment()
    theta = whole(source).parameters
    assert source.change_points == (401,)
    np.testing.assert_array_equal(theta[:400], np.tile([1.0, 0.0], (400, 1)))
    np.testing.assert_array_equal(theta[400:], np.tile([0.0, 1.0], (700, 1)))
    assert source.budget() == pytest.approx(np.sqrt(2.0), rel=1e-12)
    assert environment(horizon=400).change_points == ()


def test_rotation_reaches_its_angle_and_stays() -> None:
    theta = whole(environment(path=Rotation(angle=np.pi / 2, rounds=300))).parameters
    np.testing.assert_allclose(theta[0], [1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(theta[300:], np.tile([0.0, 1.0], (800, 1)), atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(theta, axis=1), 1.0, rtol=1e-12)


def test_budget_is_the_length_of_the_path() -> None:
    for path in PATHS:
        source = environment(path=path)
        theta = whole(source).parameters
        expected = np.linalg.norm(np.diff(theta, axis=0), axis=1).sum()
        assert source.budget(seed=3, replication=1) == pytest.approx(expected, rel=1e-10)


def test_paper_budgets() -> None:
    abrupt = PiecewiseConstant([[1, 0], [-1, 0], [0, 1], [0, -1]], (1001, 2001, 3001))
    assert environment(path=abrupt, horizon=6000).budget() == pytest.approx(4 + np.sqrt(2))
    slow = Rotation(angle=np.pi / 2, rounds=3000)
    assert environment(path=slow, horizon=6000).budget() == pytest.approx(np.pi / 2, rel=1e-6)


def test_random_walk_stays_on_the_sphere_and_steps_as_told() -> None:
    path = RandomWalk(step=0.01, dim=3, norm=2.0)
    theta = path.start(RNG(0))(20_000)
    np.testing.assert_allclose(np.linalg.norm(theta, axis=1), 2.0, rtol=1e-12)
    # Two tangential directions with variance step² each; the error of the mean square is 1/√n.
    steps = np.linalg.norm(np.diff(theta, axis=0), axis=1) / 2.0
    assert np.mean(steps**2) == pytest.approx(2 * 0.01**2, rel=4 / np.sqrt(20_000))


def test_clipped_cube_is_the_papers_draw() -> None:
    columns = ClippedCube(dim=2, count=50).start(RNG(0))(4000)
    norms = np.linalg.norm(columns, axis=1)
    assert norms.max() <= 1.0 + 1e-15
    on_circle = np.mean(norms > 1 - 1e-12)
    error = np.sqrt(np.pi / 4 * (1 - np.pi / 4) / norms.size)
    assert abs(on_circle - (1 - np.pi / 4)) < 4 * error
    inside = columns[:, 0, :][norms < 1 - 1e-12]
    assert abs(inside.mean()) < 4 * inside.std() / np.sqrt(inside.size)


def test_sphere_actions_have_unit_norm() -> None:
    columns = Sphere(dim=5, count=4).start(RNG(0))(100)
    np.testing.assert_allclose(np.linalg.norm(columns, axis=1), 1.0, rtol=1e-12)


def test_kronecker_actions_are_kronecker_products() -> None:
    contexts = ClippedCube(dim=3, count=1)
    columns = Kronecker(contexts=contexts, arms=4).start(RNG(5))(20)
    x = contexts.start(RNG(5))(20)[:, :, 0]
    for t in range(20):
        for arm in range(4):
            np.testing.assert_array_equal(columns[t, :, arm], np.kron(np.eye(4)[arm], x[t]))


def test_canonical_basis_is_the_identity() -> None:
    np.testing.assert_array_equal(canonical_basis(3).start(RNG(0))(7), np.eye(3)[None])


def test_noise_has_the_stated_size() -> None:
    actions, means = np.ones((1, 2, 3)), np.zeros((40_000, 3))
    normal = Gaussian(2.0).start(RNG(0))(actions, means)
    assert normal.std() == pytest.approx(2.0, rel=4 / np.sqrt(2 * 40_000))
    bounded = Bounded(2.0).start(RNG(0))(actions, means)
    assert np.abs(bounded).max() <= 2.0
    assert bounded.std() == pytest.approx(2.0 / np.sqrt(3), rel=0.02)


def test_heteroscedastic_noise_follows_the_action() -> None:
    noise = Heteroscedastic(lambda a: a[:, 0, :], level=3.0)
    values = noise.start(RNG(0))(np.array([[[1.0, 3.0]]]), np.zeros((10_000, 2)))
    np.testing.assert_allclose(values[:, 1], 3 * values[:, 0])
    with pytest.raises(ValueError, match="scale"):
        noise.start(RNG(0))(np.array([[[4.0]]]), np.zeros((1, 1)))


def test_clicks_come_with_the_probability_that_the_mean_is() -> None:
    """Within 4.5 standard errors for each of four means; fails by chance with 3e-5."""
    rates = np.array([0.0, 0.05, 0.4, 1.0])
    source = environment(
        path=Trajectory(np.tile(rates, (20_000, 1))),
        actions=Catalogue(np.eye(4)),
        noise=Bernoulli(),
        horizon=20_000,
    )
    block = whole(source)
    rewards = block.means + block.noise
    np.testing.assert_allclose(rewards, np.round(rewards), atol=1e-15)
    assert set(np.round(rewards).ravel()) == {0.0, 1.0}
    errors = np.sqrt(rates * (1 - rates) / len(rewards))
    assert (np.abs(rewards.mean(axis=0) - rates) <= 4.5 * errors + 1e-12).all()
    assert Bernoulli().level == 0.5
    cut = whole(source, stops=(7, 500))
    np.testing.assert_array_equal(cut.noise, block.noise)


def test_clicks_need_means_that_are_probabilities() -> None:
    with pytest.raises(ValueError, match=r"means must lie in \[0, 1\] for clicks, got -1 to 2"):
        Bernoulli().start(RNG(0))(np.ones((1, 1, 2)), np.array([[-1.0, 2.0]]))


def test_arrays_are_an_environment() -> None:
    rng = RNG(0)
    actions, theta, noise = (
        rng.normal(size=(40, 3, 2)),
        rng.normal(size=(40, 2)),
        rng.normal(size=40),
    )
    source = Environment.from_arrays(actions=actions, parameters=theta, noise=noise)
    block = whole(source)
    np.testing.assert_array_equal(block.actions, actions.transpose(0, 2, 1))
    np.testing.assert_array_equal(block.noise, noise[:, None])
    np.testing.assert_allclose(block.means, np.einsum("tkd,td->tk", actions, theta), rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: environment(horizon=0), "horizon"),
        (lambda: environment(actions=ClippedCube(dim=3, count=2)), "dimension"),
        (lambda: PiecewiseConstant([[1.0]], (5,)), "change_points"),
        (lambda: PiecewiseConstant([[1.0], [2.0]], (1,)), "change_points"),
        (lambda: Rotation(angle=1.0, rounds=0), "rounds"),
        (lambda: ClippedCube(dim=2, count=0), "count"),
        (lambda: Catalogue([[np.nan]]), "actions"),
        (lambda: Pools((np.ones((2, 3)), np.ones((2, 4)))), "pools"),
        (lambda: Kronecker(contexts=ClippedCube(dim=2, count=2), arms=2), "contexts"),
        (lambda: Gaussian(-1.0), "level"),
        (lambda: NoiseSequence([np.inf], 1.0), "values"),
        (lambda: ActionSequence(np.ones((2, 2))), "actions"),
    ],
)
def test_bad_descriptions_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_callable_that_returns_the_wrong_shape_is_refused() -> None:
    source = environment(
        actions=DrawnActions(function=lambda t, rng: np.ones((2, 2)), dim=2, count=3)
    )
    with pytest.raises(ValueError, match="round 1"):
        next(source.blocks(seed=0, replication=0))


def test_sequences_that_end_early_say_so() -> None:
    source = environment(actions=ActionSequence(np.ones((10, 3, 2))), horizon=11)
    with pytest.raises(ValueError, match="round 10"):
        list(source.blocks(seed=0, replication=0))


@pytest.mark.parametrize("rounds", [39, 41])
@pytest.mark.parametrize("name", ["actions", "noise"])
def test_arrays_of_different_lengths_are_refused(name: str, rounds: int) -> None:
    shapes = {"actions": (40, 3, 2), "parameters": (40, 2), "noise": (40,)}
    arrays: dict[str, Any] = {key: np.ones(shape) for key, shape in shapes.items()}
    arrays[name] = np.resize(arrays[name], (rounds, *arrays[name].shape[1:]))
    with pytest.raises(ValueError, match=f"same number of rounds.*'{name}': {rounds}"):
        Environment.from_arrays(**arrays)


def test_draws_of_a_wrong_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="noise must give"):
        list(
            Environment.from_arrays(
                actions=np.eye(3), parameters=np.ones((5, 3)), noise=np.ones((5, 2))
            ).blocks(seed=0, replication=0)
        )
