"""AdaptiveLinUCB: late rewards, silences, and time that moves in parts."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from adaptive_streams import assert_close, events
from driftbandits.core.linalg import symmetric
from driftbandits.policies.adaptive.linucb import AdaptiveLinUCB
from driftbandits.policies.adaptive.state import ANCHORED, COPIES, LATEST, ORIGIN, UNIT
from oracles import Floats
from test_policies_exact import apply


def sums(policy: AdaptiveLinUCB, bank: int = ANCHORED) -> tuple[Floats, ...]:
    """Σ w x xᵀ, Σ w y x and Σ w x of all experts of a bank, at the level of the first reward."""
    state, rows = policy._state, slice(bank, 2 * len(policy.weights), 2)
    units, origin = state.facts[rows, UNIT], state.counters[ORIGIN]
    grams = np.array([symmetric(gram[0]) for gram in state.grams[rows]]) / units[:, None, None]
    offsets = state.offsets[rows, 0] / units[:, None]
    return grams, state.moments[rows, 0] / units[:, None] + origin * offsets, offsets


def births_alone(policy: AdaptiveLinUCB) -> bool:
    """Whether nothing was overwritten: the log of the last expert has only its own birth."""
    copies = policy._state.facts[: 2 * len(policy.weights) : 2, COPIES]
    return bool(copies.max(initial=0) <= 1 and copies[:1].max(initial=0) == 0)


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 60), st.data())
def test_late_rewards_leave_the_same_sums(
    seed: int, dim: int, rounds: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    actions = rng.uniform(-1.0, 1.0, (rounds, dim)) / dim
    rewards = rng.standard_normal(rounds)
    on_time, late = AdaptiveLinUCB(dim=dim), AdaptiveLinUCB(dim=dim)
    for action, reward in zip(actions, rewards, strict=True):
        on_time.update(action, reward)
        late.advance()
    for t in data.draw(st.permutations(range(rounds))):
        late.update(actions[t], rewards[t], round=t + 1)
    assert late.round == on_time.round
    if births_alone(on_time) and births_alone(late):
        for got, expected in zip(sums(late), sums(on_time), strict=True):
            assert_close(got, expected, "sums")


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 25))
@example(300, 1, 3)
def test_time_may_be_moved_in_parts(seed: int, dim: int, parts: int) -> None:
    rng = np.random.default_rng(seed)
    whole, divided = AdaptiveLinUCB(dim=dim), AdaptiveLinUCB(dim=dim)
    for event in events(rng, dim, 60, fractional=False):
        apply(whole, event)
        apply(divided, event)
    # The end must not be the birth of an expert: one clock may be rounded to just before it.
    rounds = 64.37
    whole.advance(rounds=rounds)
    for _ in range(parts):
        divided.advance(rounds=rounds / parts)
    np.testing.assert_allclose(divided.weights, whole.weights, rtol=1e-12)
    assert divided.detections == whole.detections
    for got, expected in zip(sums(divided), sums(whole), strict=True):
        assert_close(got, expected, "sums")


def test_silence_ages_every_expert_but_the_last() -> None:
    policy = AdaptiveLinUCB(dim=1)
    for _ in range(64):
        policy.update([1.0], 1.0)
    before = sums(policy)[0][:, 0, 0]
    policy.advance(rounds=10)
    after = sums(policy)[0][:, 0, 0]
    np.testing.assert_allclose(after[:-1] / before[:-1], (1 - 1 / policy.memories[:-1]) ** 10)
    assert after[-1] == before[-1]


def test_a_round_that_the_log_has_forgotten_weighs_nothing_where_it_is_unknown() -> None:
    """A few dozen jumps overwrite some expert more often than its log can hold."""
    policy = AdaptiveLinUCB(dim=1)
    rng = np.random.default_rng(0)
    for t in range(6000):
        action = rng.uniform(-1.0, 1.0)
        policy.update([action], 100.0 * (-1) ** (t // 25) * action + 0.1 * rng.standard_normal())
    assert policy._state.facts[:, COPIES].max() > 64
    before = sums(policy)[0]
    policy.update([1.0], 1.0, round=2)
    added = (sums(policy)[0] - before)[:, 0, 0]
    assert (added >= 0).all()
    assert (added <= 1 + 1e-9).all()
    assert np.isfinite(policy.theta).all()


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 40))
def test_rewards_that_are_all_equally_late_are_centred_as_if_they_were_not(
    seed: int, dim: int, delay: int
) -> None:
    """Running means count rounds of rewards, so the centred rows and the weights are the same.

    Jumps are not looked for: estimates decide on them, and a bank whose rewards come late splits
    after fewer rewards.
    """
    rng = np.random.default_rng(seed)
    actions = rng.uniform(-1.0, 1.0, (60, dim))
    rewards = rng.standard_normal(60)
    on_time, late = (AdaptiveLinUCB(dim=dim, jump=1e12) for _ in range(2))
    for t in range(60):
        on_time.update(actions[t], rewards[t])
        late.advance()
        if t >= delay:
            late.update(actions[t - delay], rewards[t - delay], round=t - delay + 1)
    for t in range(max(0, 60 - delay), 60):
        late.update(actions[t], rewards[t], round=t + 1)
    assert_close(late._state.trackers[:, [0, 1]], on_time._state.trackers[:, [0, 1]], "means")
    np.testing.assert_array_equal(late._state.counters[LATEST], on_time._state.counters[LATEST])
