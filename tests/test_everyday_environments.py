"""Compares levels, units, arms that appear and wear out, sales and delays with definitions."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

from driftbandits.environments import (
    ActionsInUnits,
    Catalogue,
    ClippedCube,
    Environment,
    FixedDelay,
    Gaussian,
    GeometricDelay,
    Launches,
    Missing,
    PathInUnits,
    PiecewiseConstant,
    RandomJumps,
    RandomWalk,
    Rotting,
    Sales,
    Swing,
    Wander,
    WithIntercept,
    WithLevel,
    canonical_basis,
)

RNG = np.random.default_rng
ARMS = PiecewiseConstant([[0.6, 0.4], [0.1, 0.4]], (401,))
UNITS = (300.0, 0.5)

PATHS = [
    Swing(size=0.5, period=97.5),
    Wander(step=0.1),
    WithLevel(path=RandomWalk(step=0.05), level=Wander(step=0.1)),
    WithLevel(path=ARMS, level=Swing(size=2.0, period=40), intercept=False),
    PathInUnits(path=RandomWalk(step=0.05), units=UNITS),
    Rotting(heights=[0.8, 0.5], lives=[100, 1000]),
]
ACTIONS = [
    WithIntercept(actions=ClippedCube(dim=2, count=4), scale=0.7),
    WithIntercept(actions=canonical_basis(2)),
    ActionsInUnits(actions=ClippedCube(dim=2, count=4), units=UNITS),
    Launches(dim=3, rounds=(1, 401)),
]
DELAYS = [
    FixedDelay(7),
    GeometricDelay(20.0),
    Missing(share=0.3),
    Missing(share=0.3, delays=GeometricDelay(3.0)),
]


def named(part: Any) -> str:
    return type(part).__name__


def pieces(draw: Any, sizes: Any, *more: Any) -> Any:
    return np.concatenate([draw(size) for size in sizes])


@pytest.mark.parametrize("part", [*PATHS, *ACTIONS, *DELAYS], ids=named)
def test_how_it_is_cut_changes_no_number(part: Any) -> None:
    cuts = (1, 16, 383, 1, 299)
    one, other = pieces(part.start(RNG(3)), (700,)), pieces(part.start(RNG(3)), cuts)
    if len(one) > 1:
        np.testing.assert_array_equal(one, other)
    else:  # actions that never change
        assert (other == one).all()


@pytest.mark.parametrize("path", PATHS, ids=named)
def test_paths_have_the_dimension_that_they_say(path: Any) -> None:
    assert path.start(RNG(0))(9).shape == (9, path.dim)


@pytest.mark.parametrize("actions", ACTIONS, ids=named)
def test_actions_have_the_shape_that_they_say(actions: Any) -> None:
    drawn = actions.start(RNG(0))(9)
    assert drawn.shape in ((9, actions.dim, actions.count), (1, actions.dim, actions.count))


# Levels


def test_a_swing_is_a_sine_from_anywhere() -> None:
    first, second = (Swing(size=2.0, period=40).start(RNG(n))(80).ravel() for n in (0, 1))
    assert not np.allclose(first, second)
    for values in (first, second):
        np.testing.assert_allclose(values[:40], values[40:], atol=1e-12)
        np.testing.assert_allclose(values[:20], -values[20:40], atol=1e-12)
        # The squares of two points a quarter apart add up to size².
        np.testing.assert_allclose(values[:10] ** 2 + values[10:20] ** 2, 4.0, rtol=1e-12)


def test_a_walk_has_independent_normal_steps() -> None:
    walk = Wander(step=0.2).start(RNG(0))(20_000).ravel()
    steps = np.diff(walk, prepend=0.0)
    # Errors: 0.2/√n of the mean, 0.2/√(2n) of the deviation, 1/√n of the correlation.
    assert abs(steps.mean()) < 4 * 0.2 / 20_000**0.5
    assert steps.std() == pytest.approx(0.2, abs=4 * 0.2 / 40_000**0.5)
    assert abs(np.corrcoef(steps[1:], steps[:-1])[0, 1]) < 4 / 20_000**0.5


def test_a_level_is_added_to_all_rewards_with_or_without_a_feature_for_it() -> None:
    level = Swing(size=2.0, period=40)
    options: dict[str, Any] = {"noise": Gaussian(0.0), "horizon": 700}
    plain = Environment(path=ARMS, actions=canonical_basis(2), **options)
    featured = Environment(
        path=WithLevel(path=ARMS, level=level),
        actions=WithIntercept(actions=canonical_basis(2)),
        **options,
    )
    added = Environment(
        path=WithLevel(path=ARMS, level=level, intercept=False),
        actions=canonical_basis(2),
        **options,
    )
    means = [
        np.concatenate([block.means for block in source.blocks(seed=0, replication=0)])
        for source in (plain, featured, added)
    ]
    moved = means[1] - means[0]
    np.testing.assert_allclose(moved[:, 0], moved[:, 1], atol=1e-12)
    assert 1.9 < moved.max() <= 2.0
    np.testing.assert_allclose(means[1], means[2], atol=1e-12)
    assert featured.change_points == added.change_points == (401,)


def test_the_intercept_comes_first_and_is_scaled_like_the_rest() -> None:
    inner = Catalogue([[1.0, 0.0], [0.6, 0.8]])
    drawn = WithIntercept(actions=inner, scale=0.5).start(RNG(0))(3)[0]
    np.testing.assert_array_equal(drawn.T, [[0.5, 0.5, 0.0], [0.5, 0.3, 0.4]])


# Units


def test_in_other_units_rewards_are_the_same() -> None:
    path, actions = RandomJumps(dim=2, change_points=(300,)), ClippedCube(dim=2, count=5)
    options: dict[str, Any] = {"noise": Gaussian(0.1), "horizon": 700}
    plain = Environment(path=path, actions=actions, **options)
    other = Environment(
        path=PathInUnits(path=path, units=UNITS),
        actions=ActionsInUnits(actions=actions, units=UNITS),
        **options,
    )
    one, two = (next(source.blocks(seed=0, replication=0)) for source in (plain, other))
    np.testing.assert_allclose(one.means, two.means, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(two.actions[:, 0], 300 * one.actions[:, 0])
    np.testing.assert_allclose(two.parameters[:, 1], one.parameters[:, 1] / 0.5)
    assert other.change_points == (300,)


# Arms


def test_rotting_arms_fall_to_one_eth_in_their_lives() -> None:
    means = Rotting(heights=[0.8, 0.5], lives=[100, 400]).start(RNG(0))(401)
    np.testing.assert_array_equal(means[0], [0.8, 0.5])
    assert means[100, 0] == pytest.approx(0.8 / np.e)
    assert means[400, 1] == pytest.approx(0.5 / np.e)


def test_an_arm_is_on_offer_from_its_launch_on() -> None:
    drawn = Launches(dim=4, rounds=(3, 5)).start(RNG(0))(6)
    arms = drawn.argmax(axis=1)
    assert (drawn.sum(axis=1) == 1).all()
    assert arms.tolist() == [[0, 1, 0, 0]] * 2 + [[0, 1, 2, 0]] * 2 + [[0, 1, 2, 3]] * 2


# Sales


def test_sales_are_rare_and_log_normal_with_the_mean_that_is_said() -> None:
    noise, means = Sales(rate=0.1, spread=0.7), np.tile([0.4, 0.1], (40_000, 1))
    rewards = means + noise.start(RNG(0))(np.zeros((1, 2, 2)), means)
    sold = rewards[:, 0] > 1e-12
    np.testing.assert_allclose(rewards[~sold], 0.0, atol=1e-12)
    np.testing.assert_allclose(rewards[sold, 0], 4 * rewards[sold, 1])
    assert sold.mean() == pytest.approx(0.1, abs=4 * (0.09 / 40_000) ** 0.5)
    logs, count = np.log(rewards[sold, 0]), int(sold.sum())
    assert logs.std() == pytest.approx(0.7, abs=4 * 0.7 / (2 * count) ** 0.5)
    assert logs.mean() == pytest.approx(np.log(4.0) - 0.245, abs=4 * 0.7 / count**0.5)
    # The level is the deviation at mean 1, from the moments of the definition.
    assert noise.level == pytest.approx((np.exp(0.49) / 0.1 - 1) ** 0.5)


def test_sales_do_not_depend_on_how_rounds_are_cut() -> None:
    means = np.full((700, 2), 0.3)
    draws = [Sales(rate=0.5, spread=1.0).start(RNG(1)) for _ in range(2)]
    whole = draws[0](np.zeros((1, 2, 2)), means)
    cut = [draws[1](np.zeros((1, 2, 2)), means[:size]) for size in (1, 300, 399)]
    np.testing.assert_array_equal(whole, np.concatenate(cut))


# Delays


def test_delays_are_what_they_say() -> None:
    assert set(FixedDelay(7).start(RNG(0))(50)) == {7.0}
    drawn = GeometricDelay(20.0).start(RNG(0))(40_000)
    assert drawn.min() == 1.0
    # Deviation √(20 · 19) of a geometric number with mean 20.
    assert drawn.mean() == pytest.approx(20.0, abs=4 * (20 * 19 / 40_000) ** 0.5)
    absent = np.isinf(Missing(share=0.3).start(RNG(0))(40_000))
    assert absent.mean() == pytest.approx(0.3, abs=4 * (0.21 / 40_000) ** 0.5)
    rest = Missing(share=0.3, delays=FixedDelay(2)).start(RNG(0))(200)
    assert set(rest) == {2.0, inf}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Swing(size=1.0, period=0.0), "period must be a finite number above 0, got 0.0"),
        (lambda: Wander(step=-1.0), "step must be a finite number, 0 or above, got -1.0"),
        (lambda: WithLevel(path=ARMS, level=ARMS), "level must have dim 1, got 2"),
        (lambda: WithIntercept(actions=canonical_basis(2), scale=0.0), "scale must be"),
        (lambda: ActionsInUnits(actions=canonical_basis(3), units=UNITS), "each of 3 features"),
        (lambda: PathInUnits(path=ARMS, units=(1.0, 0.0)), "units must be above 0"),
        (lambda: Rotting(heights=[1.0], lives=[1.0, 2.0]), "lives must be as many as heights"),
        (lambda: Rotting(heights=[1.0], lives=[0.0]), "lives must be above 0"),
        (lambda: Launches(dim=2, rounds=(5, 6)), "rounds must be fewer than the 2 arms, got 2"),
        (lambda: Launches(dim=3, rounds=(0,)), "rounds must be an integer of at least 1, got 0"),
        (lambda: Sales(rate=1.0, spread=0.5), "rate must lie in"),
        (lambda: FixedDelay(-1), "rounds must be an integer of at least 0, got -1"),
        (lambda: GeometricDelay(0.5), "mean must be a finite number of at least 1, got 0.5"),
        (lambda: Missing(share=1.5), "share must lie in"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_sales_with_a_negative_mean_are_refused() -> None:
    draw = Sales(rate=0.5, spread=1.0).start(RNG(0))
    with pytest.raises(ValueError, match=r"means must be 0 or above for sales, got -0\.2"):
        draw(np.zeros((1, 2, 1)), np.array([[-0.2]]))
