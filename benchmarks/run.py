"""All sections in one run, and the files that it writes."""

from __future__ import annotations

import argparse
import time
import traceback
from pathlib import Path
from types import ModuleType

from . import catalogue, libraries, online, scaling, simulation, startup
from .measure import Row
from .report import write

SECTIONS: tuple[ModuleType, ...] = (simulation, online, catalogue, libraries, scaling, startup)


def main() -> None:
    """Measure what was asked for, and write the table, the picture and the numbers."""
    arguments = _arguments()
    start = time.perf_counter()

    def say(message: str) -> None:
        print(f"[{time.perf_counter() - start:6.0f} s] {message}", flush=True)

    rows: list[Row] = []
    for section in SECTIONS:
        if arguments.only in (None, section.NAME):
            rows += _section(section, arguments.quick, say)
    write(arguments.out, rows, quick=arguments.quick, elapsed=time.perf_counter() - start)
    say(f"written to {arguments.out}")


def _section(section: ModuleType, quick: bool, say: object) -> list[Row]:
    """The rows of a section; a failure is a row too."""
    try:
        rows: list[Row] = section.run(quick=quick, say=say)
    except Exception as error:
        traceback.print_exc()
        return [Row(section.NAME, "the whole section", "failed", note=f"{error!r}")]
    return rows


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--only", choices=[s.NAME for s in SECTIONS], help="one section")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent, help="folder to write to"
    )
    return parser.parse_args()
