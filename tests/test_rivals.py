"""The benchmark against tuned libraries: its grids, its choice, and its saved results."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from benchmarks.libraries import play
from studies import rivals
from studies.grids import Setting, points, settings

from driftbandits import DLinUCB
from driftbandits.core.arrays import Array

PLAN = rivals.Plan(tried=1, finalists=2, retried=2, replications=2, horizon=50)


class Stubborn:
    """Plays one action for ever."""

    made: ClassVar[int] = 0

    def __init__(self, *, action: int, seed: int) -> None:
        type(self).made += 1
        self.action = action

    def select(self, actions: Array) -> int:
        return self.action

    def update(self, action: Array, reward: float) -> None:
        pass


@pytest.fixture
def course(tmp_path: Path) -> rivals.Course:
    Stubborn.made = 0
    return rivals._course("unseen-best", PLAN, tmp_path)


def _stubborn(action: int, **options: Any) -> Setting:
    return Setting(Stubborn, {"action": action}, f"action {action}", **options)


def test_points_of_a_grid_know_where_its_ends_are() -> None:
    ends = {tuple(values.values()): ends for values, ends in points({"a": (1, 2, 3), "b": (4, 5)})}
    assert len(ends) == 6
    assert ends[1, 4] == ("a", "b")
    assert ends[2, 5] == ("b",)


def test_nothing_lies_beyond_no_forgetting() -> None:
    ends = {s.words: s.ends for s in settings(50)["bayesianbandits"]}
    assert ends["rate 1.0 noise 0.4"] == ()
    assert ends["rate 0.95 noise 0.4"] == ("rate",)


def test_every_setting_has_words_of_its_own_and_steps_grow_with_the_actions() -> None:
    for tried in settings(4).values():
        assert len({setting.words for setting in tried}) == len(tried)
    few, many = (settings(count)["vowpalwabbit"][0].words for count in (4, 50))
    assert few.endswith("-l 0.08")
    assert many.endswith("-l 1")


def test_the_best_setting_is_chosen_and_its_end_is_said(course: rivals.Course) -> None:
    tried = [_stubborn(3), _stubborn(0, ends=("action",)), _stubborn(1)]
    tuned = rivals.tune(course, "numpy", tried, PLAN)
    assert tuned.setting.options == {"action": 0}
    assert tuned.note.startswith("chosen: action 0 (action at the end of its grid)")
    assert "action 3: 25" in tuned.note


def test_what_was_played_is_kept_and_gone_on_with(course: rivals.Course) -> None:
    first = course.regrets("numpy", _stubborn(1), rivals.SEED, 2)
    again = course.regrets("numpy", _stubborn(1), rivals.SEED, 3)
    np.testing.assert_array_equal(first, again[:2])
    assert Stubborn.made == 3
    course.regrets("numpy", _stubborn(1), rivals.TUNING_SEED, 1)
    assert Stubborn.made == 4


def test_rivals_meet_the_rounds_that_our_policies_meet(course: rivals.Course) -> None:
    simulated = rivals._ours(course, 2)[rivals.PAPER]
    played = [
        play(DLinUCB.tuned(course.problem), course.environment, rivals.SEED, replication).regret
        for replication in range(2)
    ]
    np.testing.assert_allclose(played, simulated)


def test_differences_are_paired_and_judged() -> None:
    ours = np.array([10.0, 20.0, 30.0])
    regrets = {rivals.OURS: ours, "worse": 1.1 * ours, "better": ours - 1.0}
    rows = rivals.rows_of("slow", regrets, dict.fromkeys(regrets, ""))
    apart = {row.subject: row for row in rows if row.quantity == "difference of regret"}
    worse = apart[f"worse − {rivals.OURS}, slow"]
    assert worse.median == pytest.approx(2.0)
    assert worse.high - worse.median == pytest.approx(1.0 / np.sqrt(3.0))
    assert worse.note.endswith("ahead")
    assert apart[f"better − {rivals.OURS}, slow"].note.endswith("behind")
    assert "level" in rivals.verdict(np.array([-1.0, 1.0, 0.5]))
