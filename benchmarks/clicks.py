"""Clicks: what the ways to report them cost, and what the noise level does.

Each visitor is shown one of eight articles. Their click rates are 2% to 16%, in an order that is
drawn anew every 8,000 visits. A click comes 100 visits after its decision on average (exponential),
and what has not come after 500 visits is no click. All regrets are in clicks, relative to always
showing the best article; contestants of one replication meet the same rates, clicks and delays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from driftbandits import AdaptiveLinUCB, DLinUCB, Policy, Random
from driftbandits.core.randomness import stream

from .measure import Array, Row, Say, mean_and_error

NAME = "clicks"
RATES = np.linspace(0.02, 0.16, 8)
SEGMENT = 8_000  # visits between changes
VISITS = 40_000
DELAY = 100.0  # visits from a decision to its click, on average
TIMEOUT = 500  # visits after which no click is expected any more
REPLICATIONS = 20
SEED = 0

ARTICLES = np.eye(len(RATES))


class News(NamedTuple):
    """One replication: what would happen at each visit, for each article."""

    rates: Array  # (T, K)
    clicks: Array  # (T, K), 0 or 1
    delays: Array  # (T,), visits until the click, if there is one


class Report(NamedTuple):
    """A reward that reaches the policy; ``old`` is what it was told before, if anything."""

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
    return News(rates, clicks, rng.exponential(DELAY, visits))


# Each rule says which reports one decision causes, as (visits later, report).
Rule = Callable[[int, float, float], Iterator[tuple[int, Report]]]


def at_once(visit: int, click: float, delay: float) -> Iterator[tuple[int, Report]]:
    """Click or not is known immediately: what no system can do, for comparison."""
    yield 0, Report(visit, click)


def held(visit: int, click: float, delay: float) -> Iterator[tuple[int, Report]]:
    """Everything is reported when the timeout has passed, clicks too."""
    yield TIMEOUT, Report(visit, click if delay < TIMEOUT else 0.0)


def zeros_last(visit: int, click: float, delay: float) -> Iterator[tuple[int, Report]]:
    """A click is reported when it comes, its absence at the timeout: wrong, and often done."""
    if click and delay < TIMEOUT:
        yield int(delay), Report(visit, 1.0)
    else:
        yield TIMEOUT, Report(visit, 0.0)


RULES: dict[str, Rule] = {
    "at once": at_once,
    "all held until the timeout": held,
    "clicks early, zeros at the timeout": zeros_last,
}


def play(policy: Policy, rule: Rule, drawn: News) -> float:
    """Regret of a policy that is told of clicks by a rule."""
    due: defaultdict[int, list[Report]] = defaultdict(list)
    shown = np.empty(len(drawn.delays), dtype=int)
    for visit in range(len(shown)):
        chosen = shown[visit] = policy.select(ARTICLES)
        policy.advance()
        for later, report in rule(visit, drawn.clicks[visit, chosen], drawn.delays[visit]):
            due[visit + later].append(report)
        for told, reward, _ in due.pop(visit, ()):
            policy.update(ARTICLES[shown[told]], reward, round=told + 1)
    lost = drawn.rates.max(axis=1) - drawn.rates[np.arange(len(shown)), shown]
    return float(lost.sum())


def contestants() -> dict[str, tuple[Policy, Rule]]:
    """Every rule with each of two policies; then noise levels, with all clicks known at once."""
    dim = len(RATES)
    gamma = 1 - 1 / 4000
    deviation = float(np.sqrt(RATES.mean() * (1 - RATES.mean())))
    adaptive, discounted = AdaptiveLinUCB(dim=dim), DLinUCB(dim=dim, gamma=gamma, noise=deviation)
    entries: dict[str, tuple[Policy, Rule]] = {}
    for rule, report in RULES.items():
        entries[f"AdaptiveLinUCB, {rule}"] = adaptive, report
        entries[f"D-LinUCB, {rule}"] = discounted, report
    for level in (1.0, 0.5):
        policy = DLinUCB(dim=dim, gamma=gamma, noise=level)
        entries[f"D-LinUCB, noise {level:g}, at once"] = policy, at_once
    return {**entries, "Random": (Random(dim=dim), at_once)}


def run(*, quick: bool, say: Say) -> list[Row]:
    """Regrets of all contestants."""
    replications, visits = (2, 2_000) if quick else (REPLICATIONS, VISITS)
    rows = []
    for subject, (policy, rule) in contestants().items():
        say(f"clicks: {subject}, {replications} replications")
        regrets = np.array(
            [play(policy.fresh(n), rule, news(n, visits)) for n in range(replications)]
        )
        mean, error = mean_and_error(regrets)
        say(f"clicks: {subject}: {mean:.0f} ± {error:.0f}")
        rows.append(Row(NAME, subject, "final regret", "", mean, mean - error, mean + error))
    return rows
