"""Compares discount, window and restart length with the formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from driftbandits import DLinUCB, Problem, SWLinUCB
from driftbandits.theory import tuning

dims = st.integers(1, 100)
horizons = st.integers(10, 10**7)
budgets = st.floats(1e-3, 1e3)


@given(dims, horizons, budgets)
def test_discount(dim: int, horizon: int, budget: float) -> None:
    assume(budget < dim * horizon)
    options: dict[str, Any] = {"dim": dim, "horizon": horizon, "budget": budget}
    paper = 1 - (budget / (dim * horizon)) ** (2 / 3)
    assert tuning.discount(**options) == pytest.approx(paper, rel=1e-12)
    corrected = 1 - max(1 / horizon, (budget / (dim * horizon)) ** 0.5)
    assert tuning.discount(tuning="corrected", **options) == pytest.approx(corrected, rel=1e-12)
    refined = 1 - max(1 / horizon, dim**-0.75 * (budget / horizon) ** 0.5)
    assert tuning.discount(tuning="refined", **options) == pytest.approx(refined, rel=1e-12)


@given(dims, horizons, budgets)
def test_window_and_restart_length(dim: int, horizon: int, budget: float) -> None:
    options: dict[str, Any] = {"dim": dim, "horizon": horizon, "budget": budget}
    paper = (dim * horizon / budget) ** (2 / 3)
    corrected = min(horizon, (dim * horizon / budget) ** 0.5)
    refined = min(horizon, dim**0.75 * (horizon / budget) ** 0.5)
    for name, length in (("paper", paper), ("corrected", corrected), ("refined", refined)):
        for rule in (tuning.window, tuning.restart_length):
            got = rule(tuning=name, **options)  # type: ignore[arg-type]
            assert isinstance(got, int)
            # The nearest integer; a tie or the last digit may decide either way.
            assert abs(got - max(length, 1)) <= 0.5 + 1e-9 * length


@given(dims, horizons)
def test_an_unknown_budget(dim: int, horizon: int) -> None:
    assert tuning.window(dim=dim, horizon=horizon) == pytest.approx(
        (dim * horizon) ** (2 / 3), abs=0.5 + 1e-6
    )
    assert tuning.discount(dim=dim, horizon=horizon) == pytest.approx(
        1 - (1 / (dim * horizon)) ** (2 / 3), rel=1e-12
    )


@pytest.mark.parametrize("name", ["corrected", "refined"])
@given(dim=dims, horizon=horizons)
def test_no_jump_where_drift_vanishes(name: Any, dim: int, horizon: int) -> None:
    options: dict[str, Any] = {"dim": dim, "horizon": horizon, "tuning": name}
    for rule in (tuning.window, tuning.discount):
        assert rule(budget=1e-9, **options) == rule(budget=0.0, **options)
    lengths = [tuning.window(budget=b, **options) for b in (0.0, 1e-9, 1e-3, 1.0, 1e3)]
    assert lengths == sorted(lengths, reverse=True)


@pytest.mark.parametrize(("name", "root"), [("corrected", True), ("refined", False)])
def test_corrected_and_refined_windows_minimise_their_bounds(name: Any, root: bool) -> None:
    """At λ = d: √d B l^{3/2}/√λ + dT/√l with the usual bias; the refined one has no √d.

    The rule equals the numerical minimum up to the constant √3.
    """
    for dim, horizon, budget in ((2, 6000, 1.5), (20, 10**5, 3.0), (50, 10**6, 10.0)):
        lengths = np.arange(1.0, horizon, max(1, horizon // 10**5))
        bias = budget * lengths**1.5 * (math.sqrt(dim) if root else 1.0) / math.sqrt(dim)
        best = lengths[np.argmin(bias + dim * horizon / np.sqrt(lengths))]
        rule = tuning.window(dim=dim, horizon=horizon, budget=budget, tuning=name)
        assert rule == pytest.approx(best * math.sqrt(3), rel=0.02)


def test_the_setting_of_the_papers_first_experiment() -> None:
    """A quarter turn and a half: d = 2, T = 6000, with the paper's tuning."""
    assert tuning.window(dim=2, horizon=6000, budget=1.5708) == 388


def test_policies_are_tuned_by_the_rules_and_say_so() -> None:
    options: dict[str, Any] = {"dim": 3, "horizon": 5000, "budget": 2.5}
    problem = Problem(**options)
    assert DLinUCB.tuned(problem).gamma == tuning.discount(**options)
    assert SWLinUCB.tuned(problem).window == tuning.window(**options)
    for policy in (DLinUCB, SWLinUCB):
        assert policy.tuned(problem).ridge == problem.ridge
        assert policy.tuned(problem, tuning="corrected").ridge == 3.0
        assert policy.tuned(problem, tuning="corrected", ridge=0.5).ridge == 0.5
        assert "paper" in str(policy.tuned.__doc__)
        assert "corrected" in str(policy.tuned.__doc__)
    corrected = tuning.discount(tuning="corrected", **options)
    assert DLinUCB.tuned(problem, tuning="corrected").gamma == corrected


BAD = [
    ("dim", {"dim": 0}),
    ("dim", {"dim": 2.5}),
    ("horizon", {"horizon": 0}),
    ("horizon", {"horizon": True}),
    ("budget", {"budget": -1.0}),
    ("budget", {"budget": float("nan")}),
    ("budget", {"budget": float("inf")}),
    ("tuning", {"tuning": "best"}),
]


@pytest.mark.parametrize(("name", "changes"), BAD)
@pytest.mark.parametrize("rule", [tuning.discount, tuning.window, tuning.restart_length])
def test_bad_arguments(rule: Any, name: str, changes: dict[str, Any]) -> None:
    options = {"dim": 2, "horizon": 1000, "budget": 1.0} | changes
    value = str(changes[name])
    with pytest.raises(ValueError, match=f"{name} must.*{value}"):
        rule(**options)


def test_a_horizon_that_leaves_no_discount_is_refused() -> None:
    with pytest.raises(ValueError, match=r"horizon must.*got 1"):
        tuning.discount(dim=2, horizon=1, budget=0.0)


@pytest.mark.parametrize("name", tuning.TUNINGS)
def test_a_budget_that_leaves_no_discount_is_refused(name: Any) -> None:
    with pytest.raises(ValueError, match=r"budget must.*got 20"):
        tuning.discount(dim=1, horizon=10, budget=20.0, tuning=name)
