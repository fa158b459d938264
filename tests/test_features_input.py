"""Forms of contexts and actions, and forms that are refused."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict, namedtuple
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from driftbandits import DLinUCB
from driftbandits.features import (
    Cyclic,
    FeatureError,
    Features,
    Hashed,
    Ignored,
    Number,
    OneHot,
    PerAction,
    Rest,
    SlotTable,
    Tags,
    Term,
    named_actions,
)

NEWS = Features(
    context={"country": OneHot(["FR", "DE"]), "hour": Cyclic(24), "session": Ignored()},
    action={"category": OneHot(["sport", "arts"]), "length": Number(800, 400)},
)
CONTEXT = {"country": "FR", "hour": 14}
ARTICLES = {
    "a17": {"category": "sport", "length": 600},
    "a18": {"category": "arts", "length": 1000},
}


def same(features: Features, context: Any, actions: Any) -> bool:
    expected = Features.from_dict(features.to_dict()).encode(CONTEXT, ARTICLES)
    return features.encode(context, actions).tobytes() == expected.tobytes()


class Polars:
    """The part of a polars frame that the encoder uses: rows as dictionaries."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        self.columns = list(rows[0])

    def to_dicts(self) -> list[dict[str, Any]]:
        return self.rows


RECORDS = [{"id": id, **features} for id, features in ARTICLES.items()]


@pytest.mark.parametrize(
    "actions",
    [
        MappingProxyType(ARTICLES),
        OrderedDict(ARTICLES),
        {id: MappingProxyType(row) for id, row in ARTICLES.items()},
        {id: pd.Series(row) for id, row in ARTICLES.items()},
        RECORDS,
        tuple(RECORDS),
        iter(RECORDS),
        pd.DataFrame(RECORDS),
        pd.DataFrame(RECORDS).set_index("id"),
        pd.DataFrame(ARTICLES.values(), index=list(ARTICLES)),
        pa.Table.from_pylist(RECORDS),
        Polars(RECORDS),
    ],
    ids=lambda actions: type(actions).__name__,
)
def test_actions_come_in_many_shapes(actions: Any) -> None:
    assert same(NEWS, CONTEXT, actions)


@pytest.mark.parametrize(
    "context",
    [
        MappingProxyType(CONTEXT),
        pd.Series(CONTEXT),
        pd.DataFrame([CONTEXT]).iloc[0],
        namedtuple("Visit", CONTEXT)(**CONTEXT),
        [{"country": "FR"}, {"hour": 14}],
        {**CONTEXT, "session": object()},
    ],
    ids=lambda context: type(context).__name__,
)
def test_contexts_come_in_many_shapes(context: Any) -> None:
    assert same(NEWS, context, ARTICLES)


def test_nested_dictionaries_have_dotted_names() -> None:
    features = Features(
        context={"user.age": Number(40, 20), "user.home.city": OneHot(["Paris"])},
        action={"meta.tags": Tags(["new"])},
    )
    nested = features.encode(
        {"user": [{"age": 50}, {"home": {"city": "Paris"}}]}, {"a": {"meta": {"tags": ["new"]}}}
    )
    flat = features.encode(
        {"user.age": 50, "user.home.city": "Paris"}, {"a": {"meta.tags": {"new"}}}
    )
    assert nested.tobytes() == flat.tobytes()


def test_ids_alone_are_actions() -> None:
    features = Features(action={"id": OneHot(["a", "b"], other=False)}, terms=[Term(action="id")])
    assert np.round(features.encode(None, ["b", "a"])).tolist() == [[0, 1], [1, 0]]
    assert np.round(features.encode({}, {"b": None, "a": {"id": "a"}})).tolist() == [[0, 1], [1, 0]]


def test_whole_numbers_can_be_ids() -> None:
    features = Features(action={"id": Hashed(32)}, per_action=PerAction(slots=2))
    table = SlotTable(room=2).with_actions([17, 18])
    numbers = features.encode({}, [17, 18], slots=table)
    assert numbers.tobytes() == features.encode({}, ["17", "18"], slots=table).tobytes()
    frame = pd.DataFrame({"id": [17, 18]})
    assert numbers.tobytes() == features.encode({}, frame, slots=table).tobytes()


def test_what_is_hashed_together_includes_the_id_unless_it_is_ignored() -> None:
    with_id = Features(action={"rest": Rest(16)})
    without = Features(action={"id": Ignored(), "rest": Rest(16)})
    actions = {"a": {"x": "1"}, "b": {"x": "1"}}
    assert len(np.unique(with_id.encode({}, actions), axis=0)) == 2
    assert len(np.unique(without.encode({}, actions), axis=0)) == 1


def test_a_policy_takes_the_vectors_as_they_are() -> None:
    policy = DLinUCB(dim=NEWS.dim, gamma=0.99)
    vectors = NEWS.encode(CONTEXT, ARTICLES)
    policy.update(vectors[policy.select(vectors)], 1.0)
    assert policy.round == 2


BAD: list[tuple[Any, Any, str]] = [
    ({**CONTEXT, "contry": "FR"}, ARTICLES, "context feature 'contry' must be declared, got"),
    ({"hour": 14}, ARTICLES, "context feature 'country' must have a value"),
    ("FR", ARTICLES, "context must be a dictionary of names and values, got 'FR'"),
    (7, ARTICLES, "context must be a dictionary of names and values, got 7"),
    (pd.DataFrame([CONTEXT]), ARTICLES, "context must be a dictionary of names and values, got"),
    ({**CONTEXT, 3: "x"}, ARTICLES, "context must have texts as names, got"),
    ([{"hour": 1}, {"hour": 2}], ARTICLES, "context must give 'hour' one value, not two, got"),
    ({"country": {"code": "FR"}, "hour": 1}, ARTICLES, "context feature 'country.code' must be"),
    (CONTEXT, {}, "actions must have at least one action, got none"),
    (CONTEXT, [], "actions must have at least one action, got none"),
    (
        CONTEXT,
        "a17",
        "actions must be a dictionary from ids to features, a list or a data frame, got 'a17'",
    ),
    (
        CONTEXT,
        None,
        "actions must be a dictionary from ids to features, a list or a data frame, got None",
    ),
    (CONTEXT, RECORDS * 2, "actions must have ids of their own, got 'a17' twice"),
    (
        CONTEXT,
        [{"category": "sport"}],
        "an action in a list must have the key 'id', got {'category': 'sport'}",
    ),
    (CONTEXT, [3.5], "the id of an action must be a text or a whole number, got 3.5"),
    (CONTEXT, {("a", 1): {}}, "the id of an action must be a text or a whole number, got ('a', 1)"),
    (CONTEXT, ["a17"], "feature 'category' of action 'a17' must have a value"),
    (CONTEXT, {"a17": {**ARTICLES["a17"], "x": 1}}, "feature 'x' of action 'a17' must be declared"),
    (
        CONTEXT,
        {"a17": {**ARTICLES["a17"], "id": "b"}},
        "feature 'id' of action 'a17' must be its id",
    ),
    (CONTEXT, {"a17": 5}, "action 'a17' must be a dictionary of names and values, got 5"),
    (
        CONTEXT,
        {"a17": {"category": "sport", "length": "long"}},
        "feature 'length' of action 'a17' must be a number, got 'long'",
    ),
]


@pytest.mark.parametrize(("context", "actions", "message"), BAD)
def test_bad_input_is_refused(context: Any, actions: Any, message: str) -> None:
    """In the same way before and after good input, without changing later results."""
    features = Features.from_dict(NEWS.to_dict())
    for _ in range(2):
        with pytest.raises(FeatureError, match="^" + re.escape(message)):
            features.encode(context, actions)
        assert same(features, CONTEXT, ARTICLES)


@pytest.mark.parametrize("features", [NEWS, Features.hashed()])
def test_input_that_is_too_deep_is_refused(features: Features) -> None:
    deep: dict[str, Any] = {}
    for _ in range(10_000):
        deep = {"x": deep}
    with pytest.raises(FeatureError, match="context must be nested at most 20 levels deep"):
        features.encode(deep, ARTICLES)
    with pytest.raises(FeatureError, match="action 'a' must be nested at most 20 levels deep"):
        features.encode(CONTEXT, {"a": deep})


def test_values_that_cannot_be_compared_are_encoded_anew() -> None:
    """Arrays have no truth value, so they are never taken from the cache."""
    features = Features(action={"tags": Tags(["new", "free"])})
    for tags in (["new", "free"], ["free", "other"], ["new", "free"]):
        arrays = features.encode({}, {"a": {"tags": np.array(tags)}})
        assert arrays.tobytes() == features.encode({}, {"a": {"tags": tags}}).tobytes()


def test_slots_must_fit_the_declaration() -> None:
    features = Features(per_action=PerAction(slots=2))
    table = SlotTable(room=2, slots={"a": 0})
    assert features.encode({}, ["a"], slots=table).shape == (1, 3)
    with pytest.raises(FeatureError, match="action 'b' must have a slot, and has none"):
        features.encode({}, ["a", "b"], slots=table)
    with pytest.raises(ValueError, match="slots must be a SlotTable with room for 2 actions, got"):
        features.encode({}, ["a"])
    with pytest.raises(ValueError, match="slots must be a SlotTable with room for 2 actions, got"):
        features.encode({}, ["a"], slots=table.widened(3))
    with pytest.raises(ValueError, match="slots must be None without a block per action, got"):
        NEWS.encode(CONTEXT, ARTICLES, slots=table)


def test_pairs_must_be_equally_many() -> None:
    with pytest.raises(FeatureError, match="contexts and actions must be equally many, got 1 and"):
        NEWS.encode_pairs([CONTEXT], RECORDS)
    assert NEWS.encode_pairs([], []).shape == (0, NEWS.dim)
    frame = pd.DataFrame([CONTEXT, CONTEXT])
    pairs = NEWS.encode_pairs(frame, pd.DataFrame(RECORDS))
    assert pairs.tobytes() == NEWS.encode(CONTEXT, ARTICLES).tobytes()


def test_named_actions_keep_ids_as_they_are() -> None:
    assert named_actions([17, {"id": "a", "features": None}]) == {17: {}, "a": {}}


def test_memory_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of old actions are forgotten, and computed again if needed."""
    monkeypatch.setattr("driftbandits.features.recall._KEPT", 20 * NEWS.dim)
    features = Features.from_dict(NEWS.to_dict())
    for start in range(0, 200, 7):
        actions = {
            f"a{n}": {"category": "sport", "length": n} for n in [*range(start, start + 15), 0]
        }
        fresh = Features.from_dict(NEWS.to_dict())
        assert (features.encode(CONTEXT, actions) == fresh.encode(CONTEXT, actions)).all()
        assert len(features._encoder._recall._copies) <= 20


def test_several_threads_may_encode_at_once() -> None:
    features = Features.from_dict(NEWS.to_dict())
    sets = [{f"a{n}": {"category": "arts", "length": n * m} for n in range(m)} for m in range(1, 9)]
    expected = [Features.from_dict(NEWS.to_dict()).encode(CONTEXT, s).tobytes() for s in sets]
    wrong = list[int]()

    def work(offset: int) -> None:
        for n in range(300):
            which = (n * offset + n) % len(sets)
            if features.encode(CONTEXT, sets[which]).tobytes() != expected[which]:
                wrong.append(which)

    threads = [threading.Thread(target=work, args=(offset,)) for offset in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
