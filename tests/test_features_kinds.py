"""Kinds of features: how they encode values, and which values they refuse."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftbandits.features import (
    Cyclic,
    FeatureError,
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
from driftbandits.features.hashing import signed_hash, sketch, words_of


def in_context(kind: Kind) -> Features:
    """A declaration with one feature of the context, called x."""
    return Features(context={"x": kind}, terms=[Term(context="*")], per_action=PerAction(slots=1))


def vector(kind: Kind, value: Any) -> list[float]:
    """The coordinates of a value, before they are scaled."""
    features = in_context(kind)
    table = SlotTable(room=1, slots={"a": 0})
    encoded = features.encode({"x": value}, ["a"], slots=table)[0, : len(kind.labels)]
    return [float(x) for x in np.round(encoded * math.sqrt(2), 9)]


HALF = round(math.sqrt(0.5), 9)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (OneHot(["FR", "DE"]), "FR", [1, 0, 0]),
        (OneHot(["FR", "DE"]), "JP", [0, 0, 1]),
        (OneHot(["FR", "DE"], other=False), "DE", [0, 1]),
        (OneHot(["FR"], optional=True), None, [0, 0, 1]),
        (OneHot(["FR"], optional=True), float("nan"), [0, 0, 1]),
        (OneHot(["FR"], optional=True), pd.NA, [0, 0, 1]),
        (OneHot(["FR"], optional=True), "FR", [1, 0, 0]),
        (OneHot([1, 2.5]), 2.5, [0, 1, 0]),
        (OneHot([False, True], other=False), np.True_, [0, 1]),
        (Number(40, 20), 50, [0.5]),
        (Number(40, 20), 10, [-1]),
        (Number(40, 20), 1e300, [1]),
        (Number(40, 20, optional=True), None, [0, 1]),
        (Number(40, 20, optional=True), 40, [0, 0]),
        (Number(1000, 10, "log"), 10_000, [1]),
        (Number(1000, 100, "log"), 100, [-0.5]),
        (Number(1000, 10, "log"), 0, [-1]),
        (Cyclic(24), 6, [1, 0]),
        (Cyclic(24), 12, [0, -1]),
        (Cyclic(24), -18, [1, 0]),
        (Cyclic(24), 24 * 10**12 + 6, [1, 0]),
        (Cyclic(8, 2), 1, [0.5, 0.5, HALF, 0]),
        (Tags(["a", "b", "c"]), ["b", "a"], [HALF, HALF, 0, 0]),
        (Tags(["a", "b", "c"]), {"b"}, [0, 1, 0, 0]),
        (Tags(["a", "b"]), ("x", "y", "a", "a"), [HALF, 0, HALF]),
        (Tags(["a"], optional=True), [], [0, 0, 1]),
        (Tags(["a", "b"]), np.array(["b"], dtype=object), [0, 1, 0]),
    ],
)
def test_values(kind: Kind, value: Any, expected: list[float]) -> None:
    assert vector(kind, value) == expected


@pytest.mark.parametrize(
    ("kind", "value", "rule"),
    [
        (OneHot(["FR"]), 3, "must be a text, as the listed values are, got 3"),
        (OneHot(["FR"]), ["FR"], "must be a text, as the listed values are, got ['FR']"),
        (OneHot([1, 2]), "1", "must be a number, as the listed values are, got '1'"),
        (OneHot(["FR", "DE"], other=False), "JP", "must be one of ['FR', 'DE'], got 'JP'"),
        (OneHot(["FR"]), None, "must have a value (optional = true allows for none), got None"),
        (Number(0, 1), "3", "must be a number, got '3'"),
        (Number(0, 1), math.inf, "must be a finite number, got inf"),
        (Number(0, 1), 10**400, "must be a finite number, got 1000"),
        (Number(0, 1), 1j, "must be a number, got 1j"),
        (Number(0, 1), math.nan, "must have a value (optional = true allows for none), got nan"),
        (Number(0, 1), pd.NaT, "must have a value"),
        (Number(0, 1), np.array([1.0]), "must be a number, got array([1.])"),
        (Number(0, 1), {"y": 1}, "must be declared"),
        (Number(1, 2, "log"), -1, "must be 0 or above, because its scale is logarithmic, got -1"),
        (Cyclic(24), "noon", "must be a number, got 'noon'"),
        (Tags(["a"]), "a", "must be a list or a set, got 'a'"),
        (Tags(["a"]), [1], "must be a text, as the listed values are, got [1]"),
        (Tags(["a"], other=False), ["b"], "must be one of ['a'], got ['b']"),
        (Tags(["a"]), [], "must have a value (optional = true allows for none), got []"),
        (Hashed(4), 1.5, "must be a text or a whole number, got 1.5"),
        (Hashed(4), ["a"], "must be a text or a whole number, got ['a']"),
        (Hashed(4, of="words"), 3, "must be a text, got 3"),
        (Hashed(4, of="words"), "?!", "must have a value"),
        (Hashed(4, of="tags"), "a", "must be a list or a set, got 'a'"),
        (Hashed(4, of="tags"), [None], "must be a text or a whole number, got [None]"),
    ],
)
def test_what_is_refused(kind: Kind, value: Any, rule: str) -> None:
    with pytest.raises(FeatureError) as error:
        vector(kind, value)
    name = "x.y" if isinstance(value, dict) else "x"
    assert str(error.value).startswith(f"context feature {name!r} {rule}")
    assert (error.value.feature, error.value.action) == (name, None)


@pytest.mark.parametrize(
    "makers", [[int, float, np.float64, np.int64, np.float32, Decimal, Fraction, bool, np.bool_]]
)
@pytest.mark.parametrize(
    "kind",
    [OneHot([1, 7]), Number(0, 4), Cyclic(24), Hashed(64), Hashed(64, of="tags"), Tags([0, 1])],
)
def test_equal_values_are_one_value(kind: Kind, makers: list[Callable[[int], Any]]) -> None:
    """Whichever comes first, because cached values are found by equality."""
    features, table = in_context(kind), SlotTable(room=1, slots={"a": 0})
    expected = in_context(kind).encode({"x": _given(kind, 1)}, ["a"], slots=table)
    for make in makers:
        vectors = features.encode({"x": _given(kind, make(1))}, ["a"], slots=table)
        fresh = in_context(kind).encode({"x": _given(kind, make(1))}, ["a"], slots=table)
        assert vectors.tobytes() == fresh.tobytes() == expected.tobytes()


def _given(kind: Kind, value: Any) -> Any:
    return value if kind.hashable else [value]


def test_zero_has_no_sign() -> None:
    for kind in (Number(0, 1), Cyclic(24), Hashed(8), Number(1, 10, "log")):
        assert np.array(kind.encode(0.0)).tobytes() == np.array(kind.encode(-0.0)).tobytes()


# Hexadecimal digits as `printf '%s' sport | b2sum -l 64` prints them.
KNOWN = {
    "sport": "c285f8cb476dce5a",
    "politics": "05caf23cfe390e86",
    "": "e4a6a0577479b2b4",
    "17": "20398d138e4d7bb4",
    "été": "bc5121b7615020d8",
    "日本": "e83335cfe1549b3a",
    "user=anna": "bdfbaabb5905ae8c",
}


@pytest.mark.parametrize(("text", "digest"), KNOWN.items())
def test_hashes_have_known_answers(text: str, digest: str) -> None:
    number = int.from_bytes(bytes.fromhex(digest), "little")
    for size in (1, 2, 16, 1000):
        expected = (number % 2**63 % size, -1.0 if number >= 2**63 else 1.0)
        assert signed_hash(text, size) == expected


def test_hashed_features_have_known_answers() -> None:
    """These numbers never change: saved policies have learned along these coordinates."""
    assert Hashed(8).encode("sport") == [0, 0, 1, 0, 0, 0, 0, 0]
    assert Hashed(8).encode("politics") == [0, 0, 0, 0, 0, -1, 0, 0]
    assert Hashed(8).encode(17) == Hashed(8).encode("17") == [-1, 0, 0, 0, 0, 0, 0, 0]
    tags = Hashed(8, of="tags").encode({"sport", "politics"})
    assert tags == Hashed(8, of="words").encode("Politics? Sport!")
    assert np.allclose(tags, [0, 0, HALF, 0, 0, -HALF, 0, 0])
    # The tokens are user.name=anna, user.age=2^4 (for 16 up to 32), tags=a and tags=b.
    rest = Rest(8).encode({"user": {"name": "anna", "age": 30}, "tags": ["a", "b"], "gone": None})
    assert rest == [0, -0.5, 0, 0, 0, -0.5, -0.5, -0.5]


def test_half_a_surrogate_pair_can_be_hashed() -> None:
    assert signed_hash("\ud800", 1000) == (914, 1.0)


@given(st.lists(st.text(), min_size=1), st.integers(1, 8))
def test_a_sketch_has_norm_one(tokens: list[str], size: int) -> None:
    """Even if all signs cancel: a value never looks like no value."""
    assert math.isclose(math.fsum(x * x for x in sketch(tokens, size)), 1.0)


def test_words() -> None:
    assert words_of("Été: it's 3.5% — ÖL!") == ["été", "it", "s", "3", "5", "—", "öl"]


def test_everything_else_is_hashed_by_name_and_value() -> None:
    """Numbers by the powers of two around them, lists by entry, None not at all."""
    rest = Rest(1000)

    def places(row: dict[str, Any]) -> set[tuple[int, float]]:
        numbers = rest.encode(row)
        return {(place, math.copysign(1, x)) for place, x in enumerate(numbers) if x}

    row = {"a": "x", "n": 30, "m": -0.3, "z": 0, "l": ["p", "q"], "deep": {"er": True}, "no": None}
    tokens = ["a=x", "n=2^4", "m=-2^-2", "z=0", "l=p", "l=q", "deep.er=2^0"]
    assert places(row) == {signed_hash(token, 1000) for token in tokens}
    with pytest.raises(FeatureError, match="context feature 'x' must be a list or a set, got"):
        in_context(Rest(4)).encode(
            {"when": object()}, ["a"], slots=SlotTable(room=1, slots={"a": 0})
        )


LISTS = "values must be a list of texts or of numbers"
ALIKE = "values must be all texts or all finite numbers"


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (OneHot, {"values": []}, f"{LISTS}, got []"),
        (OneHot, {"values": "FR"}, f"{LISTS}, got 'FR'"),
        (OneHot, {"values": ["a", 1]}, f"{ALIKE}, got ['a', 1]"),
        (OneHot, {"values": [math.nan]}, f"{ALIKE}, got [nan]"),
        (OneHot, {"values": [["a"]]}, f"{ALIKE}, got [['a']]"),
        (OneHot, {"values": [1, True]}, "values must differ from each other, got True twice"),
        (OneHot, {"values": ["(other)"]}, "values must not contain '(other)', the name of a"),
        (Tags, {"values": ["a"] * 70_000}, "values must be at most 65536, got 70000"),
        (Tags, {"values": ["a"], "other": 1}, "other must be true or false, got 1"),
        (Tags, {"values": ["a"], "optional": "x"}, "optional must be true or false, got 'x'"),
        (Tags, {"values": ["a"], "note": 1}, "note must be a text, got 1"),
        (Number, {"centre": 0, "spread": 0}, "spread must be a finite number above 0, got 0"),
        (Number, {"centre": math.nan, "spread": 1}, "centre must be a finite number, got nan"),
        (Number, {"centre": "0", "spread": 1}, "centre must be a number, got '0'"),
        (
            Number,
            {"centre": 0, "spread": 2, "scale": "log"},
            "centre must be a finite number above 0, got 0",
        ),
        (
            Number,
            {"centre": 1, "spread": 1, "scale": "log"},
            "spread must be above 1 on a log scale, got 1",
        ),
        (
            Number,
            {"centre": 1, "spread": 1, "scale": "cube"},
            "scale must be one of linear, log, got 'cube'",
        ),
        (Cyclic, {"period": 0}, "period must be a finite number above 0, got 0"),
        (
            Cyclic,
            {"period": 24, "harmonics": 0},
            "harmonics must be an integer of at least 1, got 0",
        ),
        (Cyclic, {"period": 24, "harmonics": 101}, "harmonics must be at most 100, got 101"),
        (Hashed, {"size": 0}, "size must be an integer of at least 1, got 0"),
        (Rest, {"size": 10**9}, "size must be at most 65536, got 1000000000"),
        (
            Hashed,
            {"size": 4, "of": "letters"},
            "of must be one of value, words, tags, got 'letters'",
        ),
        (Ignored, {"optional": True}, "optional must be false: what is ignored may be missing"),
    ],
)
def test_kinds_that_cannot_be(kind: Any, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        kind(**fields)
