"""The leaderboard: its suite, its tables, its picture and its claims."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest

from driftbandits import DLinUCB, LinUCB, OracleRestartLinUCB, Problem, Random, SWLinUCB, register
from driftbandits.environments.random_paths import RandomJumps, SignFlips, SwitchingArm
from driftbandits.experiments import (
    contestants,
    leaderboard,
    run_leaderboard,
    standings,
    suite,
    trace,
)
from driftbandits.experiments.contestants import (
    NO_FORGETTING,
    RecordingProblem,
    enter,
    fixed_discounts,
    memory_label,
)
from driftbandits.experiments.recovery import CALM, checkpoints, recovery
from driftbandits.experiments.settings import prepare
from driftbandits.experiments.standings import average_rank
from driftbandits.experiments.standings_text import escape, markdown
from driftbandits.experiments.suites import GROUPS, SUITE
from driftbandits.experiments.yardsticks import geometric_mean, ratio_of_means, relative
from driftbandits.figures import plot_adaptive, plot_leaderboard, save
from driftbandits.policies import DynamicLinUCB, registered, registry

FEW = ("D-LinUCB", "LinUCB", "LinUCB-OR", "Random")
GRADUAL = {
    *("stationary", "slow", "random-walk", "periodic", "stationary-arms"),
    *("moving-level", "launches", "rotting-arms", "many-contexts"),
}
PROBLEM: dict[str, Any] = {"dim": 2, "horizon": 500, "budget": 2.0}


def short(*names: str, horizon: int = 700) -> dict[str, dict[str, Any]]:
    """Environments of the suite with few rounds, and with early changes so that they fit in."""
    settings = {name: {**suite()[name], "horizon": horizon} for name in names}
    for name in {"abrupt", "unseen-best"} & set(names):
        environment = dict(settings[name]["environment"])
        values = environment["path"]["values"][:2]
        path = {**environment["path"], "values": values, "change_points": [301]}
        settings[name] = {**settings[name], "environment": {**environment, "path": path}}
    return settings


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("leaderboard")
    environments = short("abrupt", "slow", "unseen-best")
    return run_leaderboard(folder, replications=4, environments=environments, policies=FEW)


# The suite


@pytest.mark.parametrize("name", [name for name in SUITE if name != "criteo"])
def test_every_environment_draws_within_its_bounds(name: str) -> None:
    settings = suite()[name]
    assert settings["name"] == name
    assert settings["description"].strip().endswith((".", ")."))
    environment, problem, _ = prepare(settings)
    assert bool(environment.change_points) == (name not in GRADUAL)
    assert problem.change_points == environment.change_points
    for block in environment.blocks(seed=3, replication=1):
        lengths = np.linalg.norm(block.actions, axis=1)
        assert lengths.max() <= problem.action_bound + 1e-9
        assert np.linalg.norm(block.parameters, axis=1).max() <= problem.theta_bound + 1e-9


def test_the_suite_differs_in_kind() -> None:
    assert len(SUITE) == len(set(SUITE)) == 27
    assert {group: len(names) for group, names in GROUPS.items()} == {"Drift": 18, "Everyday": 9}
    dims, noises = set(), set()
    for name, settings in suite().items():
        if name != "criteo":
            environment, _, _ = prepare(settings)
            dims.add(environment.dim)
            noises.add(environment.noise.level)
    assert {2, 20} <= dims
    assert {0.1, 1.0, 3.0} <= noises


def everything(name: str, field: str, replication: int = 0) -> Any:
    """Everything drawn in an environment of the suite, all rounds together."""
    environment, _, _ = prepare(suite()[name])
    blocks = environment.blocks(seed=3, replication=replication)
    return np.concatenate([getattr(block, field) for block in blocks])


def test_the_level_moves_and_the_differences_stay() -> None:
    means = everything("moving-level", "means")
    apart = np.ptp(means - means[:, :1], axis=0)
    np.testing.assert_allclose(apart, 0.0, atol=1e-12)
    assert np.ptp(means[:, 0]) == pytest.approx(1.0, rel=1e-3)
    np.testing.assert_allclose(means[400:], means[:-400], atol=1e-9)


def test_features_differ_by_their_units_and_rewards_do_not() -> None:
    spread = everything("unscaled-features", "actions").std(axis=(0, 2))
    # The same distribution in different units; 60,000 draws give errors of half a percent.
    np.testing.assert_allclose(spread / spread[-1], [1000, 30, 1, 1], rtol=0.02)
    assert np.abs(everything("unscaled-features", "means")).max() < 1


def test_launched_arms_are_what_the_description_says() -> None:
    means = everything("launches", "means")
    assert means[[1999, 2000, 3999, 4000]].max(axis=1).tolist() == [0.5, 0.6, 0.6, 0.6]
    assert means[[3999, 4000], 5].tolist() == [0.3, 0.1]


def test_every_rotting_arm_is_the_best_for_a_while() -> None:
    best = everything("rotting-arms", "means").argmax(axis=1)
    assert np.count_nonzero(np.diff(best)) == 3
    assert set(best) == {0, 1, 2, 3}


@pytest.mark.parametrize("name", ["moving-level", "launches", "rotting-arms", "sales"])
def test_the_first_arm_is_not_the_best_at_first(name: str) -> None:
    """If all arms look equal, the first is played: not exploring must not be lucky."""
    assert everything(name, "means")[0].argmax() > 0


@pytest.mark.parametrize(("name", "noise"), [("clicks", 0.21), ("sales", 1.6)])
def test_the_noise_that_is_told_is_the_deviation_at_the_best_action(
    name: str, noise: float
) -> None:
    means, drawn = everything(name, "means"), everything(name, "noise")
    first = prepare(suite()[name])[0].change_points[0] - 1
    best = means[:first].argmax(axis=1)
    deviation = drawn[np.arange(first), best].std()
    # Fourth moments are 20 and 150 times the squares of the variances: errors of 3% and 9%.
    assert deviation == pytest.approx(noise, rel=0.25)


def test_click_rates_are_1_to_5_percent() -> None:
    rates, rewards = everything("clicks", "means"), everything("clicks", "noise")
    assert 0.0139 < rates.min() < 0.016
    assert 0.047 < rates.max() < 0.0491
    assert set((rates + rewards).round(9).ravel()) == {0.0, 1.0}


@pytest.mark.parametrize(("name", "share"), [("random-delays", 0.0), ("missing-rewards", 0.3)])
def test_rewards_come_late_or_never(name: str, share: float) -> None:
    environment, _, _ = prepare(suite()[name])
    assert environment.delays is not None
    late = environment.delays.start(np.random.default_rng(0))(40_000)
    assert np.isinf(late).mean() == pytest.approx(share, abs=4 * (0.25 / 40_000) ** 0.5)
    if not share:
        assert late.mean() == pytest.approx(50.0, abs=4 * 50 / 40_000**0.5)


def values_of(path: Any, rounds: int, replication: int = 0) -> Any:
    return path.start(np.random.default_rng(replication))(rounds)


def test_random_jumps_are_drawn_anew_in_each_replication_and_no_wider_than_asked() -> None:
    path = RandomJumps(dim=3, change_points=(11, 21), norm=0.5, angle=0.3)
    first, second = values_of(path, 30), values_of(path, 30, replication=1)
    assert not np.allclose(first, second)
    assert np.linalg.norm(first, axis=1) == pytest.approx(0.5)
    assert np.flatnonzero(np.any(np.diff(first, axis=0) != 0, axis=1)).tolist() == [9, 19]
    cosines = np.array([first[9] @ first[10], first[19] @ first[20]]) / 0.25
    assert (np.arccos(cosines) <= 0.3 + 1e-9).all()
    assert not np.allclose(values_of(RandomJumps(dim=2, change_points=(2,)), 2)[0], [0, 0])


def test_sign_flips_flip_that_share() -> None:
    values = values_of(SignFlips(dim=10, share=0.6, change_points=(5,)), 8)
    assert np.sum(values[3] == -values[4]) == 6
    assert np.abs(values[3]) == pytest.approx(np.abs(values[4]))


def test_the_switching_arm_switches() -> None:
    values = values_of(SwitchingArm(dim=3, change_points=tuple(range(2, 40))), 39)
    best = values.argmax(axis=1)
    assert (np.diff(best) != 0).all()
    assert set(best) == {0, 1, 2}
    assert values.max(axis=1) == pytest.approx(0.75)
    with pytest.raises(ValueError, match="best must exceed others"):
        SwitchingArm(dim=3, change_points=(), best=0.1)


# Who plays


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (Random, ()),
        (LinUCB, ("σ", "S")),
        (DynamicLinUCB, ("σ", "S")),
        (DLinUCB, ("B", "T", "σ", "S")),
        (SWLinUCB, ("B", "T", "σ", "S")),
        (OracleRestartLinUCB, ("change points", "σ", "S")),
    ],
)
def test_what_policies_are_told_is_what_their_tuning_reads(policy: Any, told: Any) -> None:
    problem = RecordingProblem(**PROBLEM, change_points=(7,))
    tuned = policy.tuned(problem)
    assert problem.told == told
    assert tuned.config == policy.tuned(Problem(**PROBLEM, change_points=(7,))).config


def test_the_adaptive_policy_is_told_nothing() -> None:
    problem = RecordingProblem(**PROBLEM)
    registered()["AdaptiveLinUCB"].tuned(problem)
    assert problem.told == ()


def test_who_needs_change_points_is_left_out_of_gradual_drift() -> None:
    for name, plays in (("slow", False), ("stationary", True), ("abrupt", True)):
        environment, problem, _ = prepare(suite()[name])
        contestant = enter("LinUCB-OR", OracleRestartLinUCB, environment, problem)
        assert (contestant.policy is not None) == plays
        assert bool(contestant.reason) != plays


def test_fixed_discounts_are_a_geometric_grid() -> None:
    policies = fixed_discounts(Problem(dim=3, horizon=6000, budget=1.0, noise=0.5))
    memories = [1 / (1 - p.gamma) for p in policies.values() if isinstance(p, DLinUCB)]
    assert memories[0] == pytest.approx(20.0)
    assert memories[-1] == pytest.approx(10240.0)
    assert np.diff(np.log(memories)) == pytest.approx(np.log(2) / 2)
    assert isinstance(policies[NO_FORGETTING], LinUCB)
    assert list(policies)[1] == memory_label(memories[1]) == "D-LinUCB, memory 28"


# What is measured


def test_the_ratio_and_its_error_are_those_of_the_bootstrap() -> None:
    generator = np.random.default_rng(0)
    base = generator.normal(10, 2, 400)
    values = 1.5 * base + generator.normal(0, 1, 400)
    ratio, error = ratio_of_means(values, base)
    draws = generator.integers(400, size=(4000, 400))
    resampled = values[draws].mean(axis=1) / base[draws].mean(axis=1)
    assert ratio == pytest.approx(values.mean() / base.mean())
    assert error == pytest.approx(resampled.std(), rel=0.05)


def test_a_ratio_to_no_regret_at_all_has_no_interval() -> None:
    some, none = np.array([1.0, 2.0]), np.zeros(2)
    for values, base, ratio in ((some, none, np.inf), (none, none, 1.0), (none, some, 0.0)):
        found = relative(values, base)
        assert found.ratio == ratio
        assert np.isnan(found.shares).all()
    assert np.isnan(relative(some, none).low)


def test_a_mean_of_ratios_and_its_interval_are_those_of_the_bootstrap() -> None:
    """Three environments share their noise, so replications are resampled for all together."""
    generator = np.random.default_rng(0)
    noise = generator.normal(0, 1, 400)
    base = 10 + generator.normal(0, 1, (3, 400)) + noise
    values = np.array([[0.5], [1.0], [3.0]]) * (base + 2 * noise + generator.normal(0, 1, (3, 400)))
    compared = [relative(*pair) for pair in zip(values, base, strict=True)]
    mean, low, high = geometric_mean([of.ratio for of in compared], [of.shares for of in compared])
    draws = generator.integers(400, size=(4000, 400))
    logs = np.mean(
        np.log(values[:, draws].mean(axis=2) / base[:, draws].mean(axis=2)),
        axis=0,
    )
    assert mean == pytest.approx(np.prod([of.ratio for of in compared]) ** (1 / 3))
    assert np.log([low, high]) == pytest.approx(
        np.log(mean) + 1.966 * logs.std() * np.array([-1, 1]), abs=0.1 * logs.std()
    )


def test_recovery_is_the_first_lag_at_which_half_of_random_is_reached() -> None:
    rounds = np.arange(0, 1001, 10, dtype=np.float64)[1:]
    slope = np.where((rounds > 400) & (rounds <= 480), 1.0, 0.1)
    regret, random = np.cumsum(10 * slope), np.cumsum(np.full(100, 10.0))
    assert recovery(rounds, regret, random, (401,)) == (80.0, 0, 1)
    never = np.where(rounds > 400, 1.0, 0.1)
    assert recovery(rounds, np.cumsum(10 * never), random, (401,)) == (600.0, 1, 1)
    assert recovery(rounds, regret, random, ()) is None
    assert recovery(rounds, regret, random, (1001 - CALM + 1,)) is None


def test_checkpoints_are_close_after_a_change() -> None:
    environment, _, _ = prepare(suite()["abrupt"])
    points = checkpoints(environment)
    assert {1000, 1010, 1020, 1030, 1040, 1060, 2000, 6000} <= set(points)
    assert len(points) < 130


# The tables


def test_a_row_for_everyone_everywhere(scores: pd.DataFrame) -> None:
    assert set(scores["environment"]) == {"abrupt", "slow", "unseen-best"}
    needed = {"policy", "told", "regret", "se", "ratio", "low", "high", "relative", "rounds"}
    assert needed | {"group", "twice", "twice_low", "twice_high"} <= set(scores.columns)
    assert (scores["twice"].dropna() >= scores["ratio"].dropna() - 1e-12).all()
    assert scores.groupby("environment")["yardstick"].sum().eq(1).all()
    assert scores.loc[scores["yardstick"], "ratio"].eq(1.0).all()
    fixed: Any = scores[scores["fixed"]]
    assert (fixed["ratio"] >= 1.0).all()
    absent = scores[scores["regret"].isna()]
    assert list(zip(absent["policy"], absent["environment"], strict=True)) == [
        ("LinUCB-OR", "slow")
    ]


def test_the_same_policy_meets_the_same_numbers_in_both_roles(scores: pd.DataFrame) -> None:
    by: Any = scores.set_index(["environment", "policy"])["regret"]
    for name in ("abrupt", "slow", "unseen-best"):
        assert by[name, "LinUCB"] == by[name, NO_FORGETTING]


def test_standings(scores: pd.DataFrame) -> None:
    table: Any = standings(scores).set_index("policy")
    assert table.loc["Random", "rank"] > table.loc["D-LinUCB", "rank"]
    assert table.loc["Random", "told"] == ""
    assert table.loc["D-LinUCB", "time"] == pytest.approx(1.0, abs=0.5)
    assert table.loc["LinUCB-OR", "environments"] == 2
    assert table.loc["LinUCB-OR", "recovery"] <= table.loc["LinUCB", "recovery"]
    assert str(table.index[-1]).startswith("D-LinUCB, ")
    assert table["ratio"].iloc[-1] >= 1.0


def test_equals_share_a_place() -> None:
    rows = [("a", "x", 1.0), ("b", "x", 1.0), ("c", "x", 2.0)]
    frame = pd.DataFrame(rows, columns=["policy", "environment", "regret"])
    assert [average_rank(frame, label, "abc") for label in "abc"] == [1.5, 1.5, 3.0]


def test_markdown_escapes_and_says_who_is_left_out(scores: pd.DataFrame) -> None:
    assert escape("a|b_c*\nd") == r"a\|b\_c\* d"
    text = markdown(scores)
    assert "LinUCB-OR is left out of slow: it has to be told change points" in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    widths = [line.count("|") for line in tables]
    # Standings of four policies and of the best memory. Then regrets and two tables of ratios, with
    # one row for each of three environments. Each table has a header and a line below it.
    assert widths == [11] * 7 + [8] * 5 + [6] * 10


def test_every_group_has_its_own_tables(scores: pd.DataFrame) -> None:
    grouped = scores.assign(group=scores["environment"].map(lambda name: f"of {name}"))
    text = markdown(grouped[grouped["environment"] != "slow"])
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["## All environments", "## of abrupt", "## of unseen-best"]
    assert [line for line in markdown(scores).splitlines() if line.startswith("## ")] == [
        "## Drift"
    ]


def test_what_is_read_from_a_file_has_no_intervals_of_means(
    scores: pd.DataFrame, tmp_path: Path
) -> None:
    run_leaderboard(
        tmp_path, replications=2, environments=short("slow", horizon=100), policies=["LinUCB"]
    )
    saved = pd.read_csv(tmp_path / "leaderboard.csv")
    table = standings(saved)
    assert {"ratio", "twice", "worst", "twice_worst"} <= set(table.columns)
    assert "low" not in table.columns
    assert {"low", "high", "twice_low", "twice_high"} <= set(standings(scores).columns)


def test_the_picture(scores: pd.DataFrame, tmp_path: Path) -> None:
    figure = plot_leaderboard(scores)
    axes = figure.axes[0]
    names = list(scores["environment"].drop_duplicates())
    assert [label.get_text() for label in axes.get_xticklabels()] == names
    assert {label.get_text() for label in axes.get_yticklabels()} == set(FEW)
    assert "–" in [text.get_text() for text in axes.texts]
    assert [path.suffix for path in save(figure, tmp_path / "board")] == [".png", ".pdf", ".svg"]
    twice = plot_leaderboard(scores, relative_to="twice", policies=["LinUCB"]).axes[0]
    shown = scores[scores["policy"] == "LinUCB"].set_index("environment")["twice"]
    assert [text.get_text() for text in twice.texts] == [f"{shown[name]:.2f}" for name in names]


def test_again_it_plays_nothing_and_changes_nothing(tmp_path: Path) -> None:
    environments = short("slow", horizon=100)
    seen: list[tuple[str, int, int]] = []
    options: dict[str, Any] = {"replications": 2, "environments": environments, "policies": FEW[:2]}
    run_leaderboard(tmp_path, **options)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    run_leaderboard(tmp_path, **options, progress=lambda *step: seen.append(step))
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    assert seen == [(f"slow: {what}", 2, 2) for what in ("reference", "D-LinUCB", "LinUCB")]


def test_interrupted_it_goes_on(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "replications": 3,
        "environments": short("slow", horizon=100),
        "policies": ["LinUCB"],
        "workers": 1,
    }

    def interrupt(label: str, done: int, total: int) -> None:
        if label == "slow: LinUCB" and done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_leaderboard(tmp_path, **options, progress=interrupt)
    found: dict[str, int] = {}

    def note(label: str, done: int, total: int) -> None:
        found.setdefault(label, done)

    again = run_leaderboard(tmp_path, **options, progress=note)
    assert found == {"slow: reference": 3, "slow: LinUCB": 2}
    pd.testing.assert_series_equal(
        again["regret"], run_leaderboard(tmp_path / "whole", **options)["regret"]
    )


@pytest.fixture
def newcomer() -> Iterator[str]:
    @register("new|comer", "LinUCB under another name")
    @dataclass(frozen=True, kw_only=True, eq=False)
    class Newcomer(LinUCB):
        @classmethod
        def tuned(cls, problem: Problem) -> Self:
            return cls(dim=problem.dim, noise=problem.noise)

    yield "new|comer"
    registry._REGISTRY.pop("new|comer")


def test_a_new_policy_joins(newcomer: str, tmp_path: Path) -> None:
    environments = short("slow", horizon=100)
    table = run_leaderboard(
        tmp_path, replications=2, environments=environments, policies=["LinUCB", newcomer]
    )
    row: Any = standings(table).set_index("policy").loc[newcomer]
    assert row["told"] == "σ"
    assert r"new\|comer" in (tmp_path / "leaderboard.md").read_text("utf-8")
    with pytest.raises(ValueError, match="policy must be one of"):
        run_leaderboard(tmp_path, replications=2, environments=environments, policies=["nobody"])


# The explanation of an adaptive run


def test_a_trace_and_its_picture() -> None:
    environment, problem, _ = prepare(short("abrupt")["abrupt"])
    policy = registered()["AdaptiveLinUCB"].tuned(problem)
    frame: Any = trace(policy, environment, count=70)
    assert list(frame["round"]) == list(range(10, 701, 10))
    assert frame.attrs["change_points"] == [301]
    settled, after = frame["memory"][29], frame["memory"][35]
    assert settled > 100 > after
    last = frame.iloc[-1]
    assert abs(last["theta_1"] - last["true_1"]) < 2 * last["half_1"] < 3
    assert (frame["half_1"] > 0).all()
    assert [axes.get_ylabel() for axes in plot_adaptive(frame).axes] == [
        "parameter",
        "memory, rounds",
        "noise level",
    ]
    with pytest.raises(ValueError, match="policy must have memory"):
        trace(Random(dim=2), environment)


# The headline claims, at the suite's own size


@pytest.mark.thorough
def test_the_adaptive_policy_is_close_to_the_best_fixed_discount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Radii in hindsight and the speed of policies would take half of the time; leave them out.
    monkeypatch.setattr(contestants, "RADII", ())
    speed = {"microseconds": 1.0, "relative": 1.0}
    monkeypatch.setattr(leaderboard, "time_per_round", lambda *who: speed)
    names = ("abrupt", "slow", "stationary", "periodic", "unseen-best", "switching-arms")
    rivals = ("D-LinUCB", "SW-LinUCB", "dLinUCB", "LinUCB")
    table = run_leaderboard(
        tmp_path,
        replications=100,
        seed=1,
        environments={name: suite()[name] for name in names},
        policies=("AdaptiveLinUCB", *rivals),
    )
    mine: Any = table[table["policy"] == "AdaptiveLinUCB"].set_index("environment")
    assert (mine["low"] <= 1.25).all()
    assert (mine["ratio"] <= 1.25).all()
    assert mine.loc["abrupt", "high"] < 2 / 3
    places: Any = standings(table).set_index("policy")
    assert places.loc["AdaptiveLinUCB", "rank"] == places["rank"].min()
    assert (places.loc["AdaptiveLinUCB", "ratio"] < places.loc[list(rivals), "ratio"]).all()
