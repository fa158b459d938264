"""Scaling: time by d, K, T, window and threads, with fitted exponents; memory by T."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np

from driftbandits import DLinUCB, LinUCB, Policy, SWLinUCB
from driftbandits.least_squares.forgetting import UNIT
from driftbandits.policies.weighted.family import WeightedPolicy
from driftbandits.simulation import simulate

from . import problems
from .measure import (
    Aim,
    Array,
    Row,
    Say,
    at_least,
    at_most,
    exponent,
    interleaved,
    mean_and_error,
    single,
    summary,
)

NAME = "scaling"
GAMMA = 0.99


def run(*, quick: bool, say: Say) -> list[Row]:
    """All measurements of this section."""
    repetitions = 3 if quick else 9
    rows = []
    for what, measure in (
        ("dimension", _dimension),
        ("actions", _actions),
        ("horizon", _horizon),
        ("window", _window),
        ("threads", _threads),
    ):
        say(f"scaling: {what}")
        rows += measure(repetitions)
    say("scaling: regret of the amortised updates")
    rows += _regret_of_amortised(replications=6 if quick else 100)
    say("scaling: accuracy of factors that follow")
    rows += _accuracy(rounds=20_000 if quick else 1_000_000)
    say("scaling: memory")
    return rows + _memory(1_000 if quick else 10_000)


def _update_and_estimate(policy: DLinUCB | SWLinUCB, rounds: int) -> Callable[[], None]:
    actions, rewards = problems.action_sets(rounds, 1, policy.dim)
    rows = actions[:, 0]

    def work() -> None:
        for t in range(rounds):
            policy.update(rows[t], rewards[t, 0])
            _ = policy.theta

    return work


def _select(policy: Policy, count: int) -> Callable[[], None]:
    actions, _ = problems.action_sets(20, count, policy.dim)

    def work() -> None:
        for rows in actions:
            policy.select(rows)

    return work


def _curve(subject: str, label: str, times: dict[int, Array]) -> list[Row]:
    return [
        summary(NAME, f"{subject}, {label} = {size}", "time", t * 1e6, unit="µs")
        for size, t in times.items()
    ]


def _fit(
    subject: str,
    label: str,
    times: dict[int, Array],
    *,
    least: int = 0,
    aim: Aim | None = None,
) -> Row:
    sizes = [size for size in times if size >= least]
    slope = exponent(sizes, [float(np.median(times[size])) for size in sizes])
    return single(
        NAME,
        f"{subject}, against {label}",
        f"exponent, {label} from {sizes[0]} to {sizes[-1]}",
        slope,
        aim=aim,
    )


def _dimension(repetitions: int) -> list[Row]:
    """Update and estimate, exact and with λ restored once per period."""
    sizes = (2, 5, 10, 20, 50, 100, 200, 400)
    curves: dict[str, dict[int, Array]] = {
        "exact": {},
        "amortised": {},
    }
    for dim in sizes:
        period = _period(dim)
        rounds = -(-max(dim, 200) // period) * period  # whole periods of the amortised update
        works = {
            "exact": _update_and_estimate(DLinUCB(dim=dim, gamma=GAMMA), rounds),
            "amortised": _update_and_estimate(
                DLinUCB(dim=dim, gamma=GAMMA, restore_every=period), rounds
            ),
        }
        for name, times in interleaved(works, repetitions=repetitions).items():
            curves[name][dim] = times.cpu / rounds
    rows = []
    for name, curve in curves.items():
        rows += _curve(f"update + theta, {name}", "d", curve)
    ratio = curves["exact"][200] / curves["amortised"][200]
    return [
        *rows,
        _fit("update + theta, exact", "d", curves["exact"], least=50),
        _fit("update + theta, amortised", "d", curves["amortised"], least=50, aim=at_most(2.2)),
        summary(NAME, "exact / amortised, d = 200", "ratio", ratio, aim=at_least(3)),
    ]


def _period(dim: int) -> int:
    """Rounds between restorations of λ, as `DLinUCB` recommends."""
    return max(dim // 4, 1)


def _actions(repetitions: int) -> list[Row]:
    works = {
        count: _select(DLinUCB(dim=20, gamma=GAMMA), count) for count in (10, 100, 1000, 10_000)
    }
    named = {str(count): work for count, work in works.items()}
    times = {int(k): t.cpu / 20 for k, t in interleaved(named, repetitions=repetitions).items()}
    subject = "select, d = 20"
    return [*_curve(subject, "K", times), _fit(subject, "K", times, least=100)]


def _simulated(horizon: int, workers: int, replications: int) -> Callable[[], object]:
    environment = problems.abrupt(horizon)
    policies = {"D-LinUCB": DLinUCB(dim=2, gamma=GAMMA)}
    return partial(simulate, environment, policies, replications=replications, workers=workers)


def _horizon(repetitions: int) -> list[Row]:
    sizes = (16_000, 64_000, 256_000)
    works = {str(size): _simulated(size, 1, 2) for size in sizes}
    times = {int(k): t.cpu for k, t in interleaved(works, repetitions=repetitions).items()}
    return [
        *_curve("simulation of 2 replications", "T", times),
        _fit("simulation", "T", times),
    ]


def _window(repetitions: int) -> list[Row]:
    works = {
        str(window): _update_and_estimate(SWLinUCB(dim=10, window=window), 2 * window)
        for window in (100, 1_000, 10_000)
    }
    raw = interleaved(works, repetitions=repetitions)
    times = {int(window): t.cpu / (2 * int(window)) for window, t in raw.items()}
    subject = "SW-LinUCB update + theta, d = 10"
    return [*_curve(subject, "window", times), _fit(subject, "window", times)]


def _threads(repetitions: int) -> list[Row]:
    works = {str(workers): _simulated(6000, workers, 24) for workers in (1, 2, 4)}
    times = interleaved(works, repetitions=repetitions)
    return [
        summary(
            NAME,
            f"simulation, {workers} threads",
            "speed-up",
            times["1"].wall / times[workers].wall,
        )
        for workers in ("2", "4")
    ]


def _regret_of_amortised(replications: int) -> list[Row]:
    """Regret at d = 50 of both, and their difference in standard errors; common random numbers."""
    environment = problems.wandering(dim=50, count=20, horizon=3000)
    options = problems.problem(environment).common()
    policies = {
        "exact": DLinUCB(gamma=0.995, **options),
        "amortised": DLinUCB(gamma=0.995, restore_every=_period(50), **options),
    }
    result = simulate(environment, policies, replications=replications)
    rows = []
    for name in policies:
        mean, error = mean_and_error(result.final(name))
        subject = f"D-LinUCB {name}, d = 50"
        rows.append(Row(NAME, subject, "final regret", "", mean, mean - error, mean + error))
    _, error = mean_and_error(result.final("exact"))
    apart = float(np.mean(result.final("amortised") - result.final("exact")))
    return [
        *rows,
        single(
            NAME,
            "amortised − exact, d = 50",
            "difference of regret, in standard errors of exact",
            abs(apart) / error,
            aim=at_most(2),
            note=f"{apart:+.1f} on average, common random numbers, N = {replications}",
        ),
    ]


def _accuracy(rounds: int) -> list[Row]:
    """Compare factors updated by rank-one changes with freshly computed factors.

    The check is after every block. The length of a block is not a multiple of the number of changes
    after which a factor is recomputed, so that factors of all ages are checked.
    """
    rows = []
    for dim in (16, 50):
        environment = problems.wandering(dim=dim, count=4, horizon=rounds)
        policies: dict[str, WeightedPolicy] = {
            "LinUCB": LinUCB(dim=dim),
            "SW-LinUCB": SWLinUCB(dim=dim, window=500),
            "D-LinUCB": DLinUCB(dim=dim, gamma=0.999, restore_every=_period(dim)),
        }
        worst = dict.fromkeys(policies, 0.0)
        stops = range(1499, rounds, 1499)
        for block in environment.blocks(seed=0, replication=0, stops=stops):
            for name, policy in policies.items():
                policy.play(block, regret=np.empty(block.rounds))
                worst[name] = max(worst[name], _error(policy))
        rows += [
            single(
                NAME,
                f"{name}, d = {dim}",
                f"largest error of the factor in {rounds:,} rounds",
                error,
                aim=at_most(1e-8),
            )
            for name, error in worst.items()
        ]
    return rows


def _error(policy: WeightedPolicy) -> float:
    """Distance of the factor in use from a fresh one, relative to the largest entry."""
    fit = policy._fit()
    followed = np.triu(fit.factor)
    fresh = np.linalg.cholesky(policy.design * policy._state.counters[UNIT]).T
    return float(np.abs(followed - fresh).max() / np.abs(fresh).max())


def _memory(rounds: int) -> list[Row]:
    """Traced memory of a policy after more and more rounds."""
    rows = []
    for horizon in (rounds // 10, rounds, 10 * rounds):
        actions, rewards = problems.action_sets(100, 1, 10)
        tracemalloc.start()
        policy = DLinUCB(dim=10, gamma=GAMMA)
        for t in range(horizon):
            policy.update(actions[t % 100, 0], rewards[t % 100, 0])
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        subject = f"D-LinUCB, d = 10, after {horizon} rounds"
        rows.append(single(NAME, subject, "memory held", held / 1024, unit="KiB"))
    return rows
