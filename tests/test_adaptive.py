"""AdaptiveLinUCB: experts against sums over the whole history, what it must survive, regrets."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftbandits import DLinUCB, LinUCB, Policy, load
from driftbandits.environments import Environment, Gaussian, PiecewiseConstant, canonical_basis
from driftbandits.experiments import build, built_in
from driftbandits.linalg import symmetric
from driftbandits.policies.adaptive_linucb import AdaptiveLinUCB
from driftbandits.policies.expert_bank import COPIES, EVIDENCE, PENALTY, UNIT
from driftbandits.simulation import Result, simulate
from driftbandits.storage import StateFileError
from oracles import Advance, Event, Floats, Late, Update
from test_policies_exact import apply

TOLERANCE = 1e-8

# --- The definition -----------------------------------------------------------------------------


@dataclass
class Expert:
    """Its discounts so far, as (clock from which it holds, γ), and how it is judged."""

    discounts: list[tuple[float, float]]
    weight: float
    ridge: float
    evidence: float = 0.0
    restored: float = 0.0
    changes: int = 0

    def kept(self, since: float, clock: float) -> float:
        """What a weight of one at ``since`` has become: the product of all discounts on the way."""
        if since > clock:
            return float(self.discounts[-1][1] ** (clock - since))
        ends = [start for start, _ in self.discounts[1:]] + [clock]
        kept = 1.0
        for (start, gamma), end in zip(self.discounts, ends, strict=True):
            kept *= gamma ** max(0.0, min(end, clock) - max(start, since))
        return float(kept)


@dataclass
class Definition:
    """The algorithm by the letter: every estimate is a sum over all observations."""

    dim: int
    noise: float | None = None
    clock: float = 0.0
    rounds: list[float] = field(default_factory=list)
    actions: list[Floats] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    detections: list[int] = field(default_factory=list)
    overwritten: int = 0

    def __post_init__(self) -> None:
        self.ridge = 0.1
        self.variance = 1.0 if self.noise is None else self.noise**2
        self.experts = [Expert([(0.0, 1.0)], 1.0, self.ridge)]

    def memory(self, j: int) -> float:
        return math.inf if j == len(self.experts) - 1 else 2.0 * self.dim * 2**j

    def design(self, j: int) -> Floats:
        expert, V = self.experts[j], np.zeros((self.dim, self.dim))
        for t, a in zip(self.rounds, self.actions, strict=True):
            V += expert.kept(t, self.clock) * np.outer(a, a)
        ridge = expert.ridge * expert.kept(expert.restored, self.clock)
        return np.asarray(V + ridge * np.eye(self.dim))

    def moment(self, j: int) -> Floats:
        b = np.zeros(self.dim)
        for t, a, r in zip(self.rounds, self.actions, self.rewards, strict=True):
            b += self.experts[j].kept(t, self.clock) * r * a
        return b

    def estimate(self, j: int) -> Floats:
        return np.asarray(np.linalg.solve(self.design(j), self.moment(j)), dtype=np.float64)

    def theta(self) -> Floats:
        estimates = [e.weight * self.estimate(j) for j, e in enumerate(self.experts)]
        return np.asarray(np.sum(estimates, axis=0))

    def mean(self, values: list[float]) -> float:
        """The mean with memory 50, of what came in the order of arrival."""
        recent = 0.98 ** np.arange(len(values) - 1, -1, -1.0)
        return float(recent @ values / recent.sum())

    def median(self) -> int:
        return int(np.searchsorted(np.cumsum([e.weight for e in self.experts[:-1]]), 0.5))

    def place(self) -> float:
        golden = (math.sqrt(5) - 1) / 2
        period, within = divmod(math.floor(self.clock), 25)
        if within != math.floor(25 * (period**2 * golden % 1.0)):
            return 1.0
        return period * golden % 1.0

    def auditor(self) -> int:
        ratio = 1.0
        if any(self.rewards):
            squares = self.mean([r * r for r in self.rewards])
            ratio = min(1.0, math.sqrt(self.variance / squares))
        memory = (self.dim * (self.clock + 1)) ** (2 / 3) * ratio**0.5 * 2 ** (0.5 - self.place())
        enough = [j for j in range(len(self.experts)) if self.memory(j) >= memory]
        return min(self.median(), enough[0])

    def widths(self, actions: Floats, j: int) -> Floats:
        V = self.design(j)
        squares = np.einsum("ki,ij,kj->k", actions, np.linalg.inv(V), actions)
        return np.asarray(np.sqrt(squares))

    def scores(self, actions: Floats) -> Floats:
        noise = math.sqrt(self.variance)
        if self.place() < 1:
            x = self.auditor()
            return actions @ self.estimate(x) + 1.5 * noise * self.widths(actions, x)
        return actions @ self.theta() + noise * self.widths(actions, self.median())

    def apply(self, event: Event) -> None:
        if isinstance(event, Advance):
            self.advance(event.rounds)
            return
        if isinstance(event, Update):
            self.advance(1.0)
        rounds = event.rounds if isinstance(event, Late) else [self.clock] * len(event.rewards)
        for a, r, t in zip(event.actions, event.rewards, rounds, strict=True):
            self.learn(a, float(r), float(t))

    def learn(self, action: Floats, reward: float, round: float) -> None:
        if not self.rewards:
            self.ridge = 0.1 * float(action @ action)
        for expert in self.experts:
            if not self.rewards or expert.changes > 32 + self.dim:
                self.restore(expert)
        designs = [self.design(j) for j in range(len(self.experts))]
        q = np.array([action @ np.linalg.solve(V, action) for V in designs])
        e = np.array([reward - action @ self.estimate(j) for j in range(len(self.experts))])
        w = np.array([expert.weight for expert in self.experts])
        if len(w) > 1 and any(self.rewards):
            self.judge(e, q, w)
        self.residuals.append(float(w @ (e**2 / (1 + q))))
        self.rounds.append(round)
        self.actions.append(action)
        self.rewards.append(reward)
        self.measure_noise()
        for expert in self.experts:
            expert.changes += 1

    def judge(self, e: Floats, q: Floats, w: Floats) -> None:
        seen = len(self.rewards)
        freedom = float(np.sum(0.98 ** np.arange(seen))) + 1.0
        law = 1 + e**2 / (freedom * self.variance * (1 + q))
        likelihood = (1 + q) ** -0.5 * law ** (-(freedom + 1) / 2)
        for j in range(1, len(w)):
            others = w[:j] @ likelihood[:j] / w[:j].sum()
            gain = float(np.log(others / likelihood[j]))
            self.experts[j].evidence = max(0.0, self.experts[j].evidence + gain)
        prior = np.append(np.full(len(w) - 1, 0.5 / (len(w) - 1)), 0.5)
        share = 1.0 / (seen + 1)
        posterior = (1 - share) * w * likelihood / (w @ likelihood) + share * prior
        for expert, weight in zip(self.experts, posterior, strict=True):
            expert.weight = float(weight)

    def measure_noise(self) -> None:
        seen = len(self.rewards)
        squares = self.mean([r * r for r in self.rewards])
        if squares == 0:
            return
        if self.noise is None:
            count = float(np.sum(0.98 ** np.arange(seen)))
            prior = self.dim * 2.0 ** (-(seen - 1) / self.dim)
            mixed = count * self.mean(self.residuals) + prior * squares
            self.variance = max(mixed / (count + prior), 1e-12 * squares)
        lengths = self.mean([float(a @ a) for a in self.actions])
        self.ridge = 0.1 * lengths * min(1.0, max(1e-4, self.variance / squares))

    def advance(self, rounds: float) -> None:
        end, closing = self.clock + rounds, math.floor(self.clock) + 1.0
        limit = math.log(closing / 0.05)
        if closing <= end and any(e.evidence > limit for e in self.experts[1:]):
            self.pass_time(closing)
            self.replace_refuted(limit)
        self.pass_time(end)
        for expert in self.experts:
            if end - expert.restored >= self.dim or expert.changes > 32 + self.dim:
                self.restore(expert)

    def pass_time(self, clock: float) -> None:
        while 2 * self.dim * 2 ** (len(self.experts) - 1) <= clock:
            last = self.experts[-1]
            birth = 2.0 * self.dim * 2 ** (len(self.experts) - 1)
            # π gives 1/2 to the last expert and 1/(2J) to each of the J others.
            finite = len(self.experts)
            twin = Expert(list(last.discounts), last.weight, last.ridge, last.evidence)
            last.weight, twin.weight = last.weight / np.array([finite + 1, (finite + 1) / finite])
            twin.restored, twin.changes, last.evidence = last.restored, last.changes, 0.0
            last.discounts.append((birth, 1 - 1 / birth))
            self.experts.append(twin)
        self.clock = clock

    def replace_refuted(self, limit: float) -> None:
        for j in range(len(self.experts) - 1, 0, -1):
            old = self.experts[j]
            if old.evidence <= limit:
                continue
            best = max(self.experts[:j], key=lambda expert: expert.weight)
            discounts = [*best.discounts, (self.clock, old.discounts[-1][1])]
            new = Expert(discounts, old.weight, best.ridge, 0.0, best.restored, best.changes)
            if j == len(self.experts) - 1:
                self.detections.append(int(self.clock) - 1)
            self.experts[j] = new
            self.overwritten += 1

    def restore(self, expert: Expert) -> None:
        expert.ridge, expert.restored, expert.changes = self.ridge, self.clock, 0


def assert_close(got: Any, expected: Any, what: str) -> None:
    """Agreement relative to the norm."""
    norm = float(np.linalg.norm(np.asarray(expected)))
    error = float(np.linalg.norm(np.asarray(got) - np.asarray(expected)))
    assert error <= TOLERANCE * max(norm, 1e-300), f"{what}: {error / norm:.2e}"


def assert_agrees(policy: AdaptiveLinUCB, truth: Definition, actions: Floats) -> None:
    """All that the policy shows, and the sums behind it."""
    state, eye = policy._state, np.eye(policy.dim)
    assert_close(policy.weights, [e.weight for e in truth.experts], "weights")
    assert_close(policy.memories[:-1], [truth.memory(j) for j in range(len(truth.experts) - 1)], "")
    evidence = np.array([e.evidence for e in truth.experts])
    np.testing.assert_allclose(
        state.facts[: len(evidence), EVIDENCE], evidence, rtol=1e-7, atol=1e-7
    )
    for j in range(len(truth.experts)):
        unit, ridge = state.facts[j, UNIT], state.facts[j, PENALTY]
        assert_close((symmetric(state.grams[j, 0]) + ridge * eye) / unit, truth.design(j), "V")
        assert_close(state.moments[j, 0] / unit, truth.moment(j), "b")
        assert_close(state.thetas[j], truth.estimate(j), "theta of an expert")
        assert_close(state.inverses[j] * unit, np.linalg.inv(truth.design(j)), "inverse")
    assert_close(policy.noise_estimate, math.sqrt(truth.variance), "noise")
    assert_close(policy.theta, truth.theta(), "theta")
    assert_close(policy.widths(actions), truth.widths(actions, truth.median()), "widths")
    assert_close(policy.scores(actions), truth.scores(actions), "scores")
    assert policy.detections == tuple(truth.detections)
    assert policy.round == truth.clock + 1


def events(rng: np.random.Generator, dim: int, count: int, *, fractional: bool) -> list[Event]:
    """A parameter that jumps, little noise; batches, silences, rewards late and early."""
    made: list[Event] = []
    clock, theta = 0.0, rng.standard_normal(dim)
    for step in range(count):
        if step % 40 == 39:
            theta = 3 * rng.standard_normal(dim)
        kind = rng.choice(["update", "batch", "advance", "late"], p=[0.6, 0.1, 0.1, 0.2])
        size = 1 if kind == "update" else int(rng.integers(1, 4))
        actions = rng.standard_normal((size, dim))
        actions /= np.maximum(np.linalg.norm(actions, axis=1, keepdims=True), 1)
        rewards = actions @ theta + 0.1 * rng.standard_normal(size)
        if kind == "advance":
            passed = float(rng.uniform(0.05, 4)) if fractional else float(rng.integers(1, 5))
            made.append(Advance(passed))
            clock += passed
        elif kind == "late" and clock >= 1:
            low = max(1.0, clock - 30)
            rounds = (
                rng.uniform(low, clock, size)
                if fractional
                else rng.integers(int(low), int(clock) + 2, size).astype(float)
            )
            made.append(Late(actions, rewards, rounds))
        else:
            made.append(Update(actions, rewards))
            clock += 1.0
    return made


def follow(seed: int, dim: int, count: int, *, fractional: bool, noise: float | None) -> int:
    """Play a stream, compare on the way; how many experts were overwritten."""
    rng = np.random.default_rng(seed)
    policy, truth = AdaptiveLinUCB(dim=dim, noise=noise), Definition(dim, noise)
    probes = rng.standard_normal((5, dim)) / (3 * dim)
    for step, event in enumerate(events(rng, dim, count, fractional=fractional), start=1):
        apply(policy, event)
        truth.apply(event)
        if step % 10 == 0 or step == count or truth.place() < 1:
            assert_agrees(policy, truth, probes)
    return truth.overwritten


@settings(max_examples=10)
@given(
    seed=st.integers(0, 2**32),
    dim=st.integers(1, 6),
    count=st.integers(1, 90),
    fractional=st.booleans(),
    noise=st.sampled_from([None, 0.1, 2.0]),
)
def test_the_definition(
    seed: int, dim: int, count: int, fractional: bool, noise: float | None
) -> None:
    follow(seed, dim, count, fractional=fractional, noise=noise)


@pytest.mark.parametrize(("dim", "fractional"), [(1, False), (2, False), (2, True), (3, False)])
def test_the_definition_with_experts_that_start_again(dim: int, fractional: bool) -> None:
    overwritten = follow(dim, dim, 160, fractional=fractional, noise=None)
    assert overwritten >= 3


# --- Audits -------------------------------------------------------------------------------------


def audits(rounds: int) -> Floats:
    """The rounds, counted from 0, whose scores are those of one expert and not of the average."""
    policy, found = AdaptiveLinUCB(dim=2), []
    for t in range(rounds):
        probe = np.array([[1e-3, 0.0], [0.0, 1e-3]])
        plain = probe @ policy.theta + policy.radius * policy.widths(probe)
        if not np.allclose(policy.scores(probe), plain, rtol=1e-6, atol=0):
            found.append(t)
        policy.update([0.5, -0.5] if t % 2 else [0.3, 0.6], float(t % 3))
    return np.array(found)


def test_audits_come_evenly() -> None:
    """One in every 25 rounds, and in all phases of whatever recurs."""
    found = audits(8000)
    np.testing.assert_array_equal(found // 25, np.arange(320))
    for period in (2, 3, 5, 7, 12, 24, 25, 60):
        counts = np.bincount(found % period, minlength=period)
        # Places drawn at random would give counts of variance 320 (1 − 1/p)/p.
        deviation = math.sqrt(320 / period * (1 - 1 / period))
        assert np.abs(counts - 320 / period).max() < 4 * deviation


def test_scores_do_not_depend_on_how_often_they_are_asked_for() -> None:
    policy, rng = AdaptiveLinUCB(dim=3), np.random.default_rng(4)
    for t in range(120):
        actions = rng.uniform(-0.5, 0.5, (4, 3))
        first = policy.scores(actions)
        policy.select(rng.uniform(-0.5, 0.5, (2, 3)))
        np.testing.assert_array_equal(policy.scores(actions), first)
        policy.update(actions[t % 4], float(rng.standard_normal()))


# --- Time ---------------------------------------------------------------------------------------


def sums(policy: AdaptiveLinUCB) -> tuple[Floats, Floats]:
    """V_j without λ and b_j, of all experts."""
    state, count = policy._state, len(policy.weights)
    units = state.facts[:count, UNIT]
    return (
        np.array([symmetric(gram[0]) for gram in state.grams[:count]]) / units[:, None, None],
        state.moments[:count, 0] / units[:, None],
    )


def births_alone(policy: AdaptiveLinUCB) -> bool:
    """Whether nothing was overwritten: the log of the last expert has its own birth, no other's."""
    copies = policy._state.facts[: len(policy.weights), COPIES]
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
def test_time_may_be_moved_in_parts(seed: int, dim: int, parts: int) -> None:
    rng = np.random.default_rng(seed)
    whole, divided = AdaptiveLinUCB(dim=dim), AdaptiveLinUCB(dim=dim)
    for event in events(rng, dim, 60, fractional=False):
        apply(whole, event)
        apply(divided, event)
    whole.advance(rounds=64)
    for _ in range(parts):
        divided.advance(rounds=64 / parts)
    np.testing.assert_allclose(divided.weights, whole.weights, rtol=1e-12)
    assert divided.detections == whole.detections
    for got, expected in zip(sums(divided), sums(whole), strict=True):
        assert_close(got, expected, "sums")


def test_silence_ages_every_expert_but_the_last() -> None:
    policy = AdaptiveLinUCB(dim=1)
    for _ in range(64):
        policy.update([1.0], 1.0)
    before = sums(policy)[1][:, 0]
    policy.advance(rounds=10)
    after = sums(policy)[1][:, 0]
    np.testing.assert_allclose(after[:-1] / before[:-1], (1 - 1 / policy.memories[:-1]) ** 10)
    assert after[-1] == before[-1]


def test_a_round_that_the_log_has_forgotten_weighs_nothing_where_it_is_unknown() -> None:
    """A few dozen jumps overwrite some expert more often than its log can hold."""
    policy = AdaptiveLinUCB(dim=1)
    rng = np.random.default_rng(0)
    for t in range(6000):
        policy.update([1.0], 100.0 * (-1) ** (t // 25) + 0.1 * rng.standard_normal())
    assert policy._state.facts[:, COPIES].max() > 64
    before = sums(policy)[0]
    policy.update([1.0], 1.0, round=2)
    added = (sums(policy)[0] - before)[:, 0, 0]
    assert (added >= 0).all()
    assert (added <= 1).all()
    assert np.isfinite(policy.theta).all()


# --- Scales -------------------------------------------------------------------------------------


def choices(policy: AdaptiveLinUCB, *, rewards: float = 1.0, actions: float = 1.0) -> list[int]:
    """Play a parameter that jumps, with rewards and actions in other units."""
    rng = np.random.default_rng(5)
    chosen = []
    for t in range(500):
        offered = rng.uniform(-0.7, 0.7, (6, 2))
        theta = np.array([1.0, 0.0]) if t < 250 else np.array([-0.5, 0.8])
        noise = 0.3 * rng.standard_normal()
        k = policy.select(offered * actions)
        policy.update(offered[k] * actions, rewards * (offered[k] @ theta + noise))
        chosen.append(k)
    return chosen


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 0.5, 7.0, 1e6, 1e30])
def test_the_scale_of_rewards_plays_no_part(scale: float) -> None:
    plain, scaled = AdaptiveLinUCB(dim=2), AdaptiveLinUCB(dim=2)
    assert choices(scaled, rewards=scale) == choices(plain)
    assert scaled.noise_estimate == pytest.approx(scale * plain.noise_estimate, rel=1e-9)
    assert scaled.detections == plain.detections
    np.testing.assert_allclose(scaled.theta, scale * plain.theta, rtol=1e-8)


@pytest.mark.parametrize(("scale", "bound"), [(1e-6, 1.0), (1e-3, 1e-3), (7.0, 10.0), (1e6, 1e6)])
def test_the_scale_of_actions_plays_no_part(scale: float, bound: float) -> None:
    plain, scaled = AdaptiveLinUCB(dim=2), AdaptiveLinUCB(dim=2, action_bound=bound)
    assert choices(scaled, actions=scale) == choices(plain)
    np.testing.assert_allclose(scaled.theta, plain.theta / scale, rtol=1e-8)


def test_the_noise_level_is_found() -> None:
    for level in (0.01, 1.0, 50.0):
        policy, rng = AdaptiveLinUCB(dim=3), np.random.default_rng(1)
        found = []
        for _ in range(2000):
            action = rng.uniform(-0.5, 0.5, 3)
            policy.update(action, action.sum() + level * rng.standard_normal())
            found.append(policy.noise_estimate**2)
        # Memory 50: a relative standard error of 0.14 at each round, of 0.03 over 1900 of them.
        assert np.mean(found[100:]) == pytest.approx(level**2, rel=0.1)


def test_a_noise_level_that_is_given_is_taken() -> None:
    policy = AdaptiveLinUCB(dim=2, noise=0.25, exploration=2.0)
    choices(policy)
    assert policy.noise_estimate == 0.25
    assert policy.radius == 0.5


# --- What it must survive -----------------------------------------------------------------------


def assert_sound(policy: AdaptiveLinUCB) -> None:
    """Finite throughout, weights that sum to one, positive definite inverses that are inverses."""
    state = policy._state
    for array in state:
        assert np.isfinite(array).all()
    assert policy.weights.sum() == pytest.approx(1.0, rel=1e-9)
    assert (policy.weights > 0).all()
    for j in range(len(policy.weights)):
        unit = state.facts[j, UNIT]
        V = (symmetric(state.grams[j, 0]) + state.facts[j, PENALTY] * np.eye(policy.dim)) / unit
        P = symmetric(state.inverses[j]) * unit
        assert np.linalg.eigvalsh(P)[0] > 0
        residual = np.abs(V @ P - np.eye(policy.dim)).max()
        assert residual < 1e-13 * np.linalg.cond(V) + 1e-10


REWARDS = {
    "zero": lambda rng, mean: 0.0,
    "constant": lambda rng, mean: 3.0,
    "constant, tiny": lambda rng, mean: 3e-6,
    "without noise": lambda rng, mean: mean,
    "large": lambda rng, mean: 1e6 * (mean + rng.standard_normal()),
    "small": lambda rng, mean: 1e-6 * (mean + rng.standard_normal()),
    "of all sizes": lambda rng, mean: rng.choice([-1, 1]) * 10 ** rng.uniform(-6, 6),
    "mostly zero": lambda rng, mean: float(rng.random() < 0.02),
    "Cauchy": lambda rng, mean: float(rng.standard_cauchy()),
}
ACTIONS = {
    "fresh": lambda rng, dim: rng.standard_normal((4, dim)),
    "one": lambda rng, dim: np.ones((1, dim)),
    "collinear": lambda rng, dim: np.outer([1.0, -1.0, 0.5], np.ones(dim)),
    "basis": lambda rng, dim: np.eye(dim),
    "with zero": lambda rng, dim: np.vstack([np.zeros(dim), rng.standard_normal(dim)]),
}


@pytest.mark.parametrize("dim", [1, 2, 7, 50])
@pytest.mark.parametrize("offer", ACTIONS.values(), ids=ACTIONS.keys())
@pytest.mark.parametrize("reward", REWARDS.values(), ids=REWARDS.keys())
def test_survives(reward: Any, offer: Any, dim: int) -> None:
    policy, rng = AdaptiveLinUCB(dim=dim), np.random.default_rng(dim)
    theta = rng.standard_normal(dim) / math.sqrt(dim)
    for t in range(400 if dim < 50 else 150):
        actions = offer(rng, dim)
        actions = actions / np.maximum(np.linalg.norm(actions, axis=1, keepdims=True), 1.0)
        k = policy.select(actions)
        policy.update(actions[k], reward(rng, float(actions[k] @ theta)))
        if t in (0, 1, dim, 120):
            assert_sound(policy)
    assert_sound(policy)


def test_only_zeros_and_then_rewards() -> None:
    policy = AdaptiveLinUCB(dim=2)
    for _ in range(50_000):
        policy.update([0.0, 0.0], 0.0)
    for t in range(200):
        policy.update([1.0, 0.0] if t % 2 else [0.0, 1.0], 1e6 * (t % 2))
    assert_sound(policy)
    np.testing.assert_allclose(policy.theta, [1e6, 0.0], rtol=1e-2, atol=1e4)


def test_rewards_without_rounds_do_not_pile_up_rounding() -> None:
    policy, rng = AdaptiveLinUCB(dim=3), np.random.default_rng(2)
    policy.advance(rounds=100)
    for _ in range(5000):
        action = rng.uniform(-0.5, 0.5, 3)
        policy.update(action, float(action.sum() + rng.standard_normal()), round=100)
    assert_sound(policy)


def play(policy: Policy, actions: Floats, means: Floats, noise: Floats) -> None:
    """Rounds of an action set each (n, d, K), in compiled code."""
    policy.play(
        actions,
        means,
        means.max(axis=1),
        noise,
        parameters=np.zeros((len(means), actions.shape[1])),
        regret=np.empty(len(means)),
        missing=np.empty(0),
    )


@pytest.mark.parametrize("blocks", [2, pytest.param(50, marks=pytest.mark.thorough)])
def test_a_million_rounds(blocks: int) -> None:
    """Actions that leave a direction out, rewards of size 1e6, and a jump now and then."""
    policy, rng = AdaptiveLinUCB(dim=4), np.random.default_rng(3)
    base = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    for block in range(blocks):
        mix = rng.standard_normal((20_000, 3, 5))
        mix /= np.maximum(np.linalg.norm(mix, axis=1, keepdims=True), 1.0)
        actions = np.ascontiguousarray(np.einsum("ij,njk->nik", base[:, :3], mix))
        theta = np.random.default_rng(block // 5).standard_normal(4) * 1e6
        means = np.ascontiguousarray(np.einsum("i,nik->nk", theta, actions))
        play(policy, actions, means, 1e6 * rng.standard_normal((20_000, 1)))
        assert_sound(policy)
    assert policy.round == 20_000 * blocks + 1
    estimate, truth = base[:, :3].T @ policy.theta, base[:, :3].T @ theta
    assert np.linalg.norm(estimate - truth) < 0.2 * np.linalg.norm(truth)


# --- The object ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": 0.0}, "noise"),
        ({"noise": -1.0}, "noise"),
        ({"noise": float("nan")}, "noise"),
        ({"exploration": -0.1}, "exploration"),
        ({"exploration": float("inf")}, "exploration"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AdaptiveLinUCB(dim=2, **options)


def test_what_it_shows() -> None:
    policy = AdaptiveLinUCB(dim=2)
    assert policy.memory == 0.0
    choices(policy)
    assert policy.memories.tolist() == [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, math.inf]
    assert policy.weights.shape == policy.memories.shape
    assert len(policy.detections) >= 1
    assert 250 < policy.detections[0] < 270
    assert 0 < policy.memory <= 500
    assert policy.radius == policy.noise_estimate
    with pytest.raises(ValueError, match=r"\(K, 2\)"):
        policy.widths(np.ones((2, 3)))


def test_memory_counts_rounds_while_nothing_changes() -> None:
    policy, rng = AdaptiveLinUCB(dim=1), np.random.default_rng(0)
    for _ in range(300):
        policy.update([1.0], 1.0 + 0.1 * rng.standard_normal())
    before = policy.memory
    assert 100 < before <= 300
    for _ in range(30):
        policy.update([1.0], -1.0 + 0.1 * rng.standard_normal())
    assert policy.memory < 60


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


# --- Regret -------------------------------------------------------------------------------------

STANDARD_ERRORS = 3.0
N = 60


def fixed(dim: int, noise: float, memories: tuple[float, ...]) -> dict[str, Policy]:
    """D-LinUCB with discounts to choose from in hindsight, and LinUCB; told the noise level."""
    policies: dict[str, Policy] = {"LinUCB": LinUCB(dim=dim, noise=noise)}
    for memory in memories:
        policies[f"memory {memory:g}"] = DLinUCB(dim=dim, gamma=1 - 1 / memory, noise=noise)
    return policies


def environment(name: str) -> tuple[Environment, float]:
    """The environments of the claims, and their noise levels."""
    if name in ("abrupt", "slow"):
        return build(built_in(name)).environment, 1.0
    if name == "stationary":
        abrupt = build(built_in("abrupt")).environment
        path = PiecewiseConstant(values=[[1.0, 0.0]], change_points=())
        return Environment(
            path=path, actions=abrupt.actions, noise=abrupt.noise, horizon=abrupt.horizon
        ), 1.0
    values: list[list[float]]
    points: tuple[int, ...]
    if name == "five arms, nothing changes":
        values, points, level = [[0.6, 0.4, 0.3, 0.2, 0.1]], (), 1.0
    elif name == "an action turns best unseen":
        values, points, level = [[0.5, 0.3, 0.2, 0.0], [0.5, 0.3, 0.2, 0.75]], (3001,), 0.3
    else:
        arms = np.full((5, 5), 0.15)
        arms[np.arange(5), [0, 2, 4, 1, 3]] = 0.75
        values, points, level = arms.tolist(), (1201, 2401, 3601, 4801), 1.0
    return Environment(
        path=PiecewiseConstant(values=values, change_points=points),
        actions=canonical_basis(len(values[0])),
        noise=Gaussian(level),
        horizon=6000,
    ), level


@cache
def result(name: str) -> Result:
    where, level = environment(name)
    memories = tuple(40.0 * 2**k for k in range(8))
    policies = fixed(where.dim, level, memories)
    adaptive = AdaptiveLinUCB(dim=where.dim)
    return simulate(where, {"adaptive": adaptive, **policies}, replications=N, seed=2)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("abrupt", 2 / 3),
        ("slow", 1.25),
        ("stationary", 1.0),
        ("an action turns best unseen", 1.25),
        ("five arms, nothing changes", 2 / 3),
        ("the best of five arms changes", 1.25),
    ],
)
def test_regret_against_the_best_fixed_discount_in_hindsight(name: str, factor: float) -> None:
    table = result(name)
    finals = [table.final(policy) for policy in table.policies if policy != "adaptive"]
    best = min(finals, key=lambda final: float(final.mean()))
    excess = table.final("adaptive") - factor * best
    error = excess.std(ddof=1) / math.sqrt(N)
    assert excess.mean() + STANDARD_ERRORS * error < 0


@pytest.mark.thorough
def test_detections_follow_changes_and_nothing_else() -> None:
    abrupt = result("abrupt").detections_frame()
    abrupt = abrupt[abrupt["policy"] == "adaptive"]
    for change in (1000, 2000, 3000):
        after = abrupt[abrupt["round"].between(change + 1, change + 500)]
        assert after["replication"].nunique() >= 0.9 * N
    stationary = result("stationary").detections_frame()
    alarms = stationary[stationary["policy"] == "adaptive"]["replication"].nunique()
    # α(1 + log T) false alarms are the bound; fewer come.
    assert alarms <= N * 0.05 * (1 + math.log(6000))
