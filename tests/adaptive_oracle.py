"""AdaptiveLinUCB by the letter: every estimate is a sum over the whole history."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from oracles import Advance, Event, Floats, Late, Update


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
    fourths: list[float] = field(default_factory=list)
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
        return self.estimate(self.in_force())

    def mean(self, values: list[float]) -> float:
        """The mean with memory 100, of what came in the order of arrival."""
        recent = 0.99 ** np.arange(len(values) - 1, -1, -1.0)
        return float(recent @ values / recent.sum())

    def in_force(self) -> int:
        return int(np.searchsorted(np.cumsum([e.weight for e in self.experts[:-1]]), 0.4))

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
        return min(self.in_force(), enough[0])

    def widths(self, actions: Floats, j: int) -> Floats:
        V = self.design(j)
        squares = np.einsum("ki,ij,kj->k", actions, np.linalg.inv(V), actions)
        return np.asarray(np.sqrt(squares))

    def scores(self, actions: Floats) -> Floats:
        noise = math.sqrt(self.variance)
        if self.place() < 1:
            x = self.auditor()
            return actions @ self.estimate(x) + 1.5 * noise * self.widths(actions, x)
        return actions @ self.theta() + noise * self.widths(actions, self.in_force())

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

    def prior(self, count: int) -> Floats:
        """0.6 for the last expert, the rest as 1, 1/2, 1/3, … for the others, longest first."""
        others = 1.0 / np.arange(count - 1, 0, -1)
        return np.append(0.4 * others / others.sum(), 0.6)

    def degrees_of_freedom(self) -> float:
        """Of the noise estimate, or of the t law with this kurtosis if those are fewer."""
        age = np.arange(len(self.fourths) - 1, -1, -1.0)
        kurtosis = 3 * 0.999 ** len(self.fourths) + 0.001 * 0.999**age @ np.array(self.fourths)
        most = float(np.sum(0.99 ** np.arange(len(self.rewards)))) + 1.0
        return most if kurtosis <= 3 else min(most, 4 + 6 / float(kurtosis - 3))

    def judge(self, e: Floats, q: Floats, w: Floats) -> None:
        seen = len(self.rewards)
        freedom = self.degrees_of_freedom()
        law = 1 + e**2 / (freedom * self.variance * (1 + q))
        likelihood = (1 + q) ** -0.5 * law ** (-(freedom + 1) / 2)
        for j in range(1, len(w)):
            others = w[:j] @ likelihood[:j] / w[:j].sum()
            gain = float(np.log(others / likelihood[j]))
            self.experts[j].evidence = max(0.0, self.experts[j].evidence + gain)
        prior = self.prior(len(w))
        share = 1.0 / (seen + 1)
        posterior = (1 - share) * w * likelihood / (w @ likelihood) + share * prior
        for expert, weight in zip(self.experts, posterior, strict=True):
            expert.weight = float(weight)

    def measure_noise(self) -> None:
        seen = len(self.rewards)
        squares = self.mean([r * r for r in self.rewards])
        if squares == 0:
            return
        count = float(np.sum(0.99 ** np.arange(seen)))
        prior = self.dim * 2.0 ** (-(seen - 1) / self.dim)
        mixed = count * self.mean(self.residuals) + prior * squares
        variance = max(mixed / (count + prior), 1e-12 * squares)
        if self.noise is None:
            self.variance = variance
        self.fourths.append(min(self.residuals[-1] / variance, 25.0) ** 2)
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
            both = self.prior(len(self.experts) + 1)[-2:]
            twin = Expert(list(last.discounts), last.weight, last.ridge, last.evidence)
            last.weight, twin.weight = last.weight * both / both.sum()
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
