"""Sphinx extension: docstrings as the reference shows them.

Every option of a class is listed, with those that it inherits. A dataclass documents its own fields
under ``Attributes:``; its constructor also takes the fields of its bases, which a reader should not
have to look up one class at a time.

Equations stay as they are written: indented lines after a colon are a block of their own, and bars
are absolute values.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
SECTION = re.compile(r"^(\s*)Attributes:\s*$")


def section_bounds(lines: list[str]) -> tuple[int, int] | None:
    """First line of the section ``Attributes:`` and the line after its last, if there is one."""
    for start, line in enumerate(lines):
        if SECTION.match(line):
            end = start + 1
            while end < len(lines) and (not lines[end].strip() or lines[end][:1].isspace()):
                end += 1
            return start, end
    return None


def documented(kind: type[Any]) -> dict[str, list[str]]:
    """What the docstring of a class itself says of each of its attributes, as indented lines."""
    lines = inspect.cleandoc(kind.__dict__.get("__doc__") or "").splitlines()
    bounds = section_bounds(lines)
    entries: dict[str, list[str]] = {}
    name = ""
    for line in lines[bounds[0] + 1 : bounds[1]] if bounds else ():
        found = re.match(r"^    (\w+): (.*)", line)
        if found:
            name = found[1]
            entries[name] = [found[2]]
        elif name and line.strip():
            entries[name].append("    " + line.strip())
    return entries


def options_of(kind: type[Any]) -> list[str]:
    """Lines of a section ``Args:`` with every option of the constructor."""
    known: dict[str, list[str]] = {}
    for base in reversed(kind.__mro__):
        known |= documented(base)
    lines = ["Args:"]
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        if field.name not in known:
            LOGGER.warning("%s: the option %s has no description", kind.__qualname__, field.name)
            continue
        first, *rest = known[field.name]
        lines += [f"    {field.name}: {first}", *(f"    {line}" for line in rest)]
    return [*lines, ""]


def with_options(
    app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]
) -> None:
    """Put all options of a dataclass where its docstring lists its own."""
    if what != "class" or not dataclasses.is_dataclass(item):
        return
    bounds = section_bounds(lines) or (len(lines), len(lines))
    lines[slice(*bounds)] = ["", *options_of(item)]


def with_equations(
    app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]
) -> None:
    """Keep equations and tables from being read as markup."""
    for i, line in enumerate(lines):
        if line.startswith(("| ", "|-")):  # a row of a table
            lines[i] = "    " + line
            continue
        parts = line.split("``")  # every second one is code
        parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
        lines[i] = "``".join(parts)
    for i in reversed(range(1, len(lines) - 1)):
        after_text, gap = bool(lines[i - 1][:1].strip()), not lines[i]
        if after_text and gap and lines[i + 1].startswith("    "):
            lines[i : i + 1] = ["", "::", ""]
    if what in ("property", "attribute"):
        # An empty comment: napoleon takes what stands before a colon in the first line for a type.
        lines[:0] = ["..", ""]


def without_fields(
    app: Sphinx, what: str, name: str, item: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out the fields of named tuples, which have no text; the signature lists them."""
    return True if str(inspect.getdoc(item)).startswith("Alias for field number") else None


def with_aliases(
    app: Sphinx, what: str, name: str, item: Any, options: Any, signature: str, returned: str
) -> tuple[str, str]:
    """Show the aliases of types by their names, inside of unions too."""
    return _named(signature), _named(returned)


def _named(signature: str | None) -> Any:
    return signature and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", signature)


def setup(app: Sphinx) -> dict[str, bool]:
    """Change docstrings before napoleon reads their sections."""
    app.connect("autodoc-process-docstring", with_equations, priority=300)
    app.connect("autodoc-process-docstring", with_options, priority=400)
    app.connect("autodoc-process-signature", with_aliases)
    app.connect("autodoc-skip-member", without_fields)
    return {"parallel_read_safe": True}
