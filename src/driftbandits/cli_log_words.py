"""Answers of ``driftbandits log`` in words, and tables of quantities as text."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, Self

import click
import numpy as np
import pandas as pd

from .core.storage import atomic_write
from .logs import Value


class Words(NamedTuple):
    """Values in words, each line once: answers, warnings, and questions without an answer."""

    said: list[str]
    warnings: list[str]
    refused: list[str]

    @classmethod
    def of(cls, values: Iterable[Value]) -> Self:
        """The words of several values."""
        found = list(values)
        return cls(
            _once(line for value in found for line in value.sentences),
            _once(line for value in found for line in value.warnings),
            _once(f"cannot answer {line}" for value in found for line in value.refused),
        )

    def write(self, folder: Path | None, name: str) -> None:
        """Write the lines to a file, if there is a folder."""
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        lines = [line for part in self for line in part]
        with atomic_write(folder / name) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())


def _once(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(lines))


def show_quantities(frame: pd.DataFrame) -> None:
    """Print a table of quantity and value."""
    width = int(frame["quantity"].str.len().max())
    for quantity, value in zip(frame["quantity"], frame["value"], strict=True):
        click.echo(f"{quantity:<{width}}  {_quantity(value)}")


def _quantity(value: Any) -> str:
    if not isinstance(value, Real) or isinstance(value, bool):
        return str(value)
    number = float(value)
    if np.isnan(number):
        return "-"
    return f"{number:,.0f}" if number.is_integer() else f"{number:,.6g}"
