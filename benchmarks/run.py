"""Run all sections, and write the files of results."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import ModuleType

from . import (
    adaptive,
    catalogue,
    features,
    libraries,
    logs,
    online,
    replay,
    scaling,
    service,
    simulation,
    startup,
)
from .report import Heading
from .sections import measure

HEADING = Heading(
    "Results of the benchmarks",
    "Written by `make bench`; [what is measured and how](../docs/results/benchmarks.md). Medians, "
    "with quartiles over repetitions; regrets are means with standard errors.",
)

SECTIONS: tuple[ModuleType, ...] = (
    simulation,
    online,
    replay,
    features,
    adaptive,
    catalogue,
    libraries,
    scaling,
    startup,
    logs,
    service,
)


def main() -> None:
    """Run the chosen sections, and write the table, the picture and the numbers."""
    arguments = _arguments()
    sections = [s for s in SECTIONS if arguments.only in (None, s.NAME)]
    measure(sections, heading=HEADING, quick=arguments.quick, out=arguments.out)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, for a quick look")
    parser.add_argument("--only", choices=[s.NAME for s in SECTIONS], help="one section")
    parser.add_argument(
        "--out",
        type=Path,
        help="folder to write to; by default benchmarks/ for a full run of everything, which is "
        "kept with the code, and results/benchmarks/ otherwise",
    )
    arguments = parser.parse_args()
    arguments.out = arguments.out or _place(quick=arguments.quick, only=arguments.only)
    return arguments


def _place(*, quick: bool, only: str | None) -> Path:
    """The folder of results; only a full run replaces the results of the last full run."""
    here = Path(__file__).parent
    if only is None and not quick:
        return here
    return here.parent / "results" / "benchmarks" / "-".join(["quick"] * quick + [only or "all"])
