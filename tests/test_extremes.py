"""Settings and rewards of any size are computed correctly, or refused with the reason.

Widths are compared with exact fractions, which have no rounding.
"""

from __future__ import annotations

import math
import warnings
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftbandits import (
    BOB,
    AdaptiveLinUCB,
    DetectRestartLinUCB,
    DLinTS,
    DLinUCB,
    DRandLinUCB,
    DynamicLinUCB,
    LBWeightUCB,
    LinUCB,
    OracleRestartLinUCB,
    RestartUCB,
    SWLinUCB,
    load,
)
from driftbandits.core.arrays import Array
from driftbandits.core.storage import read_state, write_state
from driftbandits.policies import linear
from driftbandits.policies.adaptive.policy import CONSTANTS
from driftbandits.policies.linear import LARGEST_RATIO, LinearPolicy

FIRST: dict[type[LinearPolicy], dict[str, Any]] = {
    DLinUCB: {"gamma": 0.9},
    SWLinUCB: {"window": 7},
    LinUCB: {},
    OracleRestartLinUCB: {"change_points": (5,)},
    DynamicLinUCB: {},
    LBWeightUCB: {"gamma": 0.9},
    RestartUCB: {"length": 9},
    DRandLinUCB: {"gamma": 0.9},
    DLinTS: {"gamma": 0.9},
    BOB: {"horizon": 100},
    DetectRestartLinUCB: {},
}

# Each gave NaN, infinity or wrong digits.
UNFIT = [
    ("ridge", 1e-160, "ridge must"),
    ("ridge", 1e300, "ridge must"),
    ("ridge", 1e-12, "action_bound²/ridge must"),
    ("ridge", 10**400, "ridge must"),
    ("delta", 1e-310, "delta must"),
    ("noise", 1e308, "noise must"),
    ("theta_bound", 1e308, "theta_bound must"),
    ("action_bound", 1e-160, "action_bound must"),
    ("action_bound", 1e7, "action_bound²/ridge must"),
    ("action_bound", 1e8, "action_bound²/ridge must"),
]


@pytest.mark.parametrize("cls", FIRST, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize(("name", "value", "message"), UNFIT)
def test_settings_that_cannot_be_computed_are_refused(
    cls: Any, name: str, value: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        cls(dim=2, **FIRST[cls], **{name: value})


@pytest.mark.parametrize("gamma", [1e-9, 1e-100, 5e-324])
@pytest.mark.parametrize("cls", [DLinUCB, LBWeightUCB, DRandLinUCB, DLinTS])
def test_a_discount_under_which_the_open_round_outweighs_the_ridge_is_refused(
    cls: Any, gamma: float
) -> None:
    with pytest.raises(ValueError, match="gamma"):
        cls(dim=2, gamma=gamma)


@pytest.mark.parametrize("name", ["window", "horizon"])
def test_integers_that_no_float_can_hold_are_refused(name: str) -> None:
    options: dict[str, Any] = {"dim": 2, "window": 5, name: 10**5000}
    with pytest.raises(ValueError, match=f"{name} must be an integer of at most"):
        SWLinUCB(**options)


@pytest.mark.parametrize("cls", [*FIRST, AdaptiveLinUCB], ids=lambda cls: cls.__name__)
def test_settings_of_numpy_are_plain_numbers(cls: Any, tmp_path: Path) -> None:
    """NumPy's own numbers overflow: np.int64(2**62)**2 is 0, and the ratio 0 was accepted."""
    first = FIRST.get(cls, {})
    if cls is not AdaptiveLinUCB:
        for bound in (np.int64(2**62), np.uint64(2**63), np.float32(1e20)):
            with pytest.raises(ValueError, match="action_bound²/ridge must"):
                cls(dim=2, **first, action_bound=bound)
    policy = cls(dim=np.int8(2), **first, ridge=np.longdouble(0.5), floor=np.float16(0.25))
    assert {type(policy.dim), type(policy.ridge), type(policy.floor)} == {int, float}
    policy.update([0.5, 0.5], 1.0)
    policy.save(tmp_path / "policy.npz")
    assert load(tmp_path / "policy.npz").config == policy.config


@pytest.mark.parametrize("cls", [DynamicLinUCB, DetectRestartLinUCB, LinUCB])
def test_a_ridge_may_be_an_integer_beyond_64_bits(cls: Any) -> None:
    """Compiled code did not accept it as a number when properties were read."""
    policy = cls(dim=2, ridge=2**64)
    policy.update([0.5, 0.5], 1.0)
    assert policy.widths([[1.0, 0.0]])[0] == pytest.approx(2.0**-32, rel=1e-12)


@pytest.mark.parametrize("bound", [1e-49, 1e-9, 0.5, 1e50])
def test_adaptive_with_a_bound_of_any_size_is_saved_and_loaded(
    bound: float, tmp_path: Path
) -> None:
    policy = AdaptiveLinUCB(dim=3, action_bound=bound)
    for t in range(20):
        policy.update(np.eye(3)[t % 3] * min(bound, 1.0), float(t % 4))
    policy.save(tmp_path / "policy.npz")
    loaded = load(tmp_path / "policy.npz")
    for name, array in policy.state().items():
        np.testing.assert_array_equal(loaded.state()[name], array, err_msg=name)


@pytest.mark.parametrize("cls", FIRST, ids=lambda cls: cls.__name__)
def test_settings_of_any_size_are_refused_or_give_numbers(cls: type[LinearPolicy]) -> None:
    rng = np.random.default_rng(20)
    names = ("ridge", "noise", "theta_bound", "action_bound", "delta")
    played = 0
    for _ in range(300):
        name = str(rng.choice(names))
        value = 10.0 ** rng.uniform(-320, 0 if name == "delta" else 308)
        options = {"dim": 2, **FIRST[cls], name: value}
        if rng.random() < 0.5:  # near the largest accepted ratio
            options["ridge"] = 10.0 ** rng.uniform(-90, 90)
            options["action_bound"] = math.sqrt(options["ridge"]) * 10.0 ** rng.uniform(-20, 5)
        try:
            policy = cls(**options)
        except ValueError as error:
            assert " must " in str(error)  # noqa: PT017 - most are refused, and that is the point
            continue
        played += 1
        assert_numbers(policy, rng)
    assert played > 50


def assert_numbers(policy: LinearPolicy, rng: np.random.Generator) -> None:
    """Rewards of up to 1e100 leave every number finite."""
    for scale in (1.0, 1e100, 1e-100, 1.0):
        actions = rng.uniform(-0.7, 0.7, (4, 2)) * policy.action_bound
        chosen = policy.select(actions)
        policy.update(actions[chosen], scale * rng.uniform(-1, 1))
        policy.update(actions[0], scale, round=policy.round)
        policy.advance(rounds=0.5)
        assert np.isfinite(policy.theta).all()
        assert math.isfinite(policy.radius)
        assert np.isfinite(policy.widths(actions)).all()
    assert all(np.isfinite(array).all() for array in policy.state().values())


def exact_width(rows: Array, weights: list[Fraction], ridge: float, x: Array) -> float:
    """√(xᵀ V⁻¹ Ṽ V⁻¹ x) in fractions, for V = Σ w a aᵀ + λI and Ṽ = Σ w² a aᵀ + λI."""
    dim = len(x)
    actions = [[Fraction(float(entry)) for entry in row] for row in rows]

    def summed(powers: list[Fraction]) -> list[list[Fraction]]:
        return [
            [
                sum((w * a[i] * a[j] for w, a in zip(powers, actions, strict=True)), Fraction(0))
                + (Fraction(ridge) if i == j else 0)
                for j in range(dim)
            ]
            for i in range(dim)
        ]

    y = solved(summed(weights), [Fraction(float(entry)) for entry in x])
    squared = summed([w * w for w in weights])
    square = sum(y[i] * squared[i][j] * y[j] for i in range(dim) for j in range(dim))
    with localcontext(prec=60):
        return float((Decimal(square.numerator) / Decimal(square.denominator)).sqrt())


def exact_theta(rows: Array, weights: list[Fraction], ridge: float, reward: float) -> Array:
    """V⁻¹ Σ w r a in fractions, for equal rewards."""
    dim = rows.shape[1]
    actions = [[Fraction(float(entry)) for entry in row] for row in rows]
    pairs = list(zip(weights, actions, strict=True))
    design = [
        [
            sum((w * a[i] * a[j] for w, a in pairs), Fraction(ridge) if i == j else Fraction(0))
            for j in range(dim)
        ]
        for i in range(dim)
    ]
    moment = [sum((w * a[i] for w, a in pairs), Fraction(0)) * Fraction(reward) for i in range(dim)]
    return np.array([float(entry) for entry in solved(design, moment)])


def solved(matrix: list[list[Fraction]], vector: list[Fraction]) -> list[Fraction]:
    """Gauss-Jordan elimination; V is positive definite, and fractions need no pivoting."""
    rows = [[*row, entry] for row, entry in zip(matrix, vector, strict=True)]
    for i, pivot in enumerate(rows):
        for k, row in enumerate(rows):
            if k != i:
                share = row[i] / pivot[i]
                rows[k] = [a - share * b for a, b in zip(row, pivot, strict=True)]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


PLAIN: dict[type[LinearPolicy], dict[str, Any]] = {  # all weights are one over 60 rounds
    LinUCB: {},
    SWLinUCB: {"window": 100},
    RestartUCB: {"length": 100},
    DynamicLinUCB: {},
    DetectRestartLinUCB: {},
}


def lost_digits(cls: Any, gamma: float, ratio: float, seed: int) -> tuple[float, float]:
    """Largest relative errors of widths and of θ̂ after 60 rounds of one action.

    The worst case: only one direction is played, and an orthogonal one is asked for.
    """
    rng, count = np.random.default_rng(seed), 60
    bound = math.sqrt(0.999 * ratio * 0.1) * gamma
    options = PLAIN.get(cls, {"gamma": gamma})
    policy = cls(dim=3, action_bound=bound, **options)
    along = rng.standard_normal(3)
    rows = np.outer(rng.uniform(0.5, 0.99, count) * bound / np.linalg.norm(along), along)
    for row in rows:
        policy.update(row, 1.0)
    weights = [Fraction(gamma) ** (count - 1 - t) for t in range(count)]
    across = np.cross(along, rng.standard_normal(3))
    probes = np.array([across / np.linalg.norm(across), rng.standard_normal(3)])
    exact = np.array([exact_width(rows, weights, 0.1, x) for x in probes])
    theta = exact_theta(rows, weights, 0.1, 1.0)
    off = np.linalg.norm(policy.theta - theta) / np.linalg.norm(theta)
    return float(np.max(abs(policy.widths(probes) / exact - 1))), float(off)


@pytest.mark.parametrize("cls", [DLinUCB, *PLAIN], ids=lambda cls: cls.__name__)
def test_three_digits_are_left_at_the_largest_ratio(cls: Any) -> None:
    for seed in range(5):
        widths, theta = lost_digits(cls, 0.9974 if cls is DLinUCB else 1.0, LARGEST_RATIO, seed)
        assert widths < 1e-3
        assert theta < 2e-3


@pytest.mark.parametrize("cls", [DLinUCB, *PLAIN], ids=lambda cls: cls.__name__)
def test_beyond_the_largest_ratio_digits_run_out(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason for the refusal: at a hundred times the ratio, the second digit is wrong."""
    monkeypatch.setattr(linear, "LARGEST_RATIO", math.inf)
    gamma = 0.9974 if cls is DLinUCB else 1.0
    worst = max(max(lost_digits(cls, gamma, 100 * LARGEST_RATIO, seed)) for seed in range(8))
    assert worst > 1e-2


@pytest.mark.parametrize("gamma", [4e-5, 1e-3, 0.3])
def test_widths_with_a_reward_of_the_open_round_are_right(gamma: float) -> None:
    rng = np.random.default_rng(1)
    policy = DLinUCB(dim=2, gamma=gamma)
    rows = rng.uniform(-0.7, 0.7, (4, 2))
    for row in rows[:3]:
        policy.update(row, 1.0)
    policy.update(rows[3], 1.0, round=policy.round)
    weights = [Fraction(gamma) ** age for age in (2, 1, 0, -1)]
    across = np.array([-rows[3, 1], rows[3, 0]])
    for x in (across, rows[3], np.array([1.0, 0.0])):
        exact = exact_width(rows, weights, 0.1, x)
        assert policy.widths(x[None])[0] == pytest.approx(exact, rel=1e-5)


def test_a_state_saved_with_a_ratio_that_is_refused_today_is_not_lost(tmp_path: Path) -> None:
    LinUCB(dim=2, ridge=1e-9).save(tmp_path / "old.npz")
    header, arrays = read_state(tmp_path / "old.npz")
    header["config"]["ridge"] = 1e-12
    write_state(tmp_path / "old.npz", header, arrays)
    with pytest.warns(UserWarning, match="action_bound²/ridge must be at most"):
        policy = load(tmp_path / "old.npz")
    assert policy.config["ridge"] == 1e-12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinUCB(dim=2, ridge=1e-9).copy()


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_window_keeps_no_trace_of_rewards_that_have_left_it(seed: int, late: bool) -> None:
    """1e40 + 1e20 + 1 loses the 1 in a sum of two floats; it must remain when the others leave."""
    rng = np.random.default_rng(seed)
    window = int(rng.integers(3, 9))
    rewards = np.concatenate([rng.permutation([1e40, 1e20, 1e99, 1.0]), rng.normal(size=window)])
    actions = rng.uniform(-0.7, 0.7, (len(rewards), 2))
    seen, fresh = (SWLinUCB(dim=2, window=window, noise=0.1) for _ in range(2))
    for action, reward in zip(actions, rewards, strict=True):
        if late:
            seen.advance()
        else:
            seen.update(action, reward)
        fresh.advance()
    for t in rng.permutation(len(rewards)) if late else ():
        seen.update(actions[t], rewards[t], round=int(t) + 1)
    for t in range(len(rewards) - window, len(rewards)):
        fresh.update(actions[t], rewards[t], round=t + 1)
    np.testing.assert_allclose(seen.theta, fresh.theta, rtol=1e-12)


def test_an_amended_reward_leaves_no_trace_either() -> None:
    amended, plain = (SWLinUCB(dim=1, window=4, noise=0.1) for _ in range(2))
    for policy, first in ((amended, 1e20), (plain, 1.0)):
        for reward in (first, 1.0, 2.0, 3.0):
            policy.update([0.5], reward)
    amended.amend([0.5], round=2, old=1.0, new=1e50)
    amended.amend([0.5], round=2, old=1e50, new=1.0)
    for policy in (amended, plain):
        policy.update([0.5], 1.0)
    np.testing.assert_allclose(amended.theta, plain.theta, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-45, 1e-20, 1e20, 1e49])
def test_adaptive_takes_actions_of_any_norm(scale: float) -> None:
    rng = np.random.default_rng(3)
    policies = AdaptiveLinUCB(dim=2), AdaptiveLinUCB(dim=2)
    for _ in range(60):
        actions, noise = rng.uniform(-0.7, 0.7, (5, 2)), rng.normal()
        for policy, factor in zip(policies, (1.0, scale), strict=True):
            chosen = policy.select(factor * actions)
            policy.update(factor * actions[chosen], actions[chosen, 0] + 0.1 * noise)
    np.testing.assert_allclose(policies[1].theta * scale, policies[0].theta, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-55, 1e-155, 1e-160, 5e-324])
def test_adaptive_takes_entries_below_its_range_for_zeros(scale: float) -> None:
    rng = np.random.default_rng(3)
    tiny, zeros = AdaptiveLinUCB(dim=2), AdaptiveLinUCB(dim=2)
    for _ in range(60):
        actions, noise = rng.uniform(-0.7, 0.7, (5, 2)) * [1.0, scale], rng.normal()
        for policy, factor in ((tiny, 1.0), (zeros, np.array([1.0, 0.0]))):
            rows = actions * factor
            chosen = policy.select(rows)
            policy.update(rows[chosen], actions[chosen, 0] + 0.1 * noise)
        assert np.isfinite(tiny.scores(actions)).all()
    np.testing.assert_allclose(tiny.theta, zeros.theta, rtol=1e-9)


@pytest.mark.parametrize("pause", [1e3, 2e3, 1e5, 1e12])
def test_adaptive_goes_on_after_a_pause(pause: float, tmp_path: Path) -> None:
    """The weight of its shortest running mean had become zero, and was a divisor."""
    rng = np.random.default_rng(0)
    policy = AdaptiveLinUCB(dim=2)
    for t in range(360):
        actions = rng.uniform(-0.7, 0.7, (5, 2))
        chosen = policy.select(actions)
        policy.update(actions[chosen], 1.0 + actions[chosen, 0] + 0.1 * rng.normal())
        if t == 299:
            policy.advance(rounds=pause)
    policy.save(tmp_path / "state.npz")
    assert load(tmp_path / "state.npz").state().keys() == policy.state().keys()
    np.testing.assert_allclose(policy.theta, [1.0, 0.0], atol=0.15)


OTHERS = ("share", "never", "false_alarms")  # within (0, 1)


@pytest.mark.parametrize("seed", range(4))
def test_adaptive_stays_finite_whatever_it_is_told(seed: int) -> None:
    """Settings, actions, rewards, pauses and amendments of any size, and forgotten coordinates."""
    rng = np.random.default_rng(seed)
    names = (*CONSTANTS, "noise")
    for _ in range(25):
        dim = int(rng.integers(1, 5))
        options: dict[str, Any] = {
            name: 10.0 ** rng.uniform(-12, 0 if name in OTHERS else 12)
            for name in names
            if rng.random() < 0.1
        }
        try:
            policy = AdaptiveLinUCB(dim=dim, floor=float(rng.choice([0.0, 0.3])), **options)
        except ValueError as error:
            assert " must " in str(error)  # noqa: PT017
            continue
        scales, rewards = 10.0 ** rng.uniform(-170, 49, dim), 10.0 ** rng.uniform(-100, 99)
        live(policy, rng, scales, rewards)


def live(policy: AdaptiveLinUCB, rng: np.random.Generator, scales: Array, size: float) -> None:
    learned: list[tuple[Array, int | float, float]] = []
    for _ in range(30):
        actions = rng.uniform(-0.5, 0.5, (4, policy.dim)) * scales
        decision = policy.decide(actions)
        action, reward = actions[decision.index], float(size * rng.normal())
        what = rng.integers(0, 6)
        if what < 3:
            policy.update(action, reward, round=decision.round)
            learned.append((action, decision.round, reward))
        elif what == 3 and learned:
            amended, at, old = learned.pop(int(rng.integers(len(learned))))
            policy.amend(amended, round=at, old=old, new=reward)
        elif what == 4:
            policy.forget([int(rng.integers(policy.dim))])
        else:
            policy.advance(rounds=10.0 ** rng.uniform(-3, 6))
        assert np.isfinite(decision.scores).all()
        assert all(np.isfinite(array).all() for array in policy.state().values())
        assert math.isfinite(policy.level + policy.radius + policy.theta.sum())


@pytest.mark.parametrize("name", CONSTANTS)
def test_adaptive_refuses_constants_that_make_no_sense(name: str) -> None:
    for value in (1e-13, 1e13, 1e300, math.nan):
        options: dict[str, Any] = {name: value}
        with pytest.raises(ValueError, match=f"{name} must"):
            AdaptiveLinUCB(dim=2, **options)
