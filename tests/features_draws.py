"""Random declarations, and input that fits them."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from driftbandits.features import (
    Cyclic,
    Features,
    Hashed,
    Ignored,
    Kind,
    Number,
    OneHot,
    PerAction,
    Rest,
    SlotTable,
    Tags,
    Term,
)

TEXTS = ["FR", "DE", "été", "a b, c!", "A B", "x" * 40, "17", "日本"]
NUMBERS = [0, 1, -3, 17, 0.25, 1e6, -2.5, True]
IDS = ["a", "b", "c", "d", "e"]

Row = dict[str, Any]


class Case(NamedTuple):
    """A declaration, contexts, sets of actions, and the slots of all actions."""

    features: Features
    contexts: list[Row]
    actions: list[dict[str, Row]]
    slots: SlotTable | None


texts = st.sampled_from(TEXTS)
numbers = st.sampled_from(NUMBERS) | st.integers(-1000, 1000).map(lambda n: n / 8)
sizes = st.integers(1, 5)
truths = st.booleans()


def _listed(cls: Any) -> st.SearchStrategy[Kind]:
    values = st.lists(texts, min_size=1, max_size=3, unique=True)
    return st.builds(cls, values, other=st.just(True), optional=truths)


KINDS: list[tuple[st.SearchStrategy[Kind], st.SearchStrategy[Any]]] = [
    (_listed(OneHot), texts),
    (st.builds(OneHot, st.just([0, 1, 17]), optional=truths), numbers),
    (_listed(Tags), st.lists(texts, min_size=1, max_size=4)),
    (
        st.builds(Number, numbers.map(float), st.floats(0.1, 100), optional=truths),
        numbers,
    ),
    (
        st.builds(
            Number, st.floats(0.1, 100), st.floats(1.1, 100), st.just("log"), optional=truths
        ),
        numbers.map(abs),
    ),
    (st.builds(Cyclic, st.floats(0.5, 400), st.integers(1, 3), optional=truths), numbers),
    (st.builds(Hashed, sizes, optional=truths), texts),
    (st.builds(Hashed, sizes, st.just("words"), optional=truths), texts),
    (
        st.builds(Hashed, sizes, st.just("tags"), optional=truths),
        st.lists(texts, min_size=1, max_size=4),
    ),
    (st.just(Ignored()), texts | numbers),
]


@st.composite
def cases(draw: st.DrawFn, *, contexts: int = 2, sets: int = 2) -> Case:
    """A declaration with input for several calls."""
    left, left_values = _side(draw, ["hour", "age", "language"])
    right, right_values = _side(draw, ["language", "length"])
    used = [name for name, kind in right.items() if kind.labels]
    per_action = None
    if not used or draw(truths):
        context = draw(st.sampled_from(["*", ()])) if any(k.labels for k in left.values()) else ()
        per_action = PerAction(slots=draw(st.integers(5, 7)), context=context)
    features = Features(
        context=left,
        action=right,
        terms=_terms(draw, left, right),
        per_action=per_action,
        bound=draw(st.sampled_from([1.0, 0.5, 30.0])),
    )
    order = draw(st.permutations(IDS))
    return Case(
        features,
        [_row(draw, left, left_values) for _ in range(contexts)],
        [
            {id: _row(draw, right, right_values) for id in draw(st.permutations(IDS))[: n + 1]}
            for n in draw(st.lists(st.integers(0, 4), min_size=sets, max_size=sets))
        ],
        SlotTable(room=per_action.slots).with_actions(order) if per_action is not None else None,
    )


def _side(draw: st.DrawFn, names: list[str]) -> tuple[dict[str, Kind], Row]:
    """Some features of one side, and a strategy for the values of each."""
    kinds, values = dict[str, Kind](), {}
    for name in names[: draw(st.integers(0, len(names)))]:
        kind, value = draw(st.sampled_from(KINDS))
        kinds[name], values[name] = draw(kind), value
    if draw(st.integers(0, 3)) == 0:
        kinds["others"] = Rest(draw(sizes), optional=True)
    return kinds, values


def _terms(draw: st.DrawFn, left: dict[str, Kind], right: dict[str, Kind]) -> list[Term]:
    """Every feature alone, and perhaps crossings, some of them of three features."""
    terms = [Term(), Term(context="*"), Term(action="*")]
    u, v = ([n for n, kind in side.items() if kind.labels] for side in (left, right))
    products: list[Any] = [["*"]] + ([["*", [u[1], u[0]]]] if len(u) > 1 else [])
    if draw(truths):
        terms.append(Term(context=draw(st.sampled_from(products)), action="*"))
    elif len(v) > 1 and draw(truths):
        terms.append(Term(action=[[v[1], v[0]]]))
    return terms


def _row(draw: st.DrawFn, kinds: dict[str, Kind], values: Row) -> Row:
    """Values for every feature, but for some that are optional, and more where all is hashed."""
    row: Row = {}
    for name, value in values.items():
        absent = kinds[name].optional and draw(st.integers(0, 3)) == 0
        if not absent:
            row[name] = draw(value)
        elif draw(truths):
            row[name] = None
    if "others" in kinds and draw(truths):
        row |= {"more": draw(texts), "count": draw(st.sampled_from([0, 1, -3, 17, 0.25]))}
    return {name: row[name] for name in draw(st.permutations(sorted(row)))}
