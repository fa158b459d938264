"""Where each coordinate of a vector comes from.

The context and each action have a *base*: a list of numbers that starts with a 1, followed by the
coordinates of every feature in the order of their names. The action's base ends with one indicator
per slot. Coordinate c of a vector is then

    scale · Π_k context[context_index[k, c]] · Π_k action[action_index[k, c]].

A product of features has norm at most 1, because each of its factors has. In a vector, n such
products can be nonzero at once, so scale = bound·(1 - 2⁻⁴⁰)/√n keeps its norm within the bound,
even with rounding errors. All slots together count as one, because an action has one slot. More
slots therefore change no number.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product as cartesian
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from .kinds import Kind
from .limits import LARGEST_SIZE, MARGIN
from .terms import PerAction, Product, Term, products

Index = npt.NDArray[np.intp]
Item = TypeVar("Item", bound=Hashable)


class Coordinate(NamedTuple):
    """One coordinate of a vector.

    Attributes:
        name: What it stands for, such as ``country=FR × category=sport``; ``1`` is the intercept.
        context: The factors from the context, by name.
        action: The factors from the action, by name.
        slot: The slot that it belongs to, or None.
    """

    name: str
    context: tuple[str, ...]
    action: tuple[str, ...]
    slot: int | None


@dataclass(frozen=True)
class Base:
    """Names of the base coordinates of one side, and where each feature starts. The 1 is at 0."""

    names: tuple[str, ...]
    ranges: Mapping[str, range]

    def width(self, products: Sequence[Product]) -> int:
        """Number of coordinates that these products have together."""
        return sum(math.prod(len(self.ranges[name]) for name in product) for product in products)

    def cells(self, products: Sequence[Product]) -> list[tuple[int, ...]]:
        """For each coordinate of these products, the positions of its factors."""
        return [
            cell
            for product in products
            for cell in cartesian(*(self.ranges[name] for name in product))
        ]


class _Cell(NamedTuple):
    """Positions of the factors of one coordinate in both bases, and its slot."""

    context: tuple[int, ...]
    action: tuple[int, ...]
    slot: int | None


@dataclass(frozen=True)
class Layout:
    """Positions, names and scale of all coordinates of a declaration.

    Attributes:
        coordinates: One per coordinate, d of them.
        context_index: Positions in the context's base, (factors, d).
        action_index: Positions in the action's base, (factors, d).
        slot_base: Position of the first slot's indicator in the action's base.
        shared: Number of coordinates that belong to no slot; they come first.
        block: Number of coordinates of each slot.
        scale: The factor of every product.
    """

    coordinates: tuple[Coordinate, ...]
    context_index: Index
    action_index: Index
    slot_base: int
    shared: int
    block: int
    scale: float


def layout(
    context: Mapping[str, Kind],
    action: Mapping[str, Kind],
    terms: Sequence[Term],
    per_action: PerAction | None,
    bound: float,
) -> Layout:
    """The layout of a declaration; an error if terms and features do not fit each other."""
    left, right = _base("context", context, action), _base("action", action, context)
    sides = [
        (products("context", t.context, left.ranges), products("action", t.action, right.ranges))
        for t in terms
    ]
    pairs = [pair for us, vs in sides for pair in cartesian(us, vs)]
    blocks = [] if per_action is None else _blocks(per_action, left)
    slots = 0 if per_action is None else per_action.slots
    _check(context, action, pairs, blocks)
    _check_size(
        sum(left.width(us) * right.width(vs) for us, vs in sides) + slots * left.width(blocks)
    )
    first = len(right.names)
    cells = [
        _Cell(*cell, None)
        for us, vs in sides
        for cell in cartesian(left.cells(us), right.cells(vs))
    ]
    block = left.cells(blocks)
    shared = len(cells)
    cells += [_Cell(u, (first + slot,), slot) for slot in range(slots) for u in block]
    return Layout(
        coordinates=_named(cells, left, right),
        context_index=_index([cell.context for cell in cells]),
        action_index=_index([cell.action for cell in cells]),
        slot_base=first,
        shared=shared,
        block=len(block),
        scale=bound * MARGIN / math.sqrt(len(pairs) + len(blocks)),
    )


def _base(side: str, kinds: Mapping[str, Kind], others: Mapping[str, Kind]) -> Base:
    """The base of one side. A name that both sides have gets the name of its side."""
    names, ranges = ["1"], {}
    for name, kind in kinds.items():
        if kind.labels:
            ranges[name] = range(len(names), len(names) + len(kind.labels))
            shown = f"{side}.{name}" if name in others else name
            names += [shown + label for label in kind.labels]
    return Base(tuple(names), ranges)


def _blocks(per_action: PerAction, left: Base) -> list[Product]:
    """The products of each slot: 1, and products of features of the context."""
    chosen = products("context", per_action.context, left.ranges) if per_action.context else []
    for product in _repeated(chosen):
        raise ValueError(f"per_action must have distinct products, got {_shown(product)} twice")
    return [(), *chosen]


def _check(
    context: Mapping[str, Kind],
    action: Mapping[str, Kind],
    pairs: Sequence[tuple[Product, Product]],
    blocks: Sequence[Product],
) -> None:
    """Refuse terms that repeat each other, leave a feature out, or do not depend on the action."""
    for pair in _repeated(pairs):
        raise ValueError(f"terms must differ, got {_shown(*pair)} twice")
    _check_use("context", context, [*(u for u, _ in pairs), *blocks])
    _check_use("action", action, [v for _, v in pairs])
    if not blocks and not any(v for _, v in pairs):
        raise ValueError(
            "terms must depend on the action, otherwise all actions have the same vector: add a "
            "term with action features, or per_action"
        )


def _check_use(side: str, kinds: Mapping[str, Kind], used: Sequence[Product]) -> None:
    """Refuse a declared feature that no vector would depend on."""
    names = {name for product in used for name in product}
    for name, kind in kinds.items():
        if kind.labels and name not in names:
            raise ValueError(
                f"{side} feature {name!r} must be in a term; declare it Ignored() to leave it out"
            )


def _check_size(dim: int) -> None:
    if dim > LARGEST_SIZE:
        raise ValueError(f"a vector must have at most {LARGEST_SIZE} coordinates, got {dim}")


def _named(cells: Sequence[_Cell], left: Base, right: Base) -> tuple[Coordinate, ...]:
    coordinates = list[Coordinate]()
    for u, v, slot in cells:
        context = tuple(left.names[position] for position in u)
        action = () if slot is not None else tuple(right.names[position] for position in v)
        name = _shown(([] if slot is None else [f"slot {slot}"]), context, action)
        coordinates.append(Coordinate(name, context, action, slot))
    for name in _repeated([coordinate.name for coordinate in coordinates]):
        raise ValueError(f"names of coordinates must differ, got {name!r} twice; rename a feature")
    return tuple(coordinates)


def _repeated(items: Iterable[Item]) -> Iterator[Item]:
    """The items that have come before."""
    seen = set[Item]()
    for item in items:
        if item in seen:
            yield item
        seen.add(item)


def _shown(*factors: Sequence[str]) -> str:
    """A product by the names of its factors."""
    return " × ".join(name for group in factors for name in group) or "1"


def _index(cells: Sequence[tuple[int, ...]]) -> Index:
    """Positions of factors, (factors, d). A missing factor is the 1 at position 0."""
    most = max((len(cell) for cell in cells), default=1)
    index = np.zeros((max(most, 1), len(cells)), dtype=np.intp)
    for column, cell in enumerate(cells):
        index[: len(cell), column] = cell
    return index
