"""All sections in one run, and the files that it writes."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType

from driftbandits.experiments.leaderboard import SUITE

from . import (
    ablations,
    adaptive,
    catalogue,
    click_models,
    clicks,
    delays,
    features,
    libraries,
    logs,
    news,
    online,
    rivals,
    scaling,
    simulation,
    startup,
)
from .elsewhere import real
from .elsewhere import section as elsewhere
from .measure import Row
from .report import write

SECTIONS: tuple[ModuleType, ...] = (
    simulation,
    online,
    features,
    adaptive,
    catalogue,
    libraries,
    scaling,
    startup,
    logs,
)
ON_REQUEST: tuple[ModuleType, ...] = (
    rivals,
    elsewhere,
    real,
    delays,
    clicks,
    click_models,
    news,
    ablations,
)


def main() -> None:
    """Measure what was asked for, and write the table, the picture and the numbers."""
    arguments = _arguments()
    start = time.perf_counter()

    def say(message: str) -> None:
        print(f"[{time.perf_counter() - start:6.0f} s] {message}", flush=True)

    rows, broken = list[Row](), list[str]()
    for section in _asked_for(arguments.only):
        options = {"environments": arguments.environment} if section is rivals else {}
        try:
            rows += section.run(quick=arguments.quick, say=say, **options)
        except Exception as error:
            traceback.print_exc()
            broken.append(section.NAME)
            rows.append(Row(section.NAME, "everything", "failed", note=repr(error), failed=True))
    write(arguments.out, rows, quick=arguments.quick, elapsed=time.perf_counter() - start)
    say(f"written to {arguments.out}")
    if broken:
        sys.exit(f"failed: {', '.join(broken)}")


def _asked_for(name: str | None) -> tuple[ModuleType, ...]:
    """All sections but those on request, or the one of that name."""
    if name is None:
        return SECTIONS
    return tuple(section for section in SECTIONS + ON_REQUEST if name == section.NAME)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument(
        "--only",
        choices=[s.NAME for s in SECTIONS + ON_REQUEST],
        help="one section; rivals (some 20 minutes per environment), elsewhere, real, delays and "
        "clicks are only played if named",
    )
    parser.add_argument(
        "--environment",
        action="append",
        choices=SUITE,
        help=f"for rivals, one or more times; {', '.join(rivals.ENVIRONMENTS)} unless given",
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="folder to write to; unless given, benchmarks/ for a full run of everything, which is "
        "kept with the code, and results/benchmarks/ otherwise",
    )
    arguments = parser.parse_args()
    arguments.environment = arguments.environment or rivals.ENVIRONMENTS
    arguments.out = arguments.out or _place(quick=arguments.quick, only=arguments.only)
    return arguments


def _place(*, quick: bool, only: str | None) -> Path:
    """Where results go: what is not a full run leaves those of the last one alone."""
    here = Path(__file__).parent
    if only is None and not quick:
        return here
    return here.parent / "results" / "benchmarks" / "-".join(["quick"] * quick + [only or "all"])
