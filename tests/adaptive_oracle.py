"""AdaptiveLinUCB exactly as defined: every estimate is a sum over the whole history."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from oracles import Advance, Event, Floats, Late, Update

ANCHORED, CENTRED = 0, 1
LEVEL_MEMORIES = [3 * math.sqrt(10) ** h for h in range(5)]
NOISE_KEPT = 1 - 1 / 200  # per reward, in the sums that the noise level comes from


@dataclass
class Expert:
    """Its discounts so far as (clock at which γ starts, γ), its weight and its odds."""

    discounts: list[tuple[float, float]]
    weight: float
    ridge: Floats  # the diagonal of Λ when it was last restored
    odds: float = 1.0
    restored: float = 0.0
    changes: int = 0

    def kept(self, since: float, clock: float) -> float:
        """The weight now of an observation with weight 1 at ``since``: the product of discounts."""
        if since > clock:
            return float(self.discounts[-1][1] ** (clock - since))
        ends = [start for start, _ in self.discounts[1:]] + [clock]
        kept = 1.0
        for (start, gamma), end in zip(self.discounts, ends, strict=True):
            kept *= gamma ** max(0.0, min(end, clock) - max(start, since))
        return float(kept)


@dataclass(frozen=True)
class Seen:
    """An observation in raw form and in the form of the centred bank, if it has one."""

    round: float
    action: Floats
    reward: float  # minus the first reward
    x: Floats | None
    y: float
    counted: float  # the round as the running means count it; −∞: before the last jump

    def row(self, bank: int) -> tuple[Floats | None, float]:
        return (self.action, self.reward) if bank == ANCHORED else (self.x, self.y)


@dataclass(frozen=True)
class Prediction:
    """The prediction of a reward by every expert of a bank."""

    raw: Floats  # errors at level zero
    leverage: Floats  # change of the error per unit of the level
    spread: Floats
    error: Floats
    scale: Floats


@dataclass
class Definition:
    """The algorithm exactly as defined: every estimate is a sum over all observations."""

    dim: int
    noise: float | None = None
    clock: float = 0.0
    origin: float = 0.0
    seen: list[Seen] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    fourths: list[tuple[float, float]] = field(default_factory=list)  # below, above
    detections: list[int] = field(default_factory=list)
    overwritten: int = 0
    ratio: float = 1.0
    precision: float = 0.0
    moment: float = 0.0
    lean: float = 0.0
    moving: int = 0
    tracker: int = 0
    fall: float = 1.0
    fall_from: int = 0
    looks: int = 0
    jumps: list[float] = field(default_factory=list)  # error of the reward that showed each jump
    since: float = 0.0  # the round of the rewards from which the running means started anew
    ages: list[float] = field(default_factory=list)  # of rewards, when they came
    awaited: list[tuple[Floats, float]] = field(default_factory=list)  # actions, and w
    closed: Floats | None = None  # the action of the round closed last, if its reward has not come
    closed_round: float = 0.0

    def __post_init__(self) -> None:
        self.variance = 1.0 if self.noise is None else self.noise**2
        # θ and V⁻¹ of the last centred expert before the last reward.
        self.earlier = np.zeros(self.dim), np.zeros((self.dim, self.dim))
        self.actions: list[Floats] = []  # including the one that is being learned
        self.trust = np.full(5, 0.2)  # in the running means
        self.banks = [[Expert([(0.0, 1.0)], 1.0, np.zeros(self.dim))] for _ in range(2)]

    # --- Estimates ------------------------------------------------------------------------------

    def present(self) -> Floats:
        """The number of times that each feature was not zero."""
        return np.asarray(np.sum([a != 0 for a in self.actions], axis=0) + np.zeros(self.dim))

    def scales(self) -> Floats:
        """Mean square of each feature over the times when it was not zero."""
        squares = np.sum([a * a for a in self.actions], axis=0) + np.zeros(self.dim)
        return np.asarray(squares / np.maximum(1, self.present()))

    def usual_features(self) -> float:
        """Features of an action that are not zero, on average."""
        return max(1.0, float(self.present().sum()) / max(1, len(self.actions)))

    def prior(self) -> float:
        """λ of a feature with scale 1."""
        return 0.1 * self.usual_features() * self.ratio

    def sums(self, bank: int, j: int) -> tuple[Floats, Floats, Floats]:
        """Σ w x xᵀ, Σ w y x, and Σ w x if y contains the level."""
        expert = self.banks[bank][j]
        gram, moment, offset = (
            np.zeros((self.dim, self.dim)),
            np.zeros(self.dim),
            np.zeros(self.dim),
        )
        for observed in self.seen:
            x, y = observed.row(bank)
            if x is not None:
                w = expert.kept(observed.round, self.clock)
                gram += w * np.outer(x, x)
                moment += w * y * x
                offset += w * x * (bank == ANCHORED)
        return gram, moment, offset

    def inverse(self, bank: int, j: int) -> Floats:
        """V⁻¹ for the features that were not zero at least once; zero for the others."""
        expert, known = self.banks[bank][j], np.flatnonzero(self.present())
        ridge = expert.ridge * expert.kept(expert.restored, self.clock)
        V = self.sums(bank, j)[0] + np.diag(ridge)
        inverse = np.zeros((self.dim, self.dim))
        if len(known) and ridge[known].all():
            inverse[np.ix_(known, known)] = np.linalg.inv(V[np.ix_(known, known)])
        return inverse

    def estimate(self, bank: int, j: int) -> Floats:
        """θ at the level of the bank."""
        _, moment, offset = self.sums(bank, j)
        level = self.level() if bank == ANCHORED else 0.0
        return np.asarray(self.inverse(bank, j) @ (moment - level * offset))

    def level(self) -> float:
        return self.moment / self.precision if self.precision > 0 else 0.0

    def theta(self) -> Floats:
        return self.estimate(self.moving, self.in_force(self.moving))

    def in_force(self, bank: int) -> int:
        weights = [expert.weight for expert in self.banks[bank][:-1]]
        return int(np.searchsorted(np.cumsum(weights), 0.4))

    def memory(self, j: int) -> float:
        return math.inf if j == len(self.banks[0]) - 1 else 2.0 * self.dim * 4**j

    def remembered(self, j: int) -> float:
        """Σ w over all time so far."""
        expert, total, end = self.banks[self.moving][j], 0.0, self.clock
        for start, gamma in reversed(expert.discounts):
            rounds, later = end - start, expert.kept(end, self.clock)
            # Weights of closed rounds at the end of each: 1 + γ + … + γ^(n − 1).
            total += later * (rounds if gamma == 1 else (1 - gamma**rounds) / (1 - gamma))
            end = start
        return float(total)

    # --- Running means --------------------------------------------------------------------------

    def mean(self, h: int, round: float) -> tuple[float, float, Floats]:
        """Count, mean reward and mean action, discounted by the distance from a round."""
        kept = [self.kept_in_mean(h, round, o) for o in self.seen]
        count = float(np.sum(kept))
        if count == 0:
            return 0.0, 0.0, np.zeros(self.dim)
        reward = sum(k * o.reward for k, o in zip(kept, self.seen, strict=True)) / count
        action = np.sum([k * o.action for k, o in zip(kept, self.seen, strict=True)], axis=0)
        return count, reward, action / count

    def kept_in_mean(self, h: int, round: float, other: Seen) -> float:
        """The weight of a reward in the mean for a round, which may be out of order."""
        discount = 1 - 1 / LEVEL_MEMORIES[h]
        if round >= self.latest():
            return float(discount ** (round - other.counted))
        kept = float(discount ** abs(math.floor(round) - math.floor(other.round)))
        same_side = self.is_since(round) == self.is_since(other.round)
        return kept if kept >= 1e-4 and self.is_near(other.round) and same_side else 0.0

    def is_since(self, round: float) -> bool:
        """Whether a round is not before the last jump."""
        return math.floor(round) >= self.since

    def is_near(self, round: float) -> bool:
        return math.floor(self.latest()) - math.floor(round) < 512

    def latest(self) -> float:
        return max([0.0, *(o.round for o in self.seen)])

    def notice_jump(self, action: Floats, reward: float, round: float) -> None:
        """Let the running means start anew if only the latest round predicts this reward."""
        latest = self.latest()
        of_round = [o for o in self.seen if math.floor(o.round) == math.floor(latest)]
        means = [self.mean(h, latest) for h in range(5)]
        if round < latest or not of_round:
            return
        theta, inverse = self.earlier

        def error(count: float, mean: float, centre: Floats) -> float:
            return float(reward - mean - (action - centre) @ theta)

        def square(count: float, mean: float, centre: Floats) -> float:
            scale = 1 + 1 / count + (action - centre) @ inverse @ (action - centre)
            return error(count, mean, centre) ** 2 / (self.variance * float(scale))

        rewards = [o.reward for o in of_round]
        centre = np.mean([o.action for o in of_round], axis=0)
        missed = all(square(*mean) > 12 for mean in means)
        if missed and square(len(rewards), float(np.mean(rewards)), centre) < 4:
            self.jumps.append(error(*means[self.tracker]))
            self.fall = 1.0 if self.jumps[-1] > 0 else math.inf
            self.since = math.floor(latest)
            self.seen = [
                replace(o, counted=latest if self.is_since(o.round) else -math.inf)
                for o in self.seen
            ]

    # --- Choosing -------------------------------------------------------------------------------

    def place(self) -> float:
        golden = (math.sqrt(5) - 1) / 2
        period, within = divmod(math.floor(self.clock), 10)
        if within != math.floor(10 * (period**2 * golden % 1.0)):
            return 1.0
        return period * golden % 1.0

    def auditor(self) -> int:
        memory = (self.dim * (self.clock + 1)) ** (2 / 3) * self.ratio**0.25
        memory *= 4 ** (0.25 - self.place())
        enough = [j for j in range(len(self.banks[0])) if self.memory(j) >= memory]
        return enough[0]

    def centre(self) -> Floats:
        """ā, which the bank in force subtracts from actions."""
        if self.moving == ANCHORED:
            return np.zeros(self.dim)
        return self.mean(self.tracker, self.latest())[2]

    def squares(self, away: Floats, j: int) -> Floats:
        """Squared widths of rows, without the level: those of V, and of V + P if rewards wait."""
        inverse, awaited = self.inverse(self.moving, j), np.zeros(self.dim)
        waiting = self.awaited + [(a, 1.0) for a in [self.closed] if a is not None]
        if self.waits() and sum(w for _, w in waiting) >= 1:
            known, centre = np.flatnonzero(self.present()), self.centre()
            count = sum(w for _, w in waiting)
            ahead = np.sum([w * a * a for a, w in waiting], axis=0) / count
            scales = np.maximum(self.scales(), ahead)
            V = self.sums(self.moving, j)[0] + np.diag(self.prior() * scales)
            V += np.sum([w * np.outer(a - centre, a - centre) for a, w in waiting], axis=0)
            inverse = np.zeros((self.dim, self.dim))
            inverse[np.ix_(known, known)] = np.linalg.inv(V[np.ix_(known, known)])
            awaited = ahead * count
        squares = np.einsum("ki,ij,kj->k", away, inverse, away)
        for i in np.flatnonzero(self.present() == 0):
            some = away[:, i] != 0
            squares[some] += 1 / (self.prior() + awaited[i] / away[some, i] ** 2)
        return np.asarray(squares)

    def widths(self, actions: Floats, j: int) -> Floats:
        squares = self.squares(actions - self.centre(), j)
        if self.moving == ANCHORED:
            inverse = self.inverse(ANCHORED, j)
            leverage = 1 - actions @ inverse @ self.sums(ANCHORED, j)[2]
            squares += leverage**2 / max(self.precision, 1e-3)
        return np.asarray(np.sqrt(squares))

    def decider(self, actions: Floats) -> tuple[int, float]:
        """The expert that decides, and its radius; in an audit the auditor, if it is unsure."""
        x, radius = self.in_force(self.moving), math.sqrt(self.variance)
        if self.place() < 1 and self.auditor() < x:
            j = self.auditor()
            best = np.argmax(self.bounds(actions, j, 0.4 * radius))
            if self.unusual(actions, self.widths(actions, j), j)[best] > 1:
                return j, 0.4 * radius
        return x, radius

    def lengths(self, actions: Floats) -> Floats:
        """Squared, in units of the features' scales and of what is usual; 1 at least."""
        known = self.present() > 0
        squares = np.where(known, actions**2 / np.where(known, self.scales(), 1), actions != 0)
        return np.asarray(np.maximum(1, squares.sum(axis=1) / self.usual_features()))

    def unusual(self, actions: Floats, widths: Floats, j: int) -> Floats:
        return np.asarray(self.remembered(j) * widths**2 / (4 * self.dim) / self.lengths(actions))

    def curious(self, actions: Floats, widths: Floats, j: int) -> Floats:
        excess = np.maximum(1, self.unusual(actions, widths, j))
        return np.asarray(widths * np.sqrt(1 + 0.5 * np.log(excess)))

    def bounds(self, actions: Floats, j: int, radius: float) -> Floats:
        widths = self.curious(actions, self.widths(actions, j), j)
        return np.asarray(actions @ self.estimate(self.moving, j) + radius * widths)

    def scores(self, actions: Floats) -> Floats:
        return self.bounds(actions, *self.decider(actions))

    def chances(self, actions: Floats, temperature: float, floor: float) -> Floats:
        """Propensities of AdaptiveSampling."""
        j, radius = self.decider(actions)
        bounds = self.scores(actions)
        away = actions - actions[np.argmax(bounds)]
        squares = self.squares(away, j)
        unit = temperature * radius * self.curious(actions, np.sqrt(squares), j)
        gaps = bounds.max() - bounds
        z = np.divide(gaps, unit, out=np.zeros(len(actions)), where=gaps > 0)
        odds = np.exp(-0.5 * z**2)
        return np.asarray((1 - floor) * odds / odds.sum() + floor / len(actions))

    # --- Learning -------------------------------------------------------------------------------

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
        at_once = round == self.closed_round
        self.ages.append(0.0 if at_once else max(0.0, self.clock - round))
        if at_once:
            self.closed = None
        if not self.rewards:
            self.origin = reward
        known = self.present() > 0
        self.actions.append(action)
        new = bool(((action != 0) & ~known).any())
        self.restore_due(new)
        self.notice_jump(action, reward - self.origin, round)
        observed, inflation = self.observe(action, reward - self.origin, round)
        banks = [ANCHORED] if observed.x is None else [ANCHORED, CENTRED]
        predictions = [self.predict(observed, bank) for bank in banks]
        residual = self.residual(predictions)
        if len(set(self.rewards)) > 1:
            self.judge_all(observed, predictions, inflation)
        self.rewards.append(reward)
        bank = min(self.moving, len(predictions) - 1)
        self.measure_noise(residual, predictions[bank].error[self.in_force(bank)] > 0)
        theta = self.theta()
        signal = float(self.scales() @ theta**2)
        self.ratio = max(1e-12, self.variance / (self.variance + signal))
        x, p = self.in_force(ANCHORED), predictions[0]
        self.precision += 0.5 * p.leverage[x] ** 2 / (1 + p.spread[x])
        self.moment += 0.5 * p.leverage[x] * p.raw[x] / (1 + p.spread[x])
        if self.moving and self.precision > 1:
            self.moment, self.precision = self.moment / self.precision, 1.0
        last = len(self.banks[CENTRED]) - 1
        self.earlier = self.estimate(CENTRED, last), self.inverse(CENTRED, last)
        self.seen.append(observed)
        for bank in banks:
            for expert, spread in zip(self.banks[bank], predictions[bank].spread, strict=True):
                expert.changes += 1
                if spread * expert.kept(round, self.clock) > 1e6:
                    self.restore(expert)
        reached = np.flatnonzero(np.cumsum(self.trust[:-1]) > 0.4 - 1e-12)
        self.tracker = int(reached[0]) if len(reached) else 4

    def observe(self, action: Floats, reward: float, round: float) -> tuple[Seen, float]:
        """The observation in the forms of both banks, and F."""
        count, mean, centre = self.mean(self.tracker, round)
        counted = round if self.is_since(round) else -math.inf
        if count == 0 or not self.is_near(round):
            return Seen(round, action, reward, None, 0.0, counted), 1.0
        # The centre is the same as in `choose`: it does not move until a reward arrives.
        inflation = 1 + 1 / count
        scale = math.sqrt(inflation)
        x, y = (action - centre) / scale, (reward - mean) / scale
        return Seen(round, action, reward, x, y, counted), inflation

    def predict(self, observed: Seen, bank: int) -> Prediction:
        x, y = observed.row(bank)
        assert x is not None
        rows = []
        for j in range(len(self.banks[bank])):
            inverse, (_, moment, offset) = self.inverse(bank, j), self.sums(bank, j)
            leverage = (bank == ANCHORED) - x @ inverse @ offset
            rows.append((y - x @ inverse @ moment, leverage, x @ inverse @ x))
        raw, leverage, spread = np.array(rows).T
        error, scale = raw.copy(), 1 + spread
        if bank == ANCHORED and self.precision > 0:
            error, scale = raw - leverage * self.level(), scale + leverage**2 / self.precision
        elif bank == ANCHORED:
            error = np.zeros_like(raw)
        return Prediction(raw, leverage, spread, error, scale)

    def residual(self, predictions: list[Prediction]) -> float:
        of = [
            float(np.array([e.weight for e in experts]) @ (p.error**2 / p.scale))
            for experts, p in zip(self.banks, predictions, strict=False)
        ]
        share = 1 / (1 + math.exp(-self.lean)) if len(of) == 2 else 0.0
        return (1 - share) * of[0] + (share * of[1] if len(of) == 2 else 0.0)

    def density(self, error: Floats, scale: Floats) -> Floats:
        """Student-t density, without the factors that all experts share."""
        freedom, tails = self.degrees_of_freedom(), self.tails()
        scale = scale ** min(1.0, 2 * tails.min() / tails.max())
        law = 1 + error**2 / (freedom * self.variance * scale)
        return np.asarray(scale**-0.5 * law ** (-(freedom + 1) / 2))

    def judge_all(self, seen: Seen, predictions: list[Prediction], inflation: float) -> None:
        heaviest = int(np.argmax([e.weight for e in self.banks[CENTRED]]))
        if len(predictions) == 2:
            self.judge_means(
                seen, self.estimate(CENTRED, heaviest), predictions[1].spread[heaviest]
            )
        mixtures = [self.judge(bank, p) for bank, p in enumerate(predictions)]
        if len(predictions) < 2:
            return
        gain = math.log(mixtures[1] / mixtures[0]) - 0.5 * math.log(inflation)
        scales, centred = self.scales(), seen.x
        assert centred is not None
        known = scales > 0
        far = inflation * (centred[known] ** 2 / scales[known]).sum()
        length = (seen.action[known] ** 2 / scales[known]).sum()
        gain *= min(1.0, far / length) if length > 0 else 0.0
        self.lean = min(28.0, max(-28.0, self.lean + min(0.3, max(-1.0, gain))))
        if self.fall > 100:
            self.fall, self.lean, self.looks = 1.0, min(0.0, self.lean), self.looks + self.moving
        if self.lean > 1:
            self.moving = 1
        elif self.lean <= 0:
            self.moving = 0

    def judge_means(self, seen: Seen, theta: Floats, spread: float) -> None:
        error, scale, means, known = [], [], [], []
        for h in range(5):
            count, reward, action = self.mean(h, seen.round)
            means.append(reward)
            known.append(count > 0)
            error.append(seen.reward - reward - theta @ (seen.action - action))
            scale.append(1 + (1 / count if count else 0.0) + spread)
        law = self.density(np.array(error), np.array(scale)) * known
        in_order = seen.round >= self.latest()
        if in_order and self.fall == 1.0:
            self.fall_from = self.tracker
        above = error[self.fall_from] > 0
        lower = [h for h in range(self.fall_from) if means[h] < means[self.fall_from]]
        if lower and in_order:
            odds = self.trust[lower] @ law[lower] / self.trust[lower].sum() / law[self.fall_from]
            self.fall = max(1.0, self.fall * float(min(odds, 1.0) if above else odds))
        share = 1.0 / len(self.actions)
        self.trust = (1 - share) * self.trust * law / (self.trust @ law) + share / 5

    def judge(self, bank: int, p: Prediction) -> float:
        experts = self.banks[bank]
        w, likelihood = np.array([e.weight for e in experts]), self.density(p.error, p.scale)
        for j in range(1, len(w)):
            others = w[:j] @ likelihood[:j] / w[:j].sum()
            experts[j].odds = max(1.0, experts[j].odds * float(others / likelihood[j]))
        share = 1.0 / len(self.actions)
        posterior = (1 - share) * w * likelihood / (w @ likelihood) + share * self.share(len(w))
        for expert, weight in zip(experts, posterior, strict=True):
            expert.weight = float(weight)
        return float(w @ likelihood)

    def share(self, count: int) -> Floats:
        """0.6 for the last expert; the others share 0.4 as 1, 1/2, 1/3, …, the longest first."""
        if count == 1:
            return np.ones(1)
        others = 1.0 / np.arange(count - 1, 0, -1)
        return np.append(0.4 * others / others.sum(), 0.6)

    # --- Noise ----------------------------------------------------------------------------------

    def tails(self) -> Floats:
        """Mean fourth powers of residuals below and above zero, in units of the variance."""
        age = np.arange(len(self.fourths) - 1, -1, -1.0)
        recent = 0.001 * 0.999**age @ np.array(self.fourths).reshape(-1, 2)
        return np.asarray(1.5 * 0.999 ** len(self.fourths) + recent)

    def degrees_of_freedom(self) -> float:
        """Those of the noise estimate, or of the t law with the lighter tail if they are fewer."""
        kurtosis = 2 * self.tails().min()
        most = float(np.sum(NOISE_KEPT ** np.arange(len(self.residuals)))) + 1.0
        return most if kurtosis <= 3 else min(most, 4 + 6 / float(kurtosis - 3))

    def measure_noise(self, residual: float, above: bool) -> None:
        seen = len(self.rewards)
        if seen == 1:
            return
        self.residuals.append(residual)
        recent = NOISE_KEPT ** np.arange(seen - 1, -1, -1.0)
        rewards = np.array(self.rewards) - self.origin
        centre = recent @ rewards / recent.sum()
        usual = float(recent @ (rewards - centre) ** 2 / recent.sum())
        if len(set(self.rewards)) == 1:
            return
        lean = self.dim * 2.0 ** (-(seen - 1) / self.dim)
        weights = NOISE_KEPT ** np.arange(len(self.residuals) - 1, -1, -1.0)
        mixed = float(weights @ np.array(self.residuals)) + lean * usual
        variance = max(mixed / (float(weights.sum()) + lean), 1e-12 * usual)
        if self.noise is None:
            self.variance = variance
        fourth = min(residual / variance, 25.0) ** 2
        self.fourths.append((0.0, fourth) if above else (fourth, 0.0))

    # --- Time -----------------------------------------------------------------------------------

    def delay(self) -> float:
        """The mean age of recent rewards."""
        kept = NOISE_KEPT ** np.arange(len(self.ages) - 1, -1, -1.0)
        return float(kept @ self.ages / kept.sum())

    def waits(self) -> bool:
        return not self.ages or self.delay() >= 1

    def decide(self, action: Floats, rounds: float = 1.0) -> None:
        """A decision whose reward comes later; ``rounds`` rounds close."""
        self.advance(rounds)
        self.closed = action

    def wait(self, rounds: float) -> None:
        """The decision closed before is awaited from now on; all fade."""
        if self.closed is not None:
            self.awaited.append((self.closed, 1.0))
        self.closed, self.closed_round = None, self.clock + 1
        if not self.waits():
            self.awaited = []
        if self.ages:
            discount = self.banks[self.moving][self.in_force(self.moving)].discounts[-1][1]
            kept = (discount * self.delay() / (1 + self.delay())) ** rounds
            self.awaited = [(a, w * kept) for a, w in self.awaited]

    def advance(self, rounds: float) -> None:
        self.wait(rounds)
        end, closing = self.clock + rounds, math.floor(self.clock) + 1.0
        limit = closing / 0.05
        if closing <= end and any(e.odds > limit for bank in self.banks for e in bank[1:]):
            self.pass_time(closing)
            self.replace_refuted(limit)
        self.pass_time(end)
        self.restore_due(False)

    def restore_due(self, new: bool) -> None:
        """Restore Λ after half a memory, or when the clock has doubled since the last time."""
        for bank in self.banks:
            for j, expert in enumerate(bank):
                passed = self.clock - expert.restored
                due = passed >= self.dim * 4**j or passed >= max(self.dim, expert.restored)
                if new or due or expert.changes > 32 + 4 * self.dim:
                    self.restore(expert)

    def pass_time(self, clock: float) -> None:
        while 2 * self.dim * 4 ** (len(self.banks[0]) - 1) <= clock:
            birth = 2.0 * self.dim * 4 ** (len(self.banks[0]) - 1)
            for bank in self.banks:
                last = bank[-1]
                both = self.share(len(bank) + 1)[-2:]
                twin = Expert(list(last.discounts), last.weight, last.ridge, last.odds)
                last.weight, twin.weight = last.weight * both / both.sum()
                twin.restored, twin.changes, last.odds = last.restored, last.changes, 1.0
                last.discounts.append((birth, 1 - 1 / birth))
                bank.append(twin)
        self.clock = clock

    def replace_refuted(self, limit: float) -> None:
        for number, bank in enumerate(self.banks):
            for j in range(len(bank) - 1, 0, -1):
                old = bank[j]
                if old.odds <= limit:
                    continue
                best = max(bank[:j], key=lambda expert: expert.weight)
                discounts = [*best.discounts, (self.clock, old.discounts[-1][1])]
                new = Expert(discounts, old.weight, best.ridge, 1.0, best.restored, best.changes)
                if j == len(bank) - 1 and number == self.moving:
                    self.detections.append(int(self.clock) - 1)
                bank[j] = new
                self.overwritten += 1

    def restore(self, expert: Expert) -> None:
        expert.ridge = self.prior() * self.scales()
        expert.restored, expert.changes = self.clock, 0
