"""Declarations as values: JSON, TOML, Python, digests, names, and refused declarations."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftbandits.features import (
    Coordinate,
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
)
from features_draws import Case, cases

NEWS = Features(
    context={"country": OneHot(["FR", "DE"], note="98% of visits"), "hour": Cyclic(24)},
    action={"category": OneHot(["sport"], optional=True), "length": Number(800, 400)},
    terms=[Term(), Term(action="*"), Term(context=["hour", ["hour", "country"]], action="length")],
    per_action=PerAction(slots=2, context="hour", note="tastes differ"),
)


@given(cases())
def test_json_toml_and_python_keep_everything(case: Case) -> None:
    features = case.features
    copies = [
        Features.from_dict(features.to_dict()),
        Features.from_dict(json.loads(json.dumps(features.to_dict(), sort_keys=True))),
        Features.from_json(features.to_json()),
        Features.from_dict(tomllib.loads(features.to_toml())["features"]),
        eval(repr(features)),  # noqa: S307 - a representation is the call that makes it
    ]
    for copy in copies:
        assert copy.to_dict() == features.to_dict()
        assert copy == features
        assert hash(copy) == hash(features)
        assert copy.digest == features.digest


@given(st.dictionaries(st.text(min_size=1).filter(lambda n: n != "*"), st.text(), min_size=1))
def test_any_text_survives_toml(notes: dict[str, str]) -> None:
    texts = [text for text in {*notes, *notes.values()} if text not in ("(none)", "(other)")]
    if not texts or any("\ud800" <= c <= "\udfff" for text in texts for c in text):
        return
    features = Features(
        context={name: Ignored(note=note) for name, note in notes.items()},
        action={"x": OneHot(texts)},
    )
    assert Features.from_dict(tomllib.loads(features.to_toml())["features"]) == features


def test_a_declaration_is_json() -> None:
    assert NEWS.to_dict() == {
        "format": "driftbandits-features",
        "version": 1,
        "bound": 1.0,
        "context": {
            "country": {
                "kind": "one_hot",
                "values": ["FR", "DE"],
                "other": True,
                "optional": False,
                "note": "98% of visits",
            },
            "hour": {"kind": "cyclic", "period": 24.0, "harmonics": 1, "optional": False},
        },
        "action": {
            "category": {"kind": "one_hot", "values": ["sport"], "other": True, "optional": True},
            "length": {
                "kind": "number",
                "centre": 800.0,
                "spread": 400.0,
                "scale": "linear",
                "optional": False,
            },
        },
        "terms": [
            {},
            {"action": ["*"]},
            {"context": ["hour", ["hour", "country"]], "action": ["length"]},
        ],
        "per_action": {"slots": 2, "context": ["hour"], "note": "tastes differ"},
    }


def test_digests_never_change() -> None:
    """Saved policies contain the digest of their declaration."""
    assert NEWS.digest == "0a7ea7aa4bea9fcb4029be20ab03f6ec"
    assert Features.hashed().digest == "d7400812463fefe8a7ff2f42d6acb8e2"


def test_a_digest_tells_declarations_apart_and_remarks_do_not() -> None:
    content = NEWS.to_dict()
    assert len({NEWS.digest, *(f.digest for f in _variants(content))}) == 1 + 5
    del content["context"]["country"]["note"], content["per_action"]["note"]
    assert Features.from_dict(content) == NEWS
    assert NEWS != "something else"


def _variants(content: dict[str, Any]) -> list[Features]:
    changes: list[tuple[list[str], Any]] = [
        (["bound"], 2.0),
        (["context", "country", "values"], ["DE", "FR"]),
        (["context", "country", "other"], False),
        (["action", "length", "spread"], math.nextafter(400, 500)),
        (["per_action", "slots"], 3),
    ]
    variants = []
    for path, value in changes:
        changed: Any = json.loads(json.dumps(content))
        table = changed
        for key in path[:-1]:
            table = table[key]
        table[path[-1]] = value
        variants.append(Features.from_dict(changed))
    return variants


def test_a_declaration_cannot_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        NEWS.bound = 2.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        NEWS.context["x"] = Ignored()  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        NEWS.context["hour"].note = "x"  # type: ignore[misc]


def test_coordinates_have_names() -> None:
    assert NEWS.names == (
        "1",
        "category=sport",
        "category=(other)",
        "category=(none)",
        "length",
        "hour:sin × length",
        "hour:cos × length",
        *(
            f"country={country} × hour:{wave} × length"
            for country in ("FR", "DE", "(other)")
            for wave in ("sin", "cos")
        ),
        "slot 0",
        "slot 0 × hour:sin",
        "slot 0 × hour:cos",
        "slot 1",
        "slot 1 × hour:sin",
        "slot 1 × hour:cos",
    )
    assert NEWS.coordinates[7] == Coordinate(
        "country=FR × hour:sin × length", ("country=FR", "hour:sin"), ("length",), None
    )
    assert NEWS.coordinates[-1] == Coordinate("slot 1 × hour:cos", ("hour:cos",), (), 1)
    assert list(NEWS.slot_coordinates(1)) == [16, 17, 18]
    table = SlotTable(room=2, slots={"a17": 1})
    assert NEWS.names_with(table)[-4:] == (
        "slot 0 × hour:cos",
        "action a17",
        "action a17 × hour:sin",
        "action a17 × hour:cos",
    )


def test_names_of_both_sides_say_which_side() -> None:
    features = Features(
        context={"language": OneHot(["fr"], other=False)},
        action={"language": OneHot(["fr"], other=False)},
    )
    assert features.names == (
        "1",
        "action.language=fr",
        "context.language=fr",
        "context.language=fr × action.language=fr",
    )


def test_a_declaration_can_be_printed() -> None:
    assert str(NEWS).splitlines()[1:] == [
        "context:",
        "  country  one_hot  values FR DE, other yes  # 98% of visits",
        "  hour     cyclic   period 24, harmonics 1",
        "action:",
        "  category  one_hot  values sport, other yes, optional yes",
        "  length    number   centre 800, spread 400, scale linear",
        "terms:",
        "  1",
        "  action",
        "  (hour, hour × country) × length",
        "per action:",
        "  2 slots of 3  (1, hour)  # tastes differ",
    ]
    assert str(NEWS).startswith("Features with 19 coordinates, bound 1 (")
    lines = NEWS.table().splitlines()
    assert lines[0] == " 0  1"
    assert lines[-1] == "18  slot 1 × hour:cos"


def test_everything_can_be_hashed_without_a_declaration() -> None:
    features = Features.hashed(context=5, action=4)
    assert features.dim == (1 + 5 + 1) * (1 + 4)
    vectors = features.encode(
        [{"user": {"age": 30, "tags": ["a"]}}, {"user": {"city": "Paris"}}],
        [
            {"id": "a", "features": [{"topic": "sport"}, {"layout": {"wide": True}}]},
            {"id": "b", "features": []},
        ],
    )
    assert vectors.shape == (2, features.dim)
    assert features.encode({}, ["a", "b"]).any(axis=1).all()


X, Y = OneHot(["a"]), Number(0, 1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "terms must depend on the action, otherwise all actions have the same vector"),
        ({"context": {"x": X}}, "terms must depend on the action"),
        ({"action": [X]}, "action must be a dictionary of features, got ["),
        ({"action": {"x": "one_hot"}}, "action feature 'x' must be a kind of feature, got 'one"),
        ({"action": {"*": X}}, "names of action features must be texts other than '*', got '*'"),
        ({"action": {3: X}}, "names of action features must be texts other than '*', got 3"),
        ({"action": {"a": Rest(2), "b": Rest(2)}}, "action must have at most one Rest, got a, b"),
        ({"action": {"x": X}, "terms": [{}]}, "terms must be a list of Term, got [{}]"),
        ({"action": {"x": X}, "terms": []}, "action feature 'x' must be in a term; declare it"),
        (
            {"action": {"x": X}, "terms": [Term(action="y")]},
            "terms: 'y' is not a feature of the action; there are: x",
        ),
        (
            {"action": {"x": X, "z": Ignored()}, "terms": [Term(action=["x", "z"])]},
            "terms: 'z' is not a feature of the action; there are: x",
        ),
        (
            {"action": {"x": X}, "context": {"y": Y}, "terms": [Term(action="x")]},
            "context feature 'y' must be in a term; declare it Ignored() to leave it out",
        ),
        (
            {"action": {"x": X}, "terms": [Term(action="x"), Term(action="*")]},
            "terms must differ, got x twice",
        ),
        (
            {"action": {"x": X}, "terms": [Term(), Term(action="x"), Term()]},
            "terms must differ, got 1 twice",
        ),
        (
            {"context": {"y": Y}, "per_action": PerAction(slots=1, context=["y", "*"])},
            "per_action must have distinct products, got y twice",
        ),
        ({"per_action": 5}, "per_action must be a PerAction or None, got 5"),
        ({"action": {"x": X}, "bound": 0}, "bound must be a finite number above 0, got 0"),
        (
            {"action": {"x": Hashed(60_000)}, "context": {"y": Hashed(60_000)}},
            "a vector must have at most 65536 coordinates, got 3600120001",
        ),
        (
            {"action": {"a": OneHot(["b=c"]), "a=b": OneHot(["c"])}},
            "names of coordinates must differ, got 'a=b=c' twice; rename a feature",
        ),
    ],
)
def test_what_cannot_be_declared(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        Features(**fields)


@pytest.mark.parametrize(
    ("make", "fields", "message"),
    [
        (Term, {"context": 5}, "context must be a name or a list of names, got 5"),
        (Term, {"action": [["x"]]}, "action must be a list of names and of products, which are"),
        (Term, {"action": [["x", "*"]]}, "action must be a list of names and of products"),
        (Term, {"action": [["x", "x"]]}, "action must not multiply a feature with itself, got ["),
        (Term, {"note": 5}, "note must be a text, got 5"),
        (PerAction, {"slots": 0}, "slots must be an integer of at least 1, got 0"),
        (PerAction, {"slots": 10**9}, "slots must be at most 65536, got 1000000000"),
    ],
)
def test_terms_that_cannot_be(make: Any, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        make(**fields)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "features must be a table, got []"),
        (
            {"contxt": {}},
            "features: unknown key 'contxt'; it takes format, version, bound, context",
        ),
        ({"format": "x"}, "features: format must be 'driftbandits-features', got 'x'"),
        ({"version": 2}, "features: version must be 1 in this release, got 2"),
        ({"context": []}, "context must be a table, got []"),
        ({"context": {"x": 5}}, "context.x must be a table, got 5"),
        ({"context": {"x": {}}}, "context.x: kind must be one of one_hot, number, cyclic, hashed"),
        ({"action": {"x": {"kind": "words"}}}, "action.x: kind must be one of one_hot, number"),
        (
            {"action": {"x": {"kind": "hashed", "sise": 3}}},
            "action.x: unknown key 'sise'; it takes size, of, optional, note",
        ),
        ({"action": {"x": {"kind": "hashed"}}}, "action.x: the key size is missing"),
        (
            {"action": {"x": {"kind": "hashed", "size": 0}}},
            "action.x: size must be an integer of at least 1, got 0",
        ),
        ({"terms": {}}, "terms must be a list of tables, got {}"),
        ({"terms": [{}, {"actions": "*"}]}, "terms[1]: unknown key 'actions'; it takes context"),
        ({"terms": [{"action": [[1, 2]]}]}, "terms[0]: action must be a list of names and of"),
        ({"per_action": {}}, "per_action: the key slots is missing"),
        ({"per_action": {"slots": "x"}}, "per_action: slots must be an integer of at least 1"),
    ],
)
def test_errors_in_json_name_the_place(content: Any, message: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        Features.from_dict(content)


def test_toml_is_enough_to_declare_features() -> None:
    text = """
        [features.context]
        hour = { kind = "cyclic", period = 24 }
        [features.action]
        topics = { kind = "tags", values = ["sport", "arts"] }
        [[features.terms]]
        action = "*"
        [[features.terms]]
        context = "hour"
        action = ["topics"]
    """
    assert Features.from_dict(tomllib.loads(text)["features"]) == Features(
        context={"hour": Cyclic(24)},
        action={"topics": Tags(["sport", "arts"])},
        terms=[Term(action="*"), Term(context="hour", action="topics")],
    )


def test_slots_are_given_and_taken_back() -> None:
    table = SlotTable(room=3).with_actions(["a", "b", "a"])
    assert dict(table.slots) == {"a": 0, "b": 1}
    assert table.free == (2,)
    assert table.with_actions(["b"]) is table
    without = table.without(["a"])
    assert dict(without.with_actions(["c", "d"]).slots) == {"b": 1, "c": 0, "d": 2}
    assert ("a" in table, "a" in without, len(without), list(without)) == (True, False, 1, ["b"])
    assert SlotTable.from_dict(json.loads(json.dumps(table.to_dict()))) == table
    assert hash(SlotTable.from_dict(table.to_dict())) == hash(table)
    assert table.widened(5).free == (2, 3, 4)
    with pytest.raises(FeatureError, match="slots must have room for 2 more action"):
        table.with_actions(["c", "d"])
    with pytest.raises(FeatureError, match="action 'x' must have a slot, and has none"):
        table.without(["x"])
    with pytest.raises(FeatureError, match=r"the id of an action must be a text .* got 2\.5"):
        table.with_actions([2.5])
    with pytest.raises(ValueError, match="room must be an integer of at least 3, got 2"):
        table.widened(2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"room": 2}, "a slot table has the keys room and slots, got {'room': 2}"),
        ({"room": 0, "slots": {}}, "room must be an integer of at least 1, got 0"),
        ({"room": 2, "slots": []}, "slots must be a table of ids and slots, got []"),
        ({"room": 2, "slots": {1: 0}}, "slots must have texts as ids, got 1"),
        ({"room": 2, "slots": {"a": -1}}, "the slot of 'a' must be an integer of at least 0"),
        ({"room": 2, "slots": {"a": 2}}, "the slot of 'a' must be free and below 2, got 2"),
        (
            {"room": 2, "slots": {"a": 1, "b": 1}},
            "the slot of 'b' must be free and below 2, got 1",
        ),
    ],
)
def test_slot_tables_that_cannot_be(content: Any, message: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        SlotTable.from_dict(content)


def test_slots_can_only_be_added() -> None:
    with pytest.raises(ValueError, match="slots can only be added to a declaration with per_act"):
        Features(action={"x": X}).with_slots(3)
    with pytest.raises(ValueError, match="slots must be an integer of at least 2, got 1"):
        NEWS.with_slots(1)
    with pytest.raises(ValueError, match="slot must be below 2, got 2"):
        NEWS.slot_coordinates(2)
