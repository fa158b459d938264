"""Clicks: the cost of different ways to report them, and the effect of the noise level.

Each visitor sees one of eight articles. Their click rates are 2% to 16%, in an order that is drawn
anew every 8,000 visits. A click comes 10 or 100 visits after its decision on average (exponential).
After five times as many visits, a missing click counts as no click. All regrets are in clicks,
relative to always showing the best article. Contestants of one replication meet the same rates,
clicks and delays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from benchmarks.measure import Array, Row, Say, mean_and_error

from driftbandits import AdaptiveLinUCB, DLinUCB, Policy, Random
from driftbandits.agent.settling import PATIENCE
from driftbandits.core.randomness import stream

NAME = "clicks"
RATES = np.linspace(0.02, 0.16, 8)
SEGMENT = 8_000  # visits between changes
VISITS = 40_000
DELAYS = (10, 100)  # visits from a decision to its click, on average
TIMEOUT = 5  # mean delays after which a missing click counts as no click
REPLICATIONS = 20
SEED = 0

ARTICLES = np.eye(len(RATES))


class News(NamedTuple):
    """One replication: the outcome of each article at each visit."""

    rates: Array  # (T, K)
    clicks: Array  # (T, K), 0 or 1
    delays: Array  # (T,), time until the click, if there is one; 1 on average


class Report(NamedTuple):
    """A reward reported to the policy; ``old`` is the reward reported before, if any."""

    visit: int
    reward: float
    old: float | None = None


def news(replication: int, visits: int) -> News:
    """Draw a replication."""
    rng = stream(SEED, NAME, replication)
    segments = -(-visits // SEGMENT)
    orders = np.array([rng.permutation(RATES) for _ in range(segments)])
    rates = np.repeat(orders, SEGMENT, axis=0)[:visits]
    clicks = (rng.random(rates.shape) < rates).astype(float)
    return News(rates, clicks, rng.exponential(1.0, visits))


# A rule gives the reports of one decision, as (time in mean delays, report).
Rule = Callable[[int, float, float], Iterator[tuple[float, Report]]]


def at_once(visit: int, click: float, delay: float) -> Iterator[tuple[float, Report]]:
    """Every outcome is known immediately: impossible in practice, for comparison."""
    yield 0.0, Report(visit, click)


def held(visit: int, click: float, delay: float) -> Iterator[tuple[float, Report]]:
    """Everything is reported at the timeout, clicks too."""
    yield float(TIMEOUT), Report(visit, click if delay < TIMEOUT else 0.0)


def zeros_last(visit: int, click: float, delay: float) -> Iterator[tuple[float, Report]]:
    """A click is reported when it comes, no click at the timeout: wrong, but common."""
    if click and delay < TIMEOUT:
        yield delay, Report(visit, 1.0)
    else:
        yield float(TIMEOUT), Report(visit, 0.0)


def amended(visit: int, click: float, delay: float) -> Iterator[tuple[float, Report]]:
    """No click is reported at once, and amended if a click comes, as an agent does."""
    yield 0.0, Report(visit, 0.0)
    if click and delay < TIMEOUT:
        yield delay, Report(visit, 1.0, old=0.0)
    known = 1.0 if click and delay < PATIENCE else 0.0
    yield PATIENCE, Report(visit, known, old=known)


RULES: dict[str, Rule] = {
    "all held until the timeout": held,
    "zero at once, amended by a click": amended,
    "clicks early, zeros at the timeout": zeros_last,
}


def play(policy: Policy, rule: Rule, drawn: News, *, delay: int) -> float:
    """Regret of a policy that gets clicks by a rule; a click takes ``delay`` visits on average."""
    policy = policy.with_provisional_rewards(rule is amended)
    due: defaultdict[int, list[Report]] = defaultdict(list)
    shown = np.empty(len(drawn.delays), dtype=int)
    for visit in range(len(shown)):
        chosen = shown[visit] = policy.decide(ARTICLES).index
        for later, report in rule(visit, drawn.clicks[visit, chosen], drawn.delays[visit]):
            due[visit + int(delay * later)].append(report)
        for told, reward, old in due.pop(visit, ()):
            article = ARTICLES[shown[told]]
            if old is None:
                policy.update(article, reward, round=told + 1)
            else:
                policy.amend(article, round=told + 1, old=old, new=reward)
    lost = drawn.rates.max(axis=1) - drawn.rates[np.arange(len(shown)), shown]
    return float(lost.sum())


class Contestant(NamedTuple):
    """A policy, the rule that reports clicks to it, and the mean delay of clicks."""

    policy: Policy
    rule: Rule
    delay: int = 0


def contestants() -> dict[str, Contestant]:
    """Two policies with every rule and delay; then noise levels, with all clicks known at once."""
    dim = len(RATES)
    gamma = 1 - 1 / 4000
    deviation = float(np.sqrt(RATES.mean() * (1 - RATES.mean())))
    policies: dict[str, Policy] = {
        "AdaptiveLinUCB": AdaptiveLinUCB(dim=dim),
        "D-LinUCB": DLinUCB(dim=dim, gamma=gamma, noise=deviation),
    }
    entries = {f"{name}, at once": Contestant(of, at_once) for name, of in policies.items()}
    for delay, (rule, report), (name, policy) in product(DELAYS, RULES.items(), policies.items()):
        entries[f"{name}, {delay} visits late, {rule}"] = Contestant(policy, report, delay)
    for level in (1.0, 0.5):
        policy = DLinUCB(dim=dim, gamma=gamma, noise=level)
        entries[f"D-LinUCB, noise {level:g}, at once"] = Contestant(policy, at_once)
    return {**entries, "Random": Contestant(Random(dim=dim), at_once)}


def run(*, quick: bool, say: Say) -> list[Row]:
    """Regrets of all contestants."""
    replications, visits = (2, 2_000) if quick else (REPLICATIONS, VISITS)
    rows = []
    for subject, (policy, rule, delay) in contestants().items():
        regrets = np.array(
            [play(policy.fresh(n), rule, news(n, visits), delay=delay) for n in range(replications)]
        )
        mean, error = mean_and_error(regrets)
        say(f"clicks: {subject}: {mean:.0f} ± {error:.0f} ({replications} replications)")
        rows.append(Row(NAME, subject, "final regret", "", mean, mean - error, mean + error))
    return rows
