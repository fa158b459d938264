"""Values in sentences."""

from __future__ import annotations

import pandas as pd
import pytest

from driftbandits.logs import Value
from driftbandits.logs.estimators import ACCEPTED, FULL, WATCHED
from driftbandits.logs.saying import say_lost, say_values

COLUMNS = ["policy", "period", "estimator", "estimate", "low", "high"]


def told(*rows: tuple[object, ...], watched: bool = False, **accepted: float) -> tuple[str, ...]:
    return say_values(pd.DataFrame(rows, columns=COLUMNS), accepted, watched=watched)


def test_each_policy_has_a_sentence_and_the_log_the_last() -> None:
    assert told(
        ("u", "all", "IPS", 0.3, 0.2, 0.4),
        ("u", "all", "DR", 0.25, 0.2, 0.3),
        ("u", "2024-01-01", "DR", 9.0, 8.0, 10.0),
        ("logging", "all", "mean", 0.1, 0.05, 0.15),
    ) == (
        "u would have earned 0.25 [0.2, 0.3] per decision.",
        "The log itself earned 0.1 [0.05, 0.15].",
    )


def test_a_policy_that_learns_says_what_it_learned_from() -> None:
    replayed = ("D", "all", "DR", 0.2, 0.1, 0.3)
    (live,) = told(replayed, ("D", "all", FULL, 0.4, 0.2, 0.6), D=0.2)
    assert live.startswith("D would have earned 0.4 [0.2, 0.6] per decision live, by a model")
    assert "0.2 [0.1, 0.3] in replay, with 20.0% of its rewards" in live
    (short,) = told(replayed, D=0.2)
    assert short.startswith("What D would have earned live is not told; it earned 0.2")
    (watching,) = told(replayed, watched=True, D=1.0)
    assert "having watched the logger, is worth 0.2 [0.1, 0.3]" in watching


def test_what_cannot_be_told_is_said() -> None:
    nan = float("nan")
    (none,) = told(("u", "all", "DR", nan, nan, nan))
    assert none == "What u would have earned cannot be told from this log."
    (bare,) = told(("u", "all", "DR", -0.5, nan, nan))
    assert bare == "u would have earned −0.5 (no interval) per decision."


def value(*rows: tuple[object, ...], **fields: object) -> Value:
    """A value with these rows; the logger earned 0.2 less."""
    base = {"weights": pd.DataFrame(), "lost": (0.2, 0.1, 0.3), "acceptance": {}}
    words = {"refused": (), "warnings": ()}
    table = pd.DataFrame(rows, columns=COLUMNS)
    return Value(table=table, **{**base, **words, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", ["", ACCEPTED, WATCHED])
def test_a_policy_with_the_models_word_alone_is_not_among_the_best(ending: str) -> None:
    nan = float("nan")
    found = value(
        ("u", "all", "DM", 0.3, 0.2, 0.4),
        ("u", "all", "DR", 0.3, 0.2, 0.4),
        ("D", "all", f"DM{ending}", 0.3, 0.2, 0.4),
        ("D", "all", f"DR{ending}", nan, nan, nan),
    )
    assert found.sentences[-1].endswith("chosen on the other periods: u.")


def test_doubts_are_told_by_name_and_not_by_the_words_of_a_refusal() -> None:
    rows = (("u", "all", "DR", 0.3, 0.2, 0.4), ("t", "all", "DR", 0.3, 0.2, 0.4))
    first, second, _ = value(*rows, refused=("t: a title",), doubted=("u",)).sentences
    assert "This cannot be trusted" in first
    assert "This cannot be trusted" not in second


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ((0.2, 0.1, 0.3), "The logger lost 0.2 [0.1, 0.3] per decision against the best"),
        ((-0.2, -0.3, -0.1), "The logger earned 0.2 [0.1, 0.3] more per decision than the best"),
        ((0.1, -0.1, 0.3), "It is not clear that the logger lost anything (0.1 [−0.1, 0.3]"),
    ],
)
def test_what_the_logger_lost_has_a_sign_in_words(
    lost: tuple[float, float, float], words: str
) -> None:
    assert say_lost(lost, "a, b").startswith(words)
