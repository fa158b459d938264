"""The environments outside the leaderboard: they match their descriptions, and can be played."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.measure import Row, Say
from studies.elsewhere import real, section
from studies.elsewhere.aside import ASIDE
from studies.elsewhere.outlying import OUTLYING
from studies.elsewhere.place import Place, theta_bound
from studies.elsewhere.real import Recipe

from driftbandits.environments import Block, RandomWalk

PLACES = {place.title: place for group in section.GROUPS.values() for place in group}
CLICKS = (
    "Bernoulli arms, one change",
    "eight fixed items in d = 4, Bernoulli, two changes",
    "four arms with click rates of 1 to 5%, no change, T = 20,000",
    "ten fresh items with click rates of 1 to 6%, no change, T = 12,000",
)
TOLD = [place for place in PLACES.values() if place.theta_bound is not None]
DEVIATIONS = [
    *(place.title for place in OUTLYING),
    *(place.title for place in ASIDE if place.noise is not None),
]
CATALOGUES = (CLICKS[1], "30 fixed items in d = 6, no change")


@cache
def _blocks(title: str, replication: int = 0) -> tuple[Block, ...]:
    return tuple(PLACES[title].environment.blocks(seed=5, replication=replication))


def _all(title: str, field: str) -> Any:
    return np.concatenate([getattr(block, field) for block in _blocks(title)])


def test_every_title_names_one_place() -> None:
    groups: dict[str, Sequence[Place | Recipe]] = {**section.GROUPS, **real.GROUPS}
    titles = [place.title for places in groups.values() for place in places]
    assert len(titles) == len(set(titles))


@pytest.mark.parametrize("title", PLACES)
def test_draws_have_the_shapes_and_the_horizon_that_are_said(title: str) -> None:
    environment = PLACES[title].environment
    horizon, dim, count = environment.horizon, environment.dim, environment.actions.count
    assert _all(title, "parameters").shape == (horizon, dim)
    assert _all(title, "means").shape == (horizon, count)
    assert all(block.actions.shape[1:] == (dim, count) for block in _blocks(title))
    assert all(np.isfinite(_all(title, field)).all() for field in ("actions", "means", "noise"))
    said = re.search(r"T = ([\d,]+)", title)
    assert said is None or int(said[1].replace(",", "")) == horizon


@pytest.mark.parametrize("place", TOLD, ids=lambda place: place.title)
def test_everyday_actions_stay_within_what_is_told_of_them(place: Place) -> None:
    """Levels move the norm of the parameter; policies are told that it is at most 1."""
    longest = max(block.longest for block in _blocks(place.title))
    assert 0.9 < longest / place.problem.action_bound < 1 + 1e-9
    assert place.problem.theta_bound == place.theta_bound
    assert place.problem.theta_bound <= 1.0


@pytest.mark.parametrize("title", [title for title in PLACES if PLACES[title] not in TOLD])
def test_norms_come_up_to_their_bounds_and_no_further(title: str) -> None:
    problem, bound = PLACES[title].problem, theta_bound(PLACES[title].environment.path)
    longest = max(block.longest for block in _blocks(title))
    assert 0.98 < longest / problem.action_bound < 1 + 1e-9
    norm = np.linalg.norm(_all(title, "parameters"), axis=1).max()
    assert 0.6 < norm / bound < 1 + 1e-9
    assert problem.theta_bound == min(bound, 1.0)


@pytest.mark.parametrize("title", PLACES)
def test_the_parameter_moves_at_the_change_points_or_gradually(title: str) -> None:
    parameters, points = _all(title, "parameters"), PLACES[title].environment.change_points
    moved = np.flatnonzero(np.any(np.diff(parameters, axis=0) != 0, axis=1)) + 2
    assert tuple(moved) == points or len(moved) == len(parameters) - 1
    assert "no change" not in title or len(moved) == 0


@pytest.mark.parametrize("title", PLACES)
def test_the_noise_has_the_level_that_is_told(title: str) -> None:
    said = re.search(r"σ = ([\d.]+)", title)
    level = PLACES[title].problem.noise
    assert said is None or float(said[1]) == level
    assert abs(_all(title, "noise").mean()) < 5 * level / len(_all(title, "noise")) ** 0.5


@pytest.mark.parametrize("title", CLICKS)
def test_clicks_are_0_or_1(title: str) -> None:
    rewards = _all(title, "means") + _all(title, "noise")
    np.testing.assert_allclose(rewards, rewards.round(), atol=1e-12)
    assert set(rewards.round().ravel()) == {0.0, 1.0}
    assert 0.0 < _all(title, "means").min() < _all(title, "means").max() < 1.0


@pytest.mark.parametrize("title", CATALOGUES)
def test_random_catalogues_stay_for_a_replication(title: str) -> None:
    first, last = _blocks(title)[0].actions, _blocks(title)[-1].actions
    np.testing.assert_array_equal(first, last)
    assert not np.allclose(first, _blocks(title, 1)[0].actions)


def test_catalogues_take_turns() -> None:
    actions = _all("two catalogues take turns, an arm of each turns best", "actions")
    assert not actions[::2, 3:].any()
    assert not actions[1::2, :3].any()
    assert (actions.sum(axis=1) == 1).all()


def test_lengths_are_log_uniform() -> None:
    actions = _all("d = 3, one jump, norms of actions from 0.001 to 1", "actions")
    lengths = np.log10(np.linalg.norm(actions, axis=1)).ravel()
    deciles = np.quantile(lengths, np.linspace(0, 1, 11))
    np.testing.assert_allclose(deciles, np.linspace(-3, 0, 11), atol=0.05)


def test_an_intercept_is_the_same_for_all_actions() -> None:
    actions = _all("rewards far from zero, intercept, one jump", "actions")
    assert (actions[:, 0] == 0.7).all()
    assert np.linalg.norm(actions[:, 1:], axis=1).max() == pytest.approx(0.7)


def test_heavy_tails_and_a_level_that_wanders() -> None:
    title = "five arms, one change, Student-t noise with 3 degrees of freedom"
    # The third quartile of Student's t with 3 degrees of freedom is 0.765.
    assert np.median(np.abs(_all(title, "noise"))) == pytest.approx(0.35 * 0.765, rel=0.1)
    noise = _all("d = 3, two jumps, noise level wanders over a factor of ten", "noise").ravel()
    loud, quiet = (noise[middle - 100 : middle + 100].std() for middle in (471, 1414))
    assert 8 < loud / quiet < 12


def test_outliers_are_as_many_and_as_large_as_is_said() -> None:
    title = "d = 3, one reward in 20 far off, no change"
    noise = _all(title, "noise").ravel()
    # Beyond four usual deviations: 5% of the rounds, minus the 21% of them that are closer.
    share = np.mean(np.abs(noise) > 0.4)
    assert share == pytest.approx(0.05 * 0.79, abs=4 * (0.04 / len(noise)) ** 0.5)
    assert PLACES[title].problem.noise == pytest.approx((0.95 * 0.1**2 + 0.05 * 1.5**2) ** 0.5)


@pytest.mark.parametrize("title", DEVIATIONS)
def test_the_noise_told_is_the_deviation_at_the_arm_that_is_best_at_first(title: str) -> None:
    means, noise = _all(title, "means"), _all(title, "noise")
    first = (PLACES[title].environment.change_points or (len(means) + 1,))[0] - 1
    best = means[:first].argmax(axis=1)
    there = noise[np.arange(first), best] if noise.shape[1] > 1 else noise[:first, 0]
    # Mean fourth powers of 20 to 50 and 3000 rounds or more: errors of 7% at most.
    assert there.std() == pytest.approx(PLACES[title].problem.noise, rel=0.2)


def test_sales_are_rare_and_have_the_means_that_are_said() -> None:
    rewards = np.concatenate(
        [
            _all(title, "means") + _all(title, "noise")
            for title in PLACES
            if "a sale" in title and "no change" in title
        ]
    )
    sold = rewards[:, 0] > 1e-12
    assert sold.mean() == pytest.approx(0.05, abs=4 * (0.05 / len(sold)) ** 0.5)
    np.testing.assert_allclose(rewards[~sold], 0.0, atol=1e-12)
    np.testing.assert_allclose(rewards[sold, 0], 3 * rewards[sold, 2])
    # A log-normal size with mean 0.3/0.05 and a deviation of 0.53 of that.
    error = 0.53 * 6.0 / sold.sum() ** 0.5
    assert rewards[sold, 0].mean() == pytest.approx(6.0, abs=4 * error)


def test_a_bound_that_nobody_knows_is_refused() -> None:
    with pytest.raises(TypeError, match="no bound"):
        theta_bound(RandomWalk(step=0.1))


def test_a_run_that_was_interrupted_gives_the_same_table(tmp_path: Path) -> None:
    groups = {"Short": (PLACES["d = 4, one jump, T = 1000"], PLACES[CLICKS[1]])}
    said: list[str] = []

    def run(folder: str, say: Say = said.append) -> tuple[list[Row], str]:
        rows = section.play("short", groups, quick=True, say=say, results=tmp_path / folder)
        return rows, (tmp_path / folder / "short" / "quick" / "short.md").read_text("utf-8")

    def interrupt(message: str) -> None:
        if message.startswith(f"short, {CLICKS[1]}: 1 of 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("resumed", interrupt)
    rows, text = run("resumed")
    # The whole first and half of the second had been saved.
    assert [message.rpartition(": ")[2][:6] for message in said] == ["2 of 2", "1 of 2", "2 of 2"]
    assert run("afresh") == (rows, text)
    assert text.startswith(
        "A quick look: 2 replications of 500 rounds; later changes do not come.\n\n"
        "| Short | AdaptiveLinUCB |"
    )
    assert [row.subject for row in rows] == [place.title for place in groups["Short"]]
    assert all(row.low < row.median < row.high for row in rows)


def test_another_environment_is_not_taken_for_what_is_kept(tmp_path: Path) -> None:
    def score(title: str) -> section.Score:
        place = Place("one title", PLACES[title].environment, PLACES[title].action_bound)
        return section.score("one", section.QUICK.cut(place), 2, tmp_path, lambda message: None)

    first, other = score(CLICKS[0]), score("d = 4, one jump, T = 1000")
    assert not np.array_equal(first.ours, other.ours)
    # The best of more policies is no worse.
    assert first.twice.mean() <= first.best.mean()
