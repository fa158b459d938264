"""`Features.from_data`: a proposal that fits its examples, with a reason for every choice."""

from __future__ import annotations

import tomllib
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

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
    Tags,
    Term,
)

RANDOM = np.random.default_rng(7)
ROWS = 400


def proposed(column: list[Any], name: str = "x") -> Kind:
    """The proposal for a column of the context."""
    return Features.from_data([{name: value} for value in column]).context[name]


def numbers(low: float, high: float) -> list[float]:
    return [float(x) for x in np.linspace(low, high, 101)]


COLUMNS: list[tuple[str, list[Any], Kind]] = [
    ("country", ["FR"] * 60 + ["DE"] * 30 + ["JP"] * 10, OneHot(["FR", "DE", "JP"])),
    ("country", ["FR"] * 300 + ["DE"] * 98 + ["JP", "US"], OneHot(["FR", "DE"])),
    ("country", ["FR", "DE", None, "FR"], OneHot(["FR", "DE"], optional=True)),
    ("new", [True, False, True], OneHot([False, True], other=False)),
    ("new", [0, 1, 1], OneHot([0, 1], other=False)),
    ("hour", list(range(24)), Cyclic(24)),
    ("local_hour", [1.5, 23.9, 12.0], Cyclic(24)),
    ("weekday", [1, 7, 3], Cyclic(7)),
    ("month", list(range(1, 13)), Cyclic(12)),
    ("hours_of_sleep", [7, 30, 8], Number(8, 21.6)),
    ("age", numbers(20, 60), Number(40, 19.6)),
    ("income", [float(x) for x in np.geomspace(1e3, 1e6, 1001)], Number(31_600, 29.5, "log")),
    ("temperature", [-5.0, 0.0, 5.0, float("nan")], Number(0, 4.9, optional=True)),
    ("user", [f"u{n % 50}" for n in range(400)], Hashed(16)),
    ("session", [f"s{n}" for n in range(400)], Ignored()),
    ("title", [f"What happened on day {n}" for n in range(400)], Hashed(32, of="words")),
    ("topics", [["a"], ["a", "b"], ["b"], []], Tags(["a", "b"], optional=True)),
    ("topics", [[f"t{n % 60}", "all"] for n in range(400)], Hashed(16, of="tags")),
    ("site", ["news"] * 9, Ignored()),
    ("version", [3] * 9, Ignored()),
    ("when", [datetime(2026, 1, 1)] * 3, Ignored()),
    ("mixed", ["a", 1], Ignored()),
    ("nothing", [None, None], Ignored()),
]


@pytest.mark.parametrize(("name", "column", "expected"), COLUMNS)
def test_columns(name: str, column: list[Any], expected: Kind) -> None:
    kind = proposed(column, name)
    assert kind == expected
    assert kind.note, "every choice has a reason"


def test_notes_say_what_was_seen() -> None:
    assert proposed(COLUMNS[1][1]).note == "2 of 4 values, which 99.5% of the rows have"
    assert (
        proposed(["FR", "DE", None, "FR"]).note
        == "all 2 values that were seen; 25.0% of the rows have none"
    )
    assert proposed(numbers(20, 60)).note == "98% lie between 20.4 and 59.6"
    assert proposed([datetime(2026, 1, 1)]).note.startswith("values of type datetime; turn them")


VISITS = pd.DataFrame(
    {
        "country": RANDOM.choice(["FR", "DE", "US"], ROWS),
        "hour": RANDOM.integers(0, 24, ROWS),
        "age": RANDOM.normal(40, 10, ROWS),
        "visits": RANDOM.lognormal(1, 2, ROWS),
        "referrer": [f"site {n % 90}" for n in range(ROWS)],
    }
)
ARTICLES = pd.DataFrame(
    {
        "id": [f"a{n}" for n in range(30)],
        "category": RANDOM.choice(["sport", "arts", "money"], 30),
        "length": RANDOM.integers(200, 2000, 30),
    }
)


def test_a_proposal_encodes_what_it_was_made_from() -> None:
    features = Features.from_data(VISITS, ARTICLES)
    for row in VISITS.to_dict("records")[:20]:
        assert np.linalg.norm(features.encode(row, ARTICLES), axis=1).max() <= 1.0
    assert features.dim <= 256
    assert features == Features.from_dict(tomllib.loads(features.to_toml())["features"])


def test_frames_and_lists_give_the_same_proposal() -> None:
    expected = Features.from_data(VISITS, ARTICLES)
    visits, articles = VISITS.to_dict("records"), ARTICLES.to_dict("records")
    assert Features.from_data(visits, articles) == expected
    assert Features.from_data(pa.Table.from_pandas(VISITS), ARTICLES.set_index("id")) == expected
    by_id = ARTICLES.set_index("id").to_dict("index")
    assert Features.from_data(visits, by_id) == expected


def test_crossings_are_left_out_where_there_is_no_room() -> None:
    features = Features.from_data(VISITS, ARTICLES)
    crossing = features.terms[-1]
    assert crossing.context == ("*",)
    wide = VISITS.assign(**{f"user{n}": [f"u{i % 90}" for i in range(ROWS)] for n in range(5)})
    narrow = Features.from_data(wide, ARTICLES).terms[-1]
    assert narrow.context == ("age", "country", "hour", "referrer", "visits")
    assert "without user0, user1, user2, user3, user4, to stay below 256 coordinates" in narrow.note


def test_actions_without_features_have_blocks_of_their_own() -> None:
    expected = PerAction(slots=60, context="*")
    assert Features.from_data(VISITS, ARTICLES["id"].tolist()).per_action == expected
    assert Features.from_data(VISITS).per_action == PerAction(slots=16, context="*")
    alone = Features.from_data([{}], ["a", "b"])
    assert alone.per_action == PerAction(slots=16)
    assert alone.terms == (Term(), Term(context="*"))


def test_nested_examples_have_dotted_names() -> None:
    features = Features.from_data([{"user": {"age": n}} for n in range(30)], {"a": {"x": "1"}})
    assert list(features.context) == ["user.age"]


@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        ([], "contexts must have at least one row, got none"),
        ("text", "contexts must be a list or a data frame, got 'text'"),
        ([5], "context must be a dictionary of names and values, got 5"),
        ([{3: 5}], "context must have texts as names, got"),
    ],
)
def test_examples_that_cannot_be_read(contexts: Any, message: str) -> None:
    with pytest.raises(FeatureError, match=message):
        Features.from_data(contexts)
