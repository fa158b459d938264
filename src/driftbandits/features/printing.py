"""Declarations as text for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .layout import Coordinate


def described(content: Mapping[str, Any], coordinates: Sequence[Coordinate], digest: str) -> str:
    """A declaration in a few lines: every feature, every term, and how many coordinates."""
    lines = [f"Features with {len(coordinates)} coordinates, bound {content['bound']:g} ({digest})"]
    for side in ("context", "action"):
        lines += [f"{side}:"] if content[side] else []
        lines += _aligned([(name, *_kind(kind)) for name, kind in content[side].items()])
    lines += ["terms:", *_aligned([_term(term) for term in content["terms"]])]
    if "per_action" in content:
        block = content["per_action"]
        per_slot = sum(coordinate.slot == 0 for coordinate in coordinates)
        lines += ["per action:"]
        size = f"{block['slots']} slots of {per_slot}"
        lines += _aligned([(size, _side(["1", *block["context"]]), _remark(block))])
    return "\n".join(lines)


def table(coordinates: Sequence[Coordinate]) -> str:
    """One line per coordinate: its number and its name."""
    width = len(str(len(coordinates) - 1))
    return "\n".join(f"{n:>{width}}  {c.name}" for n, c in enumerate(coordinates))


def _kind(kind: Mapping[str, Any]) -> tuple[str, str, str]:
    hidden = ("kind", "note")
    options = [f"{k} {_option(v)}" for k, v in kind.items() if k not in hidden and v is not False]
    return kind["kind"], ", ".join(options), _remark(kind)


def _option(value: Any) -> str:
    if isinstance(value, list):
        shown = [str(entry) for entry in value[:8]] + ["…"] * (len(value) > 8)
        return " ".join(shown)
    return "yes" if value is True else f"{value:g}" if isinstance(value, float) else str(value)


def _term(term: Mapping[str, Any]) -> tuple[str, str]:
    sides = [_side(term[key]) for key in ("context", "action") if key in term]
    named = [key for key in ("context", "action") if key in term]
    parts = [key if side == "*" else side for key, side in zip(named, sides, strict=True)]
    return " × ".join(parts) or "1", _remark(term)


def _side(names: Sequence[Any]) -> str:
    shown = [name if isinstance(name, str) else " × ".join(name) for name in names]
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"


def _remark(content: Mapping[str, Any]) -> str:
    return f"# {content['note']}" if "note" in content else ""


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        ("  " + "  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]
