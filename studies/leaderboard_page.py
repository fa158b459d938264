"""The tables and pictures of docs/results/leaderboard.md, from ``driftbandits leaderboard``.

``python -m studies.leaderboard_page results/leaderboard`` writes what that command left there.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from driftbandits.core.storage import atomic_write
from driftbandits.experiments import suite
from driftbandits.experiments.standings_text import table
from driftbandits.experiments.suites import GROUPS

from .front_page import replaced

PAGE = Path("docs/results/leaderboard.md")
PICTURES = ("leaderboard.png", "leaderboard-twice.png")


def marks(name: str) -> dict[str, str]:
    """What stands before and after a part of the page that is written here."""
    begin = f"<!-- {name}: written by `python -m studies.leaderboard_page` -->"
    return {"begin": begin, "end": f"<!-- /{name} -->"}


def environments() -> str:
    """What each environment is for, in its own words."""
    known = suite()
    parts = []
    for group, names in GROUPS.items():
        rows = ((name, " ".join(known[name]["description"].split())) for name in names)
        parts += [f"**{group}**", table(("Environment", "What it is for"), rows)]
    return "\n\n".join(parts)


def written(page: str, tables: str) -> str:
    """The page with its environments, and the tables of a run."""
    described = replaced(page, environments(), **marks("environments"))
    return replaced(described, tables.strip(), **marks("standings"))


def main() -> None:
    """Write a run of the leaderboard into the page that shows it."""
    parser = argparse.ArgumentParser(prog="python -m studies.leaderboard_page", description=__doc__)
    parser.add_argument("results", type=Path, help="where `driftbandits leaderboard` wrote to")
    folder = parser.parse_args().results
    text = written(PAGE.read_text("utf-8"), (folder / "leaderboard.md").read_text("utf-8"))
    with atomic_write(PAGE) as file:
        file.write(text.encode())
    for name in PICTURES:
        shutil.copyfile(folder / name, PAGE.parent / name)
    print(f"written to {PAGE}")


if __name__ == "__main__":
    main()
