"""Regret when rewards come late, by a fixed or a random number of rounds, or never."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.measure import Row, Say, mean_and_error

from driftbandits import registered
from driftbandits.environments import Delays, FixedDelay, GeometricDelay, Missing
from driftbandits.experiments import suite
from driftbandits.experiments.settings import prepare
from driftbandits.simulation import simulate

NAME = "delays"
ENVIRONMENTS = ("fixed-actions", "abrupt", "moving-level")
POLICIES = ("AdaptiveLinUCB", "D-LinUCB")
SEED = 0
DELAYS: dict[str, Delays] = {
    **{f"{rounds} rounds late": FixedDelay(rounds) for rounds in (0, 10, 50)},
    "20 rounds late on average": GeometricDelay(20.0),
    "100 rounds late on average": GeometricDelay(100.0),
    "30% of the rewards missing": Missing(share=0.3),
}


def run(*, quick: bool, say: Say) -> list[Row]:
    """Final regrets for each delay: fixed actions, fresh actions, and a level that moves."""
    replications = 2 if quick else 100
    rows = []
    for name in ENVIRONMENTS:
        environment, problem, _ = prepare({**suite()[name], "seed": SEED})
        policies = {label: registered()[label].tuned(problem) for label in POLICIES}
        for title, delays in DELAYS.items():
            say(f"delays: {name}, {title}, {replications} replications")
            late = replace(environment, delays=delays)
            result = simulate(late, policies, replications=replications, seed=SEED)
            for label in POLICIES:
                mean, error = mean_and_error(result.final(label))
                ends = mean - error, mean + error
                subject = f"{label}, {name}, {title}"
                rows.append(Row(NAME, subject, "final regret", "", mean, *ends))
    return rows
