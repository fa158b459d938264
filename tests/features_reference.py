"""A slow and simple encoder: dictionaries from names to numbers, and nothing of the package.

It takes a declaration in its JSON form, flat dictionaries as input, and the slot of each action. A
coordinate is the product of the action's factors, times the scale, times the product of the
context's factors.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from itertools import product
from typing import Any

Values = dict[str, float]


def encode(
    declared: dict[str, Any], context: Any, actions: dict[str, Any], slots: dict[str, int]
) -> list[Values]:
    """The vector of each action, as a dictionary from names of coordinates to numbers."""
    return [
        _vector(
            declared,
            _side("context", declared, context),
            _side("action", declared, {**features, "id": id}),
            slots.get(id),
        )
        for id, features in actions.items()
    ]


def _vector(declared: dict[str, Any], left: Any, right: Any, own_slot: int | None) -> Values:
    terms: list[tuple[Any, Any, int | None]] = [
        (term.get("context"), term.get("action"), None) for term in declared["terms"]
    ]
    block = declared.get("per_action", {"slots": 0})
    for n in range(block["slots"]):
        terms += [([], [], n), *([(block["context"], [], n)] if block["context"] else [])]
    vector, count = {}, 0
    for us, vs, slot in terms:
        left_products, right_products = _products(us, left), _products(vs, right)
        count += len(left_products) * len(right_products) * (slot in (None, own_slot))
        for u, v in product(_cells(left_products, left), _cells(right_products, right)):
            names = [*([] if slot is None else [f"slot {slot}"]), *(k for k, _ in (*u, *v))]
            factors = math.prod(x for _, x in v), math.prod(x for _, x in u)
            vector[" × ".join(names) or "1"] = factors if slot in (None, own_slot) else (0, 0)
    scale = declared["bound"] * (1.0 - 2.0**-40) / math.sqrt(count)
    return {name: action * scale * context for name, (action, context) in vector.items()}


def _products(names: Any, side: dict[str, Values]) -> list[list[str]]:
    entries = [e for name in names or [[]] for e in (list(side) if name == "*" else [name])]
    return [[entry] if isinstance(entry, str) else sorted(entry) for entry in entries]


def _cells(products: list[list[str]], side: dict[str, Values]) -> list[Any]:
    return [cell for names in products for cell in product(*(side[n].items() for n in names))]


def _side(side: str, declared: dict[str, Any], values: dict[str, Any]) -> dict[str, Values]:
    """Coordinates of every feature of one side, by name of the feature."""
    kinds, others = declared[side], declared["action" if side == "context" else "context"]
    result = {}
    for name in sorted(n for n in kinds if kinds[n]["kind"] != "ignored"):
        kind, value = kinds[name], values.get(name)
        if kind["kind"] == "rest":
            left = {n for n in values if n not in kinds or n == name}
            value = [f"{n}={_binned(values[n])}" for n in left if values[n] is not None]
        missing = value is None or value != value or len(_tokens(kind, value)) == 0
        numbers = _coordinates(kind, value if not missing else None)
        if kind["optional"]:
            numbers["=(none)"] = float(missing)
        shown = f"{side}.{name}" if name in others else name
        result[name] = {shown + label: number for label, number in numbers.items()}
    return result


def _coordinates(kind: dict[str, Any], value: Any) -> Values:
    """Coordinates of a value, by label; all 0 for None."""
    if kind["kind"] == "number":
        return {"": 0.0 if value is None else min(1.0, max(-1.0, _standardised(kind, value)))}
    if kind["kind"] == "cyclic":
        phase = 2.0 * math.pi * (math.fmod(value or 0, kind["period"]) / kind["period"])
        waves = product(range(1, kind["harmonics"] + 1), (math.sin, math.cos))
        share = 0.0 if value is None else math.sqrt(kind["harmonics"])
        return {
            f":{wave.__name__}{n if n > 1 else ''}": wave(n * phase) / share if share else 0.0
            for n, wave in waves
        }
    if kind["kind"] in ("one_hot", "tags"):
        listed = [*kind["values"], *["(other)"] * kind["other"]]
        given = {t if t in kind["values"] else "(other)" for t in _tokens(kind, value)}
        return {f"={v}": 1.0 / math.sqrt(len(given)) if v in given else 0.0 for v in listed}
    total, unsigned = [0] * kind["size"], [0] * kind["size"]
    for token in _tokens(kind, value):
        number = int.from_bytes(blake2b(str(token).encode(), digest_size=8).digest(), "little")
        total[number % 2**63 % kind["size"]] += -1 if number >= 2**63 else 1
        unsigned[number % 2**63 % kind["size"]] += 1
    chosen = total if any(total) else unsigned
    norm = math.sqrt(sum(x * x for x in chosen)) or 1.0
    return {f"#{n}": x / norm for n, x in enumerate(chosen)}


def _tokens(kind: dict[str, Any], value: Any) -> list[Any]:
    if value is None:
        return []
    if kind.get("of") == "words":
        spaced = (c if c.isalnum() or ord(c) > 127 else " " for c in value.casefold())
        return "".join(spaced).split()
    if kind["kind"] == "tags" or kind.get("of") == "tags":
        return list(set(value))
    return value if kind["kind"] == "rest" else [value]


def _standardised(kind: dict[str, Any], value: float) -> Any:
    if kind["scale"] == "linear":
        return (value - kind["centre"]) / kind["spread"]
    ratio = math.log(value) - math.log(kind["centre"]) if value else -math.inf
    return ratio / math.log(kind["spread"])


def _binned(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{'-' * (value < 0)}2^{math.floor(math.log2(abs(value)))}" if value else "0"
