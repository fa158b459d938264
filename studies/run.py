"""Run one study, and write its files."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.report import Heading
from benchmarks.sections import measure

from driftbandits.experiments.suites import GROUPS

from . import (
    ablations,
    click_models,
    clicks,
    delays,
    log_level,
    log_memory,
    log_replay,
    log_truth,
    news,
    real_logs,
    rivals,
)
from .elsewhere import real
from .elsewhere import section as elsewhere

_REGRET = (rivals, elsewhere, real, delays, clicks, click_models, news, ablations)
_LOGS = (log_truth, log_level, log_memory, log_replay, real_logs)
STUDIES: dict[str, ModuleType] = {study.NAME: study for study in (*_REGRET, *_LOGS)}


def main() -> None:
    """Play the named study, and write its table and its numbers."""
    arguments = _arguments()
    name = arguments.name
    heading = Heading(
        f"Results of the study: {name}",
        f"Written by `python -m studies {name}`; [what is played](../../../docs/results/studies.md)"
        ". Means, one standard error either way.",
    )
    options: dict[str, Any] = {
        rivals.NAME: {"environments": arguments.environment},
        real_logs.NAME: {"data": arguments.data},
    }.get(name, {})
    measure([STUDIES[name]], heading=heading, quick=arguments.quick, out=arguments.out, **options)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    parser.add_argument("name", choices=list(STUDIES), help="the study; most take many minutes")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a quick look")
    parser.add_argument(
        "--environment",
        action="append",
        choices=GROUPS[
            "Drift"
        ],  # other libraries can play these: the noise is the same for all actions
        help=f"for rivals, one or more times; by default {', '.join(rivals.ENVIRONMENTS)}",
    )
    parser.add_argument("--data", type=Path, help="for real-logs: the folder of the logs")
    parser.add_argument(
        "--out", type=Path, help="folder to write to; by default results/studies/NAME"
    )
    arguments = parser.parse_args()
    if arguments.name == real_logs.NAME and arguments.data is None:
        parser.error("real-logs needs --data FOLDER")
    arguments.environment = arguments.environment or rivals.ENVIRONMENTS
    folder = "-".join(["quick"] * arguments.quick + [arguments.name])
    here = Path(__file__).parents[1]
    arguments.out = arguments.out or here / "results" / "studies" / folder
    return arguments
