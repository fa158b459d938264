"""Vectors from a fitted scikit-learn transformer."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from driftbandits.features import Encodes, FeatureError, Features, FromTransformer, SlotTable

ROWS = [
    {"country": "FR", "hour": 9.0, "category": "sport"},
    {"country": "DE", "hour": 21.0, "category": "arts"},
    {"country": "FR", "hour": 3.0, "category": "arts"},
]
ARTICLES = {"a": {"category": "sport"}, "b": {"category": "arts"}}


def columns() -> Any:
    transformer = ColumnTransformer(
        [
            ("names", OneHotEncoder(handle_unknown="ignore"), ["country", "category"]),
            ("numbers", StandardScaler(), ["hour"]),
        ]
    )
    return transformer.fit(pd.DataFrame(ROWS))


def test_a_column_transformer() -> None:
    transformer = columns()
    features: Encodes = FromTransformer(transformer, norm=3.0, table=pd.DataFrame)
    context = {"country": "FR", "hour": 9.0}
    vectors = features.encode(context, ARTICLES)
    rows = pd.DataFrame([{**context, **article} for article in ARTICLES.values()])
    np.testing.assert_allclose(vectors, transformer.transform(rows) / 3.0, rtol=1e-11)
    assert vectors.flags.carray
    assert features.dim == len(features.names) == vectors.shape[1]
    assert features.names[0] == "names__country_DE"
    assert features.slots == 0


def test_dictionaries_are_handed_over_as_they_are() -> None:
    transformer = DictVectorizer().fit([{**row, "name": "a"} for row in ROWS])
    features = FromTransformer(transformer, norm=30.0, bound=2.0, id="name")
    vectors = features.encode({"country": "DE", "hour": 21.0}, ARTICLES)
    rows = [
        {"country": "DE", "hour": 21.0, "name": id, **article} for id, article in ARTICLES.items()
    ]
    np.testing.assert_allclose(vectors, transformer.transform(rows).toarray() / 15.0, rtol=1e-11)


def test_no_vector_is_longer_than_the_bound() -> None:
    features = FromTransformer(columns(), norm=2.0, bound=0.5, table=pd.DataFrame)
    hours = [0.0, 9.0, 1e3, 1e6]
    vectors = features.encode_pairs(
        [{"country": "FR", "hour": hour} for hour in hours],
        [{"id": "a", "category": "sport"}] * len(hours),
    )
    norms = np.linalg.norm(vectors, axis=1)
    assert (norms <= 0.5).all()
    assert norms[1] < 0.49
    np.testing.assert_allclose(norms[2:], 0.5, rtol=1e-11)
    assert features.encode_pairs([], []).shape == (0, features.dim)


def test_pairs_equal_one_vector_at_a_time() -> None:
    features = FromTransformer(columns(), norm=2.0, table=pd.DataFrame)
    contexts = [{"country": "FR", "hour": 1.0}, {"country": "DE", "hour": 2.0}]
    pairs = features.encode_pairs(contexts, [{"id": "a", **ARTICLES["a"]}] * 2)
    for context, vector in zip(contexts, pairs, strict=True):
        one = features.encode(context, {"a": ARTICLES["a"]})
        np.testing.assert_allclose(vector, one[0], rtol=1e-15)
    with pytest.raises(FeatureError, match="contexts and actions must be equally many, got 2 and"):
        features.encode_pairs(contexts, [])


def test_json_is_refused_with_the_reason() -> None:
    features = FromTransformer(columns(), norm=3.0, table=pd.DataFrame)
    with pytest.raises(TypeError, match="a fitted transformer cannot be written as JSON; declare"):
        features.to_dict()
    assert repr(features).startswith("FromTransformer(ColumnTransformer(")


class Broken:
    """A transformer whose answer is wrong."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def get_feature_names_out(self) -> list[str]:
        return ["x", "y"]

    def transform(self, rows: Any) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros((1, 3)), "the transformer must return shape (1, 2), got (1, 3)"),
        (
            np.array([[1.0, np.nan]]),
            "the transformer must return finite numbers, got others for {'hour': 1}",
        ),
    ],
)
def test_wrong_answers_are_refused(answer: Any, message: str) -> None:
    with pytest.raises(FeatureError, match="^" + re.escape(message)):
        FromTransformer(Broken(answer), norm=1.0).encode({"hour": 1}, ["a"])


def test_what_cannot_be_used() -> None:
    with pytest.raises(ValueError, match="transformer must have a method get_feature_names_out"):
        FromTransformer(FeatureHasher(), norm=1.0)
    with pytest.raises(ValueError, match="norm must be a finite number above 0, got 0"):
        FromTransformer(Broken(None), norm=0)
    features = FromTransformer(Broken(None), norm=1.0)
    with pytest.raises(FeatureError, match="feature 'x' must be of the context or of action 'a', "):
        features.encode({"x": 1}, {"a": {"x": 2}})
    with pytest.raises(ValueError, match="slots must be None with a transformer, got"):
        features.encode({}, ["a"], slots=SlotTable(room=1))


def test_a_declaration_is_what_an_agent_asks_for_too() -> None:
    features: Encodes = Features.hashed()
    assert features.encode({}, ["a"]).shape == (1, features.dim)
