"""AdaptiveLinUCB as an object: options, properties, files."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from adaptive_streams import choices
from driftbandits import load
from driftbandits.core.storage import StateFileError
from driftbandits.policies.adaptive.linucb import AdaptiveLinUCB
from driftbandits.policies.adaptive.state import EXPERTS, ROWS


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": 0.0}, "noise"),
        ({"noise": -1.0}, "noise"),
        ({"noise": 1e-170}, "noise"),
        ({"noise": 1e160}, "noise"),
        ({"noise": float("nan")}, "noise"),
        ({"exploration": -0.1}, "exploration"),
        ({"exploration": float("inf")}, "exploration"),
        ({"share": 1.0}, "share"),
        ({"never": 0.0}, "never"),
        ({"false_alarms": -0.5}, "false_alarms"),
        ({"ridge": 0.0}, "ridge"),
        ({"conviction": -1.0}, "conviction"),
        ({"audit_every": 1.0}, "audit_every"),
        ({"noise_memory": float("inf")}, "noise_memory"),
        ({"coordinates": 0}, "coordinates"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AdaptiveLinUCB(dim=2, **options)


def test_what_it_shows() -> None:
    policy = AdaptiveLinUCB(dim=2)
    assert policy.memory == 0.0
    choices(policy)
    assert policy.memories.tolist() == [4.0, 16.0, 64.0, 256.0, math.inf]
    assert policy.weights.shape == policy.memories.shape
    assert len(policy.detections) >= 1
    assert 250 < policy.detections[0] < 270
    assert 0 < policy.memory <= 500
    assert policy.radius == policy.noise_estimate
    with pytest.raises(ValueError, match=r"\(K, 2\)"):
        policy.widths(np.ones((2, 3)))


def test_memory_counts_rounds_while_nothing_changes() -> None:
    policy, rng = AdaptiveLinUCB(dim=1), np.random.default_rng(0)
    for t in range(330):
        action = rng.uniform(-1.0, 1.0)
        slope = 1.0 if t < 300 else -1.0
        policy.update([action], slope * action + 0.1 * rng.standard_normal())
        if t == 299:
            assert 100 < policy.memory <= 300
    assert policy.memory < 60


def test_a_level_that_moves_is_not_a_change() -> None:
    """The memory of differences stays long, and the level is followed."""
    policy, rng = AdaptiveLinUCB(dim=2), np.random.default_rng(1)
    for t in range(2000):
        level = 3.0 * math.sin(t / 40)
        action = rng.uniform(-1.0, 1.0, 2)
        policy.update(action, level + action[0] + 0.1 * rng.standard_normal())
    assert policy.level_moves
    assert policy.memory > 1000
    np.testing.assert_allclose(policy.theta, [1.0, 0.0], atol=0.05)
    assert policy.level == pytest.approx(level, abs=0.6)  # a running mean lags by a few rounds
    assert policy.noise_estimate < 0.5


def test_a_reward_is_settled_after_a_silence_in_which_all_means_faded() -> None:
    policy = AdaptiveLinUCB(dim=2, provisional=True)
    choices(policy)
    policy.advance(rounds=20_000)
    policy.update([0.5, 0.5], 1.0)
    policy.amend([0.5, 0.5], round=policy.round - 1, old=1.0, new=1.0)
    assert all(np.isfinite(array).all() for array in policy.state().values())


def test_the_only_reward_is_amended_and_settled() -> None:
    policy = AdaptiveLinUCB(dim=1, provisional=True)
    policy.update([1.0], 0.0)
    policy.advance()
    policy.amend([1.0], round=1, old=0.0, new=1.0)
    policy.amend([1.0], round=1, old=1.0, new=1.0)
    assert all(np.isfinite(array).all() for array in policy.state().values())


def test_the_noise_level_survives_settling() -> None:
    """Rewards that come in between change the means, so the centred row to leave out is another."""
    rng, policy = np.random.default_rng(2), AdaptiveLinUCB(dim=5, provisional=True)
    arms, told, largest = np.eye(5), list[tuple[Any, float]](), 0.0
    for t in range(1, 1001):
        chosen = policy.select(arms)
        told.append((arms[chosen], 5.0 + 0.2 * chosen + 0.5 * rng.standard_normal()))
        policy.update(arms[chosen], 0.0)
        for delay, settles in ((5, False), (15, True)):
            if t > delay:
                arm, reward = told[t - delay - 1]
                old = reward if settles else 0.0
                policy.amend(arm, round=t - delay, old=old, new=reward)
        if t > 200:
            largest = max(largest, policy.noise_estimate)
    assert largest < 1.0


@pytest.mark.parametrize("wrong", [1.0, 100.0])
def test_an_amendment_of_the_only_reward_leaves_no_trace(wrong: float) -> None:
    policy, right = AdaptiveLinUCB(dim=2), AdaptiveLinUCB(dim=2)
    policy.update([1.0, 0.5], 2.0 + wrong)
    policy.amend([1.0, 0.5], round=1, old=2.0 + wrong, new=2.0)
    right.update([1.0, 0.5], 2.0)
    for name, expected in right.state().items():
        np.testing.assert_array_equal(policy.state()[name], expected, err_msg=name)


def test_more_experts_than_there_is_room_for_are_refused() -> None:
    policy = AdaptiveLinUCB(dim=1)
    arrays = policy.state()
    for name in ROWS:
        arrays[name] = np.repeat(arrays[name][:1], 80, axis=0)
    arrays["counters"][EXPERTS] = 40
    with pytest.raises(StateFileError, match="experts"):
        policy.restore(arrays)


@pytest.mark.parametrize("name", ["copies", "facts", "grams"])
def test_a_file_whose_parts_do_not_fit_is_refused(name: str, tmp_path: Any) -> None:
    policy = AdaptiveLinUCB(dim=2)
    choices(policy)
    arrays = policy.state()
    if name == "copies":
        arrays[name][2, 3, 1] = 99.0
    else:
        arrays[name] = np.concatenate([arrays[name], arrays[name][:1]])
    with pytest.raises(StateFileError, match="fit"):
        AdaptiveLinUCB(dim=2).restore(arrays)
    policy.save(tmp_path / "policy.npz")
    again: Any = load(tmp_path / "policy.npz")
    assert choices(again) == choices(policy)


@pytest.mark.parametrize("round", [1, 100, 191])
@pytest.mark.parametrize("wrong", [30.0, 1e6])
def test_the_noise_level_survives_an_amendment(round: int, wrong: float) -> None:
    """How much of σ̂ came from the wrong reward is not known, so σ̂ may only be too large."""
    rng, policy, right = np.random.default_rng(0), AdaptiveLinUCB(dim=2), AdaptiveLinUCB(dim=2)
    actions = rng.standard_normal((200, 2))
    rewards = actions.sum(axis=1) + 0.3 * rng.standard_normal(200)
    for t in range(200):
        policy.update(actions[t], wrong if t + 1 == round else rewards[t])
        right.update(actions[t], rewards[t])
    policy.amend(actions[round - 1], round=round, old=wrong, new=rewards[round - 1])
    assert policy.noise_estimate > 0.9 * right.noise_estimate


def test_widths_are_refused_where_scores_are() -> None:
    policy = AdaptiveLinUCB(dim=2)
    for look in (policy.scores, policy.widths):
        with pytest.raises(ValueError, match="norms of at most"):
            look(np.full((2, 2), 1e100))
    assert policy.widths(np.empty((0, 2))).shape == (0,)
