"""Compares every linear policy with sums over its whole history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from driftbandits import DLinUCB, LinUCB, OracleRestartLinUCB, SWLinUCB
from oracles import Advance, Bounds, Event, Exact, History, Late, Source, Truth

# The promised accuracy, relative to the norm of the quantity.
TOLERANCE = 1e-8


@dataclass(frozen=True)
class Case:
    """A stream, and the common settings of the policies that see it."""

    bounds: Bounds
    source: Source
    events: list[Event]
    actions: oracles.Floats

    @property
    def options(self) -> dict[str, Any]:
        """The common arguments of the policies."""
        return vars(self.bounds)


@st.composite
def log_uniform(draw: st.DrawFn, low: float, high: float) -> float:
    """Numbers from ``low`` to ``high``, evenly on a log scale, including both ends."""
    exponent = draw(st.floats(np.log10(low), np.log10(high)))
    return float(np.clip(10.0**exponent, low, high))


@st.composite
def cases(
    draw: st.DrawFn, *, fractional: bool | None = None, kinds: tuple[str, ...] = oracles.REGULAR
) -> Case:
    """Streams over the whole promised range of settings."""
    bounds = Bounds(
        dim=draw(st.integers(1, 50)),
        ridge=draw(log_uniform(1e-6, 1e3)),
        noise=draw(log_uniform(1e-2, 10)),
        delta=draw(log_uniform(1e-4, 0.5)),
        theta_bound=draw(log_uniform(0.1, 10)),
        action_bound=draw(log_uniform(0.1, 1)),
    )
    source = Source(
        rng=np.random.default_rng(draw(st.integers(0, 2**32))),
        dim=bounds.dim,
        kind=draw(st.sampled_from(kinds)),
        action_bound=bounds.action_bound,
        reward_scale=draw(log_uniform(1e-3, 1e6)),
    )
    fraction = draw(st.booleans()) if fractional is None else fractional
    events = oracles.random_events(source, draw(st.integers(1, 80)), fractional=fraction)
    return Case(bounds, source, events, source.actions(draw(st.integers(1, 12))))


def discounts() -> st.SearchStrategy[float]:
    """γ from 0.5 to 1 − 1e-6."""
    return log_uniform(1e-6, 0.5).map(lambda forgotten: 1.0 - forgotten)


def apply(policy: Any, event: Event) -> None:
    """Pass an event to a policy."""
    if isinstance(event, Advance):
        policy.advance(rounds=event.rounds)
    elif isinstance(event, Late):
        policy.update(event.actions, event.rewards, round=event.rounds)
    elif len(event.rewards) == 1:
        policy.update(event.actions[0], event.rewards[0])
    else:
        policy.update(event.actions, event.rewards)


def assert_close(got: Any, expected: Exact, what: str, tolerance: float = TOLERANCE) -> None:
    """Agreement relative to the norm."""
    norm = float(np.linalg.norm(np.asarray(expected, dtype=float)))
    error = float(np.linalg.norm(np.asarray(oracles.exact(got) - expected, dtype=float)))
    assert error <= tolerance * norm, f"{what}: relative error {error / norm:.2e}"


def assert_agrees(
    policy: Any, truth: Truth, radius: np.longdouble, actions: Any, tolerance: float = TOLERANCE
) -> None:
    """Compare the outputs and sums of a policy with the truth."""
    assert_close(policy.design, truth.V, "V")
    assert_close(policy.squared_design, truth.V_squared, "V squared")
    assert_close(policy.moment, truth.b, "b")
    assert_close(policy.theta, truth.theta, "theta", tolerance)
    assert_close(policy.radius, radius, "radius")
    assert_close(policy.widths(actions), truth.widths(actions), "widths", tolerance)
    expected = truth.scores(actions, radius)
    assert_close(policy.scores(actions), expected, "scores", tolerance)
    assert_chooses(policy.select(actions), expected, tolerance)


def assert_chooses(chosen: int, scores: Exact, tolerance: float) -> None:
    """Check that the chosen action has the best score, up to rounding."""
    slack = 2 * tolerance * float(np.linalg.norm(np.asarray(scores, dtype=float)))
    assert scores[chosen] >= scores.max() - slack


def replay(
    policy: Any,
    case: Case,
    weigh: Callable[[History], Exact],
    radius: Callable[[History, Truth], np.longdouble],
) -> None:
    """Play the stream, and compare after one third, after two thirds and at the end."""
    history = History()
    stops = {len(case.events) * part // 3 for part in (1, 2, 3)}
    for position, event in enumerate(case.events, start=1):
        apply(policy, event)
        history.apply(event)
        if position in stops:
            k = case.bounds
            truth = history.truth(weigh(history), dim=k.dim, ridge=k.ridge)
            assert_agrees(policy, truth, radius(history, truth), case.actions)
    assert policy.round == history.clock + 1


@given(cases(), discounts())
def test_d_linucb(case: Case, gamma: float) -> None:
    k = case.bounds
    policy = DLinUCB(gamma=gamma, **case.options)
    replay(
        policy,
        case,
        lambda history: history.discounted(gamma),
        lambda _, truth: oracles.per_round_radius(
            k, mu=k.ridge, weight_squares=truth.weight_squares
        ),
    )


@given(cases(), discounts())
def test_d_linucb_with_the_determinant_radius(case: Case, gamma: float) -> None:
    k = case.bounds
    replay(
        DLinUCB(gamma=gamma, confidence="determinant", **case.options),
        case,
        lambda history: history.discounted(gamma),
        lambda _, truth: oracles.determinant_radius(k, mu=k.ridge, V_squared=truth.V_squared),
    )


@given(cases(), discounts())
def test_d_linucb_with_the_anytime_radius(case: Case, gamma: float) -> None:
    k = case.bounds
    replay(
        DLinUCB(gamma=gamma, confidence="anytime", **case.options),
        case,
        lambda history: history.discounted(gamma),
        lambda history, truth: oracles.anytime_radius(
            k, mu=k.ridge, weight_squares=truth.weight_squares, step=history.steps
        ),
    )


@given(cases(), discounts())
def test_d_linucb_with_the_anytime_determinant_radius(case: Case, gamma: float) -> None:
    k = case.bounds
    replay(
        DLinUCB(gamma=gamma, confidence="anytime-determinant", **case.options),
        case,
        lambda history: history.discounted(gamma),
        lambda history, truth: oracles.anytime_determinant_radius(
            k, mu=k.ridge, V_squared=truth.V_squared, step=history.steps
        ),
    )


@given(cases(), discounts(), st.booleans())
def test_d_linucb_with_the_blockwise_radius(case: Case, gamma: float, determinant: bool) -> None:
    """Also with late rewards: blocks are counted by the clock, not by the number of changes."""
    k = case.bounds

    def radius(history: History, truth: Truth) -> np.longdouble:
        return oracles.blockwise_radius(
            k,
            gamma=gamma,
            clock=history.clock,
            restored=history.clock,
            between=1,
            weight_squares=truth.weight_squares,
            gram_squared=truth.V_squared - k.ridge * np.eye(k.dim) if determinant else None,
        )

    confidence: Any = "blockwise-determinant" if determinant else "blockwise"
    policy = DLinUCB(gamma=gamma, confidence=confidence, **case.options)
    replay(policy, case, lambda history: history.discounted(gamma), radius)


@given(cases(), st.integers(1, 60))
def test_sw_linucb_as_published(case: Case, window: int) -> None:
    replay(
        SWLinUCB(window=window, **case.options),
        case,
        lambda history: history.windowed(window),
        lambda *_: oracles.published_window_radius(case.bounds, window=window),
    )


@given(cases(), st.integers(1, 60), st.integers(1, 10**6))
def test_sw_linucb_with_the_union_bound(case: Case, window: int, horizon: int) -> None:
    replay(
        SWLinUCB(window=window, horizon=horizon, confidence="union", **case.options),
        case,
        lambda history: history.windowed(window),
        lambda _, truth: oracles.union_window_radius(
            case.bounds, horizon=horizon, weight_squares=truth.weight_squares
        ),
    )


@given(cases(), st.sampled_from(["per-round", "determinant"]))
def test_linucb(case: Case, confidence: Any) -> None:
    k = case.bounds

    def radius(_: History, truth: Truth) -> np.longdouble:
        if confidence == "determinant":
            return oracles.determinant_radius(k, mu=k.ridge, V_squared=truth.V_squared)
        return oracles.per_round_radius(k, mu=k.ridge, weight_squares=truth.weight_squares)

    policy = LinUCB(confidence=confidence, **case.options)
    replay(policy, case, History.undiscounted, radius)


@given(cases(), st.sets(st.integers(1, 90), max_size=6))
def test_oracle_restart_linucb(case: Case, points: set[int]) -> None:
    change_points = tuple(sorted(points))
    k = case.bounds
    replay(
        OracleRestartLinUCB(change_points=change_points, **case.options),
        case,
        lambda history: history.restarted(change_points),
        lambda _, truth: oracles.per_round_radius(
            k, mu=k.ridge, weight_squares=truth.weight_squares
        ),
    )


def forgetful(case: Case) -> list[Any]:
    """Two objects of each policy."""
    options = case.options
    return [
        make()
        for make in (
            lambda: DLinUCB(gamma=0.9, **options),
            lambda: SWLinUCB(window=12, **options),
            lambda: LinUCB(**options),
            lambda: OracleRestartLinUCB(change_points=(4, 17), **options),
        )
        for _ in range(2)
    ]


@given(cases(kinds=oracles.DEGENERATE), discounts(), st.integers(1, 60))
def test_directions_that_are_never_played(case: Case, gamma: float, window: int) -> None:
    """If V is λ in some direction, rounding errors in its sums are divided by λ; see `Truth`."""
    k, history = case.bounds, History()
    policies: list[tuple[Any, Callable[[], Exact]]] = [
        (DLinUCB(gamma=gamma, **case.options), lambda: history.discounted(gamma)),
        (SWLinUCB(window=window, **case.options), lambda: history.windowed(window)),
        (LinUCB(**case.options), history.undiscounted),
    ]
    for event in case.events:
        history.apply(event)
        for policy, _ in policies:
            apply(policy, event)
    for policy, weigh in policies:
        truth = history.truth(weigh(), dim=k.dim, ridge=k.ridge)
        radius = oracles.exact(policy.radius)
        assert_agrees(policy, truth, radius, case.actions, max(TOLERANCE, 4 * truth.rounding))


@given(cases(fractional=False), st.integers(1, 40), st.data())
def test_late_rewards_count_as_if_on_time(case: Case, rounds: int, data: st.DataObject) -> None:
    actions, rewards = case.source.actions(rounds), case.source.rewards(rounds)
    order = data.draw(st.permutations(range(rounds)))
    arrived = data.draw(st.integers(0, rounds))
    policies = forgetful(case)
    for on_time, late in zip(policies[::2], policies[1::2], strict=True):
        for t in range(rounds):
            on_time.update(actions[t], rewards[t])
            late.advance()
        for t in order[:arrived]:
            late.update(actions[t], rewards[t], round=t + 1)
        rest = list(order[arrived:])
        if rest:
            late.update(actions[rest], rewards[rest], round=[t + 1 for t in rest])
        assert late.round == on_time.round == rounds + 1
        assert_same_memory(late, on_time, case)


def assert_same_memory(policy: Any, other: Any, case: Case) -> None:
    """Check that two policies have learned the same, up to rounding."""
    for name in ("design", "squared_design", "moment"):
        assert_close(getattr(policy, name), oracles.exact(getattr(other, name)), name)
    assert_close(policy.theta, oracles.exact(other.theta), "theta")
    assert_close(policy.radius, oracles.exact(other.radius), "radius")
    expected = oracles.exact(other.scores(case.actions))
    assert_close(policy.scores(case.actions), expected, "scores")


@pytest.mark.parametrize("late_by", [5, 6, 40])
def test_a_reward_whose_round_has_left_the_window_changes_nothing(late_by: int) -> None:
    policy = SWLinUCB(dim=2, window=5)
    for _ in range(50):
        policy.update([0.6, 0.8], 1.0)
    before = {name: array.copy() for name, array in policy._state._asdict().items()}
    policy.update([1.0, 0.0], 7.0, round=50 - late_by)
    for name, array in policy._state._asdict().items():
        np.testing.assert_array_equal(array, before[name])


def test_a_reward_from_before_the_restart_changes_nothing() -> None:
    policy = OracleRestartLinUCB(dim=2, change_points=(10,))
    for _ in range(12):
        policy.advance()
    policy.update([1.0, 0.0], 7.0, round=9)
    np.testing.assert_array_equal(policy.theta, np.zeros(2))
    policy.update([1.0, 0.0], 7.0, round=10)
    assert policy.theta[0] > 0


@given(st.floats(0.01, 0.99), st.integers(2, 200))
def test_a_late_reward_of_the_change_point_itself_counts(fraction: float, point: int) -> None:
    policy = OracleRestartLinUCB(dim=1, ridge=1.0, change_points=(point,))
    policy.advance(rounds=201 + fraction)
    policy.update([1.0], 7.0, round=point)
    assert policy.theta[0] == pytest.approx(3.5, rel=1e-12)


def test_an_early_reward_of_the_first_round_survives_a_change_point_there() -> None:
    policy = OracleRestartLinUCB(dim=1, ridge=1.0, change_points=(1,))
    policy.update([1.0], 7.0, round=1)
    policy.advance()
    assert policy.theta[0] == pytest.approx(3.5, rel=1e-12)


@given(cases(fractional=False), discounts())
def test_a_batch_is_one_round(case: Case, gamma: float) -> None:
    actions, rewards = case.source.actions(7), case.source.rewards(7)
    batch, single = (DLinUCB(gamma=gamma, **case.options) for _ in range(2))
    batch.update(actions[:3], rewards[:3])
    batch.update(actions[3:], rewards[3:])
    single.advance(rounds=2)
    for n in range(7):
        single.update(actions[n], rewards[n], round=1 if n < 3 else 2)
    assert batch.round == single.round == 3
    assert_same_memory(batch, single, case)


@given(cases(fractional=True), discounts(), st.integers(1, 20))
def test_time_may_be_moved_in_parts(case: Case, gamma: float, parts: int) -> None:
    whole, divided = (DLinUCB(gamma=gamma, **case.options) for _ in range(2))
    for event in case.events:
        apply(whole, event)
        apply(divided, event)
    whole.advance(rounds=3)
    for _ in range(parts):
        divided.advance(rounds=3 / parts)
    assert_same_memory(divided, whole, case)


def test_the_anytime_radius_counts_late_changes_too() -> None:
    on_time, late = (DLinUCB(dim=2, gamma=0.9, confidence="anytime") for _ in range(2))
    for _ in range(20):
        on_time.update([0.6, 0.8], 1.0)
        late.advance()
    for t in range(1, 21):
        late.update([0.6, 0.8], 1.0, round=t)
    assert late.radius > on_time.radius


def test_compiled_code_counts_late_changes_by_itself() -> None:
    """So callers of the kernels get the same anytime radius as the object."""
    by_object, by_kernel = (DLinUCB(dim=1, gamma=0.9, confidence="anytime") for _ in range(2))
    for policy in (by_object, by_kernel):
        policy.advance(rounds=9)
    rows, rewards = np.ones((3, 1)), np.ones(3)
    by_object.update(rows, rewards, round=[2, 9, 10])
    observed = np.array([2.0, 9.0, 10.0])
    by_kernel._calls.learn_many(by_kernel._packed, rows, rewards, observed, 0.0, 0)
    assert by_kernel.radius == by_object.radius


def test_a_late_reward_that_is_not_remembered_is_no_change() -> None:
    policy = SWLinUCB(dim=1, window=3)
    policy.advance(rounds=5)
    before = policy.state()
    policy.update([1.0], 1.0, round=2)
    for name, array in policy.state().items():
        np.testing.assert_array_equal(array, before[name])
