"""A result's settings, versions and command in readable form. All text is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from ..simulation.results import Result
from .report_tables import swatch, table

# Shown elsewhere on the page, or of no use to a reader.
_ELSEWHERE = frozenset(
    {
        "title",
        "name",
        "description",
        "standin",
        "published",
        "command",
        "versions",
        "policies",
        "groups",
    }
    | {"regret_rounds", "estimate_rounds", "coverage", "final_states"}
)
_LONG = 8


def readable(value: Any) -> str:
    """A setting in one line of plain text; long lists are cut in the middle."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}".replace("-", "−")
    if isinstance(value, Mapping):
        rest = {key: item for key, item in value.items() if key not in ("kind", "policy")}
        kind = str(value.get("kind") or value.get("policy") or "")
        inside = "; ".join(f"{words(key)} {readable(item)}" for key, item in rest.items())
        return f"{kind} ({inside})" if kind and inside else kind or inside
    if isinstance(value, list):
        items = [f"({readable(x)})" if isinstance(x, list) else readable(x) for x in value]
        cut = items if len(items) <= _LONG else [*items[:3], "…", items[-1]]
        return ", ".join(cut) or "none"
    return (
        "none" if value is None else str(value).replace("-", "−") if _is_int(value) else str(value)
    )


def words(key: str) -> str:
    """A key as words."""
    return key.replace("_", " ")


def settings(result: Result) -> str:
    """All settings of a run, with a separate table of the policies."""
    shown: dict[str, Any] = {}
    for key, value in result.config.items():
        if key == "environment" and isinstance(value, Mapping):
            shown |= {k: v for k, v in value.items() if k not in ("kind", "horizon")}
        elif key not in _ELSEWHERE:
            shown[key] = value
    return _list(shown) + _policies(result)


def versions(result: Result) -> str:
    """The versions that computed the result."""
    return _list(result.config.get("versions", {}))


def command(result: Result) -> str:
    """The command that repeats the run, if the result has it."""
    line = result.config.get("command")
    return f"<pre><code>{escape(str(line))}</code></pre>" if line else ""


def _policies(result: Result) -> str:
    described = {
        policy: value if isinstance(value, Mapping) else {}
        for policy, value in result.config.get("policies", {}).items()
        if policy in result.policies
    }
    if not described:
        return ""
    first, *others = described.values()
    common = {k: v for k, v in first.items() if all(k in o and o[k] == v for o in others)}
    common.pop("policy", None)
    rows = [
        [
            swatch(result, policy),
            escape(str(value.get("policy", "own object"))),
            escape(readable({k: v for k, v in value.items() if k not in {*common, "policy"}})),
        ]
        for policy, value in described.items()
    ]
    caption = f"Policies; common to all: {escape(readable(common))}." if common else "Policies."
    return table(caption, ["Policy", "Class", "Own settings"], rows, numeric=False)


def _list(values: Mapping[str, Any]) -> str:
    pairs = "".join(
        f"<div><dt>{escape(words(str(key)))}</dt><dd>{escape(readable(value))}</dd></div>"
        for key, value in values.items()
    )
    return f"<dl>{pairs}</dl>"


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
