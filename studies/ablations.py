"""The value of each part of `AdaptiveLinUCB`: its regret with one constant changed at a time.

Numbers are mean regrets divided by the mean regret with the defaults, in the same replications. A
part is worth keeping if, in some environment, its whole interval is above one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, Say

from driftbandits import AdaptiveLinUCB
from driftbandits.core.storage import atomic_write
from driftbandits.environments import Environment
from driftbandits.experiments import suite
from driftbandits.experiments.settings import prepare
from driftbandits.experiments.standings_text import table
from driftbandits.experiments.yardsticks import Relative, geometric_mean, relative
from driftbandits.simulation import Recording, simulate

from .elsewhere.drawn_levels import DRAWN_LEVELS
from .elsewhere.everyday import EVERYDAY
from .elsewhere.outlying import OUTLYING
from .front_page import replaced

NAME = "ablations"
RESULTS = Path(__file__).parents[1] / "results" / NAME
PAGE = Path("docs/results/adaptive.md")
MARKS = {
    "begin": "<!-- ablations: written by `python -m studies ablations` -->",
    "end": "<!-- /ablations -->",
}
SEED = 1
DEFAULTS = "defaults"

# Values that leave a part out, or double or halve it.
CHANGES: dict[str, dict[str, Any]] = {
    "no centred bank": {"conviction": 1e9},
    "centred bank at the first sign": {"conviction": 0.0},
    "centred bank at 2 nats": {"conviction": 2.0},
    "slow falls are taken for the level": {"doubt": 1e12},
    "no jumps": {"jump": 1e12},
    "jumps of half the variance": {"jump": 6.0},
    "no curiosity": {"curiosity": 0.0},
    "twice the curiosity": {"curiosity": 1.0},
    "no audits": {"audit_every": 1e9},
    "audits in one round of 25": {"audit_every": 25.0},
    "audits as wide as other rounds": {"audit_radius": 1.0},
    "half the exploration": {"exploration": 0.5},
    "the median expert": {"share": 0.5},
    "half the prior for no change": {"never": 0.3},
    "no refutation": {"false_alarms": 1e-12},
    "normal tails": {"tail_memory": 1e12},
    "half the noise memory": {"noise_memory": 100.0},
    "a tenth of the ridge": {"ridge": 0.01},
}
SUITE = (
    "stationary",
    "slow",
    "abrupt",
    "heavy-noise",
    "fixed-actions",
    "unseen-best",
    "switching-arms",
    "clicks",
    "sales",
)
OUTLIERS = "one reward in 20 far off"  # above or below
JUMPS = "jumps 9 times"


def environments() -> dict[str, Environment]:
    """Some environments of the leaderboard, everyday situations, outliers and jumping levels."""
    known = suite()
    chosen = {name: prepare({**known[name], "seed": SEED})[0] for name in SUITE}
    places = [
        *EVERYDAY,
        *(place for place in OUTLYING if OUTLIERS in place.title),
        *(place for place in DRAWN_LEVELS if JUMPS in place.title),
    ]
    return chosen | {place.title: place.environment for place in places}


def run(*, quick: bool, say: Say) -> list[Row]:
    """Play, print the table, and write it to a file; a full run also updates the page."""
    replications, found = (2 if quick else 100), dict[str, dict[str, Relative]]()
    for name, environment in list(environments().items())[: 2 if quick else None]:
        say(f"{NAME}, {name}")
        found[name] = play(environment, replications)
    text = summary(found)
    print(f"\n{text}\n", flush=True)
    folder = RESULTS / "quick" if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / f"{NAME}.md") as file:
        file.write(f"{text}\n\n{details(found)}\n".encode())
    if not quick:
        page = replaced(PAGE.read_text(encoding="utf-8"), text, **MARKS)
        with atomic_write(PAGE) as file:
            file.write(page.encode())
    return [
        Row(NAME, f"{name}, {label}", "ratio, 95% interval", "", *of[:3], note="")
        for name, ratios in found.items()
        for label, of in ratios.items()
    ]


def play(environment: Environment, replications: int) -> dict[str, Relative]:
    """Regret with each change, relative to the regret with the defaults."""
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
    base = result.final(DEFAULTS)
    return {label: relative(result.final(label), base) for label in CHANGES}


def summary(found: Mapping[str, Mapping[str, Relative]]) -> str:
    """One row per change: the geometric mean over environments, and the extreme environments."""
    lines = []
    for label in CHANGES:
        of = {name: ratios[label] for name, ratios in found.items()}
        middle, low, high = geometric_mean(
            [each.ratio for each in of.values()], [each.shares for each in of.values()]
        )
        ranked = sorted((each.ratio, name) for name, each in of.items())
        ends = [f"{_interval(of[name])}, {name}" for _, name in (ranked[-1], ranked[0])]
        lines.append([label, f"{middle:.2f} ({low:.2f} to {high:.2f})", *ends])
    return table(("Change", "All", "Where it costs most", "Where it saves most"), lines)


def details(found: Mapping[str, Mapping[str, Relative]]) -> str:
    """One row per environment, one column per change."""
    rows = (
        [name, *(_interval(ratios[label]) for label in CHANGES)] for name, ratios in found.items()
    )
    return table(("Environment", *CHANGES), rows)


def _interval(of: Relative) -> str:
    return f"{of.ratio:.2f} ({of.low:.2f} to {of.high:.2f})"
