"""Features: encode a visit from dictionaries, compared with NumPy by hand and scikit-learn.

A visit has 10 features, an article has 3, and there are 50 articles. Every feature of the visit is
crossed with every feature of the article: 270 coordinates. An agent decides and is rewarded on a
smaller site, with 8 articles and 54 coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import numpy as np
from sklearn.feature_extraction import DictVectorizer, FeatureHasher

from driftbandits import AdaptiveLinUCB, Agent, DLinUCB, Policy
from driftbandits.features import Cyclic, Features, Hashed, Number, OneHot

from .measure import Array, Row, Say, at_most, interleaved, summary

NAME = "features"
COUNT = 50

COUNTRIES, DEVICES, SYSTEMS = ["FR", "DE", "US", "UK"], ["phone", "desktop", "tablet"], ["ios", "x"]
LANGUAGES, CATEGORIES = ["fr", "de", "en"], ["sport", "news", "money", "arts"]

FEATURES = Features(
    context={
        "age": Number(40, 25),
        "country": OneHot(COUNTRIES),
        "device": OneHot(DEVICES),
        "hour": Cyclic(24),
        "language": OneHot(LANGUAGES),
        "new": OneHot([False, True], other=False),
        "region": Hashed(4),
        "system": OneHot([*SYSTEMS, "android"]),
        "visits": Number(5, 10),
        "weekday": Cyclic(7),
    },
    action={
        "category": OneHot(CATEGORIES),
        "length": Number(800, 600),
        "paid": OneHot([False, True], other=False),
    },
)

SMALL = Features(
    context={
        "country": OneHot(COUNTRIES[:2]),
        "device": OneHot(DEVICES[:2]),
        "hour": Cyclic(24),
    },
    action={"category": OneHot(CATEGORIES[:3]), "length": Number(800, 600)},
)

Values = dict[str, Any]
Articles = dict[str, Values]
Encode = Callable[[Values, Articles], object]


def run(*, quick: bool, say: Say) -> list[Row]:
    """Time per visit for each way to encode it, and ratios to ours."""
    visits = 50 if quick else 200
    say(f"features: d = {FEATURES.dim}, K = {COUNT}, {visits} visits")
    _check_agreement()
    contexts, pool = _visits(visits), _articles(4 * COUNT)
    again = [_first(pool)] * visits
    known = _subsets(pool, visits)
    new = [
        {id: {**row, "length": n + visit} for n, (id, row) in enumerate(_first(pool).items())}
        for visit in range(visits)
    ]
    works = {
        "the same articles again": _work(FEATURES.encode, contexts, again),
        "the same, in new dictionaries": _work(_in_new_dictionaries, contexts, again),
        "known articles, another set every time": _work(FEATURES.encode, contexts, known),
        "articles that change every time": _work(FEATURES.encode, contexts, new),
        "NumPy by hand": _work(by_hand, contexts, again),
        "DictVectorizer": _work(_vectorizer().transform_visit, contexts, again),
        "FeatureHasher": _work(_Rows(FeatureHasher(FEATURES.dim)).transform_visit, contexts, again),
        "agent with AdaptiveLinUCB": _served(AdaptiveLinUCB(dim=SMALL.dim), visits),
        "agent with D-LinUCB": _served(DLinUCB(dim=SMALL.dim, gamma=0.999, noise=0.3), visits),
    }
    measured = interleaved(works, repetitions=5 if quick else 31)
    times = {name: time.cpu / visits * 1e6 for name, time in measured.items()}
    # If other processes share the core, they also use its cache; processor time does not show this.
    waited = np.median([time.wall / time.cpu for time in measured.values()])
    return _rows(times, judged=bool(waited < 1.1))


def _rows(times: dict[str, Array], *, judged: bool) -> list[Row]:
    aims = {
        "the same articles again": at_most(20),
        "known articles, another set every time": at_most(40),
        "agent with AdaptiveLinUCB": at_most(60),
        "agent with D-LinUCB": at_most(60),
    }
    others = ("NumPy by hand", "DictVectorizer", "FeatureHasher")
    rows = [
        summary(
            NAME,
            name if name in others else f"driftbandits, {name}",
            "decide and reward" if name.startswith("agent") else "one visit",
            time,
            unit="µs",
            aim=aims.get(name),
            judged=judged,
        )
        for name, time in times.items()
    ]
    ours = times["known articles, another set every time"]
    return rows + [
        summary(NAME, f"{name} / driftbandits, known articles", "ratio", times[name] / ours)
        for name in others
    ]


def _work(encode: Encode, contexts: list[Values], sets: list[Articles]) -> Callable[[], None]:
    def encode_all() -> None:
        for context, articles in zip(contexts, sets, strict=True):
            encode(context, articles)

    return encode_all


def _served(policy: Policy, visits: int) -> Callable[[], None]:
    """Decisions of an agent, each rewarded before the next; one in ten gets a click."""
    agent = Agent(features=SMALL, policy=policy, wait=100.0)
    small = {"country": "FR", "device": "phone"}
    contexts = [{**small, "hour": number % 24} for number in range(visits)]
    rows = [{"category": CATEGORIES[n % 3], "length": 300 + 100 * n} for n in range(8)]
    articles = {f"a{n}": row for n, row in enumerate(rows)}

    def serve() -> None:
        for number, context in enumerate(contexts):
            now = float(agent.decided)
            choice = agent.decide(context, articles, now=now)
            agent.reward(choice.id, float(number % 10 == 0), now=now)

    return serve


def _in_new_dictionaries(context: Values, articles: Articles) -> Array:
    """Encode copies of equal content, as a web server receives them; copying is included."""
    return FEATURES.encode(context, {id: dict(row) for id, row in articles.items()})


def _visits(count: int) -> list[Values]:
    random = np.random.default_rng(1)
    return [
        {
            "age": float(random.uniform(15, 80)),
            "country": COUNTRIES[random.integers(4)],
            "device": DEVICES[random.integers(3)],
            "hour": int(random.integers(24)),
            "language": LANGUAGES[random.integers(3)],
            "new": bool(random.integers(2)),
            "region": f"region {random.integers(30)}",
            "system": SYSTEMS[random.integers(2)],
            "visits": int(random.integers(40)),
            "weekday": int(random.integers(7)),
        }
        for _ in range(count)
    ]


def _articles(count: int) -> Articles:
    random = np.random.default_rng(2)
    return {
        f"a{n}": {
            "category": CATEGORIES[random.integers(4)],
            "length": int(random.integers(200, 2000)),
            "paid": bool(random.integers(2)),
        }
        for n in range(count)
    }


def _first(pool: Articles) -> Articles:
    return {id: pool[id] for id in list(pool)[:COUNT]}


def _subsets(pool: Articles, count: int) -> list[Articles]:
    random = np.random.default_rng(3)
    ids = list(pool)
    return [
        {ids[n]: pool[ids[n]] for n in random.choice(len(ids), COUNT, replace=False)}
        for _ in range(count)
    ]


def by_hand(context: Values, articles: Articles) -> Array:
    """Hand-written NumPy code for exactly this declaration, without checks."""
    x = np.array(
        [
            min(max((context["age"] - 40) / 25, -1.0), 1.0),
            *_one_hot(context["country"], COUNTRIES),
            *_one_hot(context["device"], DEVICES),
            *_angle(context["hour"], 24),
            *_one_hot(context["language"], LANGUAGES),
            *((0.0, 1.0) if context["new"] else (1.0, 0.0)),
            *REGIONS[context["region"]],
            *_one_hot(context["system"], [*SYSTEMS, "android"]),
            min(max((context["visits"] - 5) / 10, -1.0), 1.0),
            *_angle(context["weekday"], 7),
        ]
    )
    z = np.array(
        [
            [
                *_one_hot(article["category"], CATEGORIES),
                min(max((article["length"] - 800) / 600, -1.0), 1.0),
                *((0.0, 1.0) if article["paid"] else (1.0, 0.0)),
            ]
            for article in articles.values()
        ]
    )
    crossed = np.einsum("i,kj->kij", x, z).reshape(len(z), -1)
    level = np.broadcast_to(x, (len(z), len(x)))
    return np.concatenate([np.ones((len(z), 1)), z, level, crossed], axis=1) / math.sqrt(44)


REGIONS = {f"region {n}": Hashed(4).encode(f"region {n}") for n in range(30)}


def _one_hot(value: str, values: list[str]) -> list[float]:
    vector = [0.0] * (len(values) + 1)
    vector[values.index(value) if value in values else len(values)] = 1.0
    return vector


def _angle(value: float, period: float) -> tuple[float, float]:
    phase = 2 * math.pi * value / period
    return math.sin(phase), math.cos(phase)


class _Rows:
    """scikit-learn's way: one dictionary per article, from names to nonzero values."""

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def transform_visit(self, context: Values, articles: Articles) -> Array:
        dense: Array = self.transformer.transform(
            [self.row(context, article) for article in articles.values()]
        ).toarray()
        return dense

    @staticmethod
    def row(context: Values, article: Values) -> dict[str, float]:
        left, right = dict(_named(context)), dict(_named(article))
        crossed = {f"{u}*{v}": a * b for u, a in left.items() for v, b in right.items()}
        return {"1": 1.0, **left, **right, **crossed}


def _named(row: Values) -> Iterator[tuple[str, float]]:
    for name, value in row.items():
        if name in ("hour", "weekday"):
            sin, cos = _angle(value, 24 if name == "hour" else 7)
            yield f"{name}:sin", sin
            yield f"{name}:cos", cos
        elif isinstance(value, (str, bool)):
            yield f"{name}={value}", 1.0
        else:
            yield name, value / 1000


def _vectorizer() -> _Rows:
    """A DictVectorizer fitted on all possible values."""
    contexts, pool = _visits(1000), list(_articles(4 * COUNT).values())
    examples = [_Rows.row(c, a) for c, a in zip(contexts, cycle(pool), strict=False)]
    return _Rows(DictVectorizer().fit(examples))


def _check_agreement() -> None:
    """Check that `by_hand` gives the same vectors."""
    articles = _articles(COUNT)
    for context in _visits(20):
        np.testing.assert_allclose(
            FEATURES.encode(context, articles), by_hand(context, articles), rtol=1e-9, atol=1e-12
        )
