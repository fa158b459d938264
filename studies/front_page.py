"""The tables of the reproduction, in README.md and the documentation, from ``make reproduce``.

``make front-page`` plays missing replications, and writes the tables between two marks per file.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from driftbandits.core.storage import atomic_write
from driftbandits.simulation import Result

ENVIRONMENTS = {"abrupt": "abrupt changes", "slow": "slow drift"}
NAMES = {
    "D-LinUCB": "D-LinUCB, as the paper writes it",
    "D-LinUCB (as published)": "D-LinUCB, as the published figures were made",
}
FILES = (Path("README.md"), Path("docs/results/reproduction.md"))
BEGIN, END = "<!-- reproduction: written by `make front-page` -->", "<!-- /reproduction -->"


def tables(results: dict[str, Result]) -> str:
    """The paper's policies with the published values, then policies that are not in the paper."""
    titles = [ENVIRONMENTS[name] for name in results]
    groups = {
        label: group
        for result in results.values()
        for label, group in result.config.get("groups", {}).items()
    }
    labels = list(dict.fromkeys(label for result in results.values() for label in result.policies))
    head = ["Policy", *(cell for title in titles for cell in (title, "published"))]
    papers = [
        [NAMES.get(label, label), *(cell for r in results.values() for cell in _beside(r, label))]
        for label in labels
        if label not in groups
    ]
    parts = [_table(head, papers)]
    for group in dict.fromkeys(groups.values()):
        rows = [
            [NAMES.get(label, label), *(_regret(result, label) for result in results.values())]
            for label in labels
            if groups.get(label) == group
        ]
        parts += [f"{group[:1].upper()}{group[1:]}:", _table(["Policy", *titles], rows)]
    return "\n\n".join(parts)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _beside(result: Result, label: str) -> tuple[str, str]:
    published = result.config.get("published", {}).get(label)
    return _regret(result, label), "" if published is None else f"{published:g}"


def _regret(result: Result, label: str) -> str:
    if label not in result.policies:
        return ""
    row = result.summary().set_index("policy").loc[label]
    return f"{row['mean']:.0f} ± {row['se']:.0f}"


def replaced(text: str, inner: str, *, begin: str = BEGIN, end: str = END) -> str:
    """``text`` with the part between the marks replaced."""
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.S)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"the file must have {begin} and {end} once")
    return pattern.sub(lambda _: f"{begin}\n\n{inner}\n\n{end}", text)


def main() -> None:
    """Write the tables of a folder of results into the files that show them."""
    parser = argparse.ArgumentParser(prog="python -m studies.front_page", description=__doc__)
    parser.add_argument("results", type=Path, help="where `driftbandits reproduce` wrote to")
    arguments = parser.parse_args()
    results = {name: Result.load(arguments.results / name) for name in ENVIRONMENTS}
    for path in FILES:
        text = replaced(path.read_text("utf-8"), tables(results))
        with atomic_write(path) as file:
            file.write(text.encode())
        print(f"written to {path}")


if __name__ == "__main__":
    main()
