"""What each part of `AdaptiveLinUCB` is worth: its regret with one constant changed at a time.

Ratios of mean regrets to those at the defaults, in the same replications, with standard errors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.measure import Row, Say

from driftbandits import AdaptiveLinUCB
from driftbandits.core.storage import atomic_write
from driftbandits.environments import Environment
from driftbandits.experiments import suite
from driftbandits.experiments.settings import prepare
from driftbandits.experiments.standings_text import table
from driftbandits.experiments.yardsticks import ratio_of_means
from driftbandits.simulation import Recording, simulate

from .elsewhere.everyday import EVERYDAY

NAME = "ablations"
RESULTS = Path(__file__).parents[1] / "results" / NAME
SEED = 1
DEFAULTS = "defaults"

# A value that leaves the part out, or doubles or halves it.
CHANGES: dict[str, dict[str, Any]] = {
    "no centred bank": {"conviction": 1e9},
    "centred bank at the first sign": {"conviction": 0.0},
    "falls are taken for the level": {"doubt": 1e12},
    "no curiosity": {"curiosity": 0.0},
    "twice the curiosity": {"curiosity": 1.0},
    "no audits": {"audit_every": 1e9},
    "audits as wide as other rounds": {"audit_radius": 1.0},
    "half the exploration": {"exploration": 0.5},
    "the median expert": {"share": 0.5},
    "half the prior for no change": {"never": 0.3},
    "no refutation": {"false_alarms": 1e-12},
    "normal tails": {"tail_memory": 1e12},
    "half the noise memory": {"noise_memory": 50.0},
    "a tenth of the ridge": {"ridge": 0.01},
}
SUITE = ("stationary", "slow", "abrupt", "heavy-noise", "unseen-best", "switching-arms")


def environments() -> dict[str, Environment]:
    """Some of the leaderboard's, and those of every day."""
    known = suite()
    chosen = {name: prepare({**known[name], "seed": SEED})[0] for name in SUITE}
    return chosen | {place.title: place.environment for place in EVERYDAY}


def run(*, quick: bool, say: Say) -> list[Row]:
    """Play, print the table, and write it down."""
    replications, rows, lines = (2 if quick else 100), list[Row](), list[list[str]]()
    chosen = environments()
    for name, environment in list(chosen.items())[: 2 if quick else None]:
        say(f"{NAME}, {name}")
        policies = {
            label: AdaptiveLinUCB(dim=environment.dim, **change)
            for label, change in {DEFAULTS: {}, **CHANGES}.items()
        }
        result = simulate(
            environment,
            policies,
            replications=replications,
            seed=SEED,
            record=Recording(regret=(environment.horizon,)),
        )
        cells = [name, f"{result.final(DEFAULTS).mean():.1f}"]
        for label in CHANGES:
            ratio, error = ratio_of_means(result.final(label), result.final(DEFAULTS))
            cells.append(f"{ratio:.2f} ± {error:.2f}")
            ends = ratio - 2 * error, ratio + 2 * error
            rows.append(
                Row(NAME, f"{name}, {label}", "ratio ± 2 errors", "", ratio, *ends, note="")
            )
        lines.append(cells)
    text = table(("Environment", DEFAULTS, *CHANGES), lines) + "\n"
    print(f"\n{text}", flush=True)
    folder = RESULTS / "quick" if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / f"{NAME}.md") as file:
        file.write(text.encode())
    return rows
