"""Write the results of ``driftbandits leaderboard`` into the documentation.

``python -m studies.leaderboard_page results/leaderboard`` writes the results in that folder into
the pages, each part between two marks, and copies the pictures.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from driftbandits.core.storage import atomic_write
from driftbandits.experiments import standings, suite
from driftbandits.experiments.standings_text import table
from driftbandits.experiments.suites import GROUPS
from driftbandits.policies import registered

from .front_page import replaced

PAGE = Path("docs/results/leaderboard.md")
CHOOSING = Path("docs/how-to/choosing-a-policy.md")
ADAPTIVE = Path("docs/results/adaptive.md")
PICTURES = ("leaderboard.png", "leaderboard-twice.png")
OURS = "AdaptiveLinUCB"


def marks(name: str) -> dict[str, str]:
    """The marks before and after a generated part of a page."""
    begin = f"<!-- {name}: written by `python -m studies.leaderboard_page` -->"
    return {"begin": begin, "end": f"<!-- /{name} -->"}


def environments() -> str:
    """A table of the environments and their descriptions."""
    known = suite()
    parts = []
    for group, names in GROUPS.items():
        rows = ((name, " ".join(known[name]["description"].split())) for name in names)
        parts += [f"**{group}**", table(("Environment", "What it is for"), rows)]
    return "\n\n".join(parts)


def policies(scores: pd.DataFrame) -> str:
    """What each policy is told, and its relative regret, ordered by the mean in the first group."""
    of = {str(group): standings(part) for group, part in scores.groupby("group", sort=False)}
    first, *others = (found.set_index("policy") for found in of.values())
    header = ["Policy", "Class", "Told"]
    for group in of:
        header += [f"{group}: best fixed", "worst", "tuned twice", "worst"]
    rows = []
    classes = registered()
    for label, row in first.sort_values("ratio").iterrows():
        if label in classes:
            cells = [str(label), classes[str(label)].__name__, row["told"] or "nothing"]
            for found in (first, *others):
                cells += _standing(found.loc[label])
            rows.append([*cells, f"{row['time']:.1f}"])
    return table([*header, "Time"], rows)


def _standing(row: Any) -> list[str]:
    return [
        f"{row['ratio']:.2f}",
        f"{row['worst']:.2f} ({row['worst_in']})",
        f"{row['twice']:.2f}",
        f"{row['twice_worst']:.2f} ({row['twice_worst_in']})",
    ]


def ours(scores: pd.DataFrame) -> str:
    """AdaptiveLinUCB in every environment, compared with both yardsticks."""
    header = [
        *("Environment", OURS, "Best fixed", "its memory", "Ratio (95% interval)"),
        *("Tuned twice", "its memory and radius", "Ratio (95% interval)"),
    ]
    mine = scores[scores["policy"] == OURS].set_index("environment")
    best: Any = scores[scores["yardstick"].astype(bool)].set_index("environment")
    rows = []
    for name, row in mine.iterrows():
        fixed = best.loc[name]
        rows.append(
            [
                str(name),
                f"{row['regret']:.1f} ± {row['se']:.1f}",
                f"{fixed['regret']:.1f}",
                _tuning(fixed["policy"]),
                f"{row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})",
                f"{row['tuned_twice_regret']:.1f}",
                _tuning(row["tuned_twice"]),
                f"{row['twice']:.2f} ({row['twice_low']:.2f} to {row['twice_high']:.2f})",
            ]
        )
    return table(header, rows)


def _tuning(label: str) -> str:
    """The memory, in rounds, and the radius in a label."""
    short = label.removeprefix("D-LinUCB, ").removeprefix("memory ").removesuffix(" of the radius")
    return short.replace("no forgetting", "∞")


def written(page: str, parts: Mapping[str, str]) -> str:
    """The page with its marked parts replaced."""
    for name, text in parts.items():
        page = replaced(page, text.strip(), **marks(name))
    return page


def main() -> None:
    """Write a run of the leaderboard into the pages that show it."""
    parser = argparse.ArgumentParser(prog="python -m studies.leaderboard_page", description=__doc__)
    parser.add_argument("results", type=Path, help="where `driftbandits leaderboard` wrote to")
    folder = parser.parse_args().results
    scores = pd.read_csv(folder / "leaderboard.csv", keep_default_na=False, na_values=[""])
    scores["told"] = scores["told"].fillna("")
    tables = (folder / "leaderboard.md").read_text("utf-8")
    pages = {
        PAGE: {"environments": environments(), "standings": tables},
        CHOOSING: {"policies": policies(scores)},
        ADAPTIVE: {"suite": ours(scores)},
    }
    for path, parts in pages.items():
        text = written(path.read_text("utf-8"), parts)
        with atomic_write(path) as file:
            file.write(text.encode())
        print(f"written to {path}")
    for name in PICTURES:
        shutil.copyfile(folder / name, PAGE.parent / name)


if __name__ == "__main__":
    main()
