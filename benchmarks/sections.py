"""Run sections of benchmarks or studies, one after the other."""

from __future__ import annotations

import sys
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from .measure import Row
from .report import Heading, write


def measure(
    sections: list[ModuleType], *, heading: Heading, quick: bool, out: Path, **options: Any
) -> None:
    """Run the sections one after the other, and write their rows to the folder ``out``."""
    start = time.perf_counter()

    def say(message: str) -> None:
        print(f"[{time.perf_counter() - start:6.0f} s] {message}", flush=True)

    rows, broken = list[Row](), list[str]()
    for section in sections:
        try:
            rows += section.run(quick=quick, say=say, **options)
        except Exception as error:
            traceback.print_exc()
            broken.append(section.NAME)
            rows.append(Row(section.NAME, "everything", "failed", note=repr(error), failed=True))
    write(out, rows, heading=heading, quick=quick, elapsed=time.perf_counter() - start)
    say(f"written to {out}")
    if broken:
        sys.exit(f"failed: {', '.join(broken)}")
