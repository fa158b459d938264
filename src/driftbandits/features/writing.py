"""Write declarations as JSON and TOML, and read them."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from .errors import short
from .kinds import KINDS, Kind
from .terms import PerAction, Term

FORMAT = "driftbandits-features"
VERSION = 1

Made = TypeVar("Made", Kind, Term, PerAction)

_SIDES = ("context", "action")
_KEYS = ("format", "version", "bound", *_SIDES, "terms", "per_action")


def written(
    *,
    context: Mapping[str, Kind],
    action: Mapping[str, Kind],
    terms: Sequence[Term],
    per_action: PerAction | None,
    bound: float,
) -> dict[str, Any]:
    """A declaration as JSON has it, with every default spelled out."""
    blocks = {} if per_action is None else {"per_action": per_action.to_dict()}
    return {
        "format": FORMAT,
        "version": VERSION,
        "bound": bound,
        "context": {name: kind.to_dict() for name, kind in context.items()},
        "action": {name: kind.to_dict() for name, kind in action.items()},
        "terms": [term.to_dict() for term in terms],
        **blocks,
    }


def without_notes(content: Any) -> Any:
    """JSON without its remarks, which change nothing."""
    if isinstance(content, dict):
        # A feature may be called "note"; a remark is a text.
        kept = {k: v for k, v in content.items() if not (k == "note" and isinstance(v, str))}
        return {key: without_notes(value) for key, value in kept.items()}
    return [without_notes(entry) for entry in content] if isinstance(content, list) else content


def read(content: Any) -> dict[str, Any]:
    """The arguments of a declaration from the content of JSON or TOML. Errors name the place."""
    table = _table("features", content)
    for key in table:
        if key not in _KEYS:
            raise ValueError(f"features: unknown key {key!r}; it takes {', '.join(_KEYS)}")
    if table.pop("format", FORMAT) != FORMAT:
        raise ValueError(f"features: format must be {FORMAT!r}, got {content['format']!r}")
    version = table.pop("version", VERSION)
    if version != VERSION or isinstance(version, bool):
        raise ValueError(f"features: version must be {VERSION} in this release, got {version!r}")
    for side in _SIDES:
        if side in table:
            kinds = _table(side, table[side])
            table[side] = {name: _kind(f"{side}.{name}", kind) for name, kind in kinds.items()}
    if "terms" in table:
        if not isinstance(table["terms"], list):
            raise ValueError(f"terms must be a list of tables, got {short(table['terms'])}")
        table["terms"] = [_made(f"terms[{n}]", Term, term) for n, term in enumerate(table["terms"])]
    if "per_action" in table:
        table["per_action"] = _made("per_action", PerAction, table["per_action"])
    return table


def toml(content: Mapping[str, Any], table: str) -> str:
    """A declaration as a table of a TOML file, with remarks as comments."""
    lines = [f"[{table}]", f"version = {VERSION}", f"bound = {_value(content['bound'])}"]
    for side in _SIDES:
        lines += ["", f"[{table}.{side}]"]
        for name, kind in content[side].items():
            lines += [*_comment(kind), f"{_key(name)} = {_value(kind)}"]
    for term in content["terms"]:
        shown = term or {"note": "the intercept"}
        lines += ["", *_comment(shown), f"[[{table}.terms]]", *_pairs(term)]
    if "per_action" in content:
        block = content["per_action"]
        lines += ["", *_comment(block), f"[{table}.per_action]", *_pairs(block)]
    return "\n".join(lines) + "\n"


def _kind(place: str, content: Any) -> Kind:
    table = _table(place, content)
    kind = table.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"{place}: kind must be one of {', '.join(KINDS)}, got {kind!r}")
    return _made(place, KINDS[kind], table)


def _made(place: str, maker: type[Made], content: Any) -> Made:
    """The object that ``maker`` makes from a table. Errors name the place."""
    table, parameters = _table(place, content), inspect.signature(maker).parameters
    for key in table:
        if key not in parameters:
            raise ValueError(f"{place}: unknown key {key!r}; it takes {', '.join(parameters)}")
    for key, parameter in parameters.items():
        if key not in table and parameter.default is inspect.Parameter.empty:
            raise ValueError(f"{place}: the key {key} is missing")
    try:
        return maker(**table)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def _table(place: str, content: Any) -> dict[str, Any]:
    if not isinstance(content, Mapping) or not all(isinstance(key, str) for key in content):
        raise ValueError(f"{place} must be a table, got {short(content)}")
    return dict(content)


def _comment(content: Mapping[str, Any]) -> list[str]:
    # A TOML comment cannot have control characters.
    lines = content.get("note", "").splitlines()
    return ["# " + "".join(c if c.isprintable() else " " for c in line) for line in lines]


def _pairs(content: Mapping[str, Any]) -> list[str]:
    # Every kind has "optional". It only interests the reader if it is true.
    hidden = {"note"} | ({"optional"} if content.get("optional") is False else set())
    return [f"{_key(key)} = {_value(v)}" for key, v in content.items() if key not in hidden]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_pairs(value)) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    # JSON and TOML write texts, numbers and booleans alike, except for one control character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
