"""News with clicks: from dictionaries to decisions, with clicks that come late or never.

A site shows one of eight articles to each visitor. Visitors' taste depends on country and category,
and changes from time to time; articles come and go. A click comes a minute later on average, or
never. The agent knows none of this. Run it from a clone, and look at news.png:

    python -m examples.news
"""

from __future__ import annotations

import argparse
import heapq
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from driftbandits import AdaptiveLinUCB, Agent
from driftbandits.features import Cyclic, Features, Number, OneHot

Values = dict[str, Any]

COUNTRIES, DEVICES = ["FR", "DE", "UK"], ["phone", "desktop"]
CATEGORIES = ["sport", "politics", "arts", "science"]
WAIT = 600.0  # seconds after which no click is expected


class Visit(NamedTuple):
    """One visitor: what the site sees, and how the visitor would react."""

    now: float
    context: Values
    articles: dict[str, Values]
    rates: dict[str, float]  # click rate of every article
    luck: float  # a click comes if this is below the rate
    delay: float  # seconds until the click

    def clicks(self, article: str) -> bool:
        """Whether this visitor clicks on the article, if it is shown."""
        return self.luck < self.rates[article]


def visits(count: int, *, seed: int = 0, change_every: int = 8000) -> Iterator[Visit]:
    """A world: articles stay for 2,000 visits on average; taste changes every ``change_every``."""
    rng = np.random.default_rng(seed)
    now, made, articles = 0.0, 0, dict[str, Values]()
    taste = np.zeros((len(COUNTRIES), len(CATEGORIES)))
    for number in range(count):
        if number % change_every == 0:
            taste = rng.beta(0.7, 1.4, taste.shape)
        while len(articles) < 8 or rng.random() < 1 / 250:
            if len(articles) == 8:
                del articles[next(iter(articles))]
            made += 1
            articles[f"a{made}"] = {
                "category": CATEGORIES[made % 4],
                "length": int(rng.uniform(200, 1400)),
            }
        now += float(rng.exponential(2.0))
        context = {
            "country": COUNTRIES[rng.integers(3)],
            "device": DEVICES[rng.integers(2)],
            "hour": int(now / 3600) % 24,
        }
        rates = {name: click_rate(context, row, taste) for name, row in articles.items()}
        yield Visit(now, context, dict(articles), rates, rng.random(), rng.exponential(60.0))


def click_rate(context: Values, article: Values, taste: npt.NDArray[np.float64]) -> float:
    """2%, plus up to 20% if the country likes the category; less for long articles on phones."""
    liked = taste[COUNTRIES.index(context["country"]), CATEGORIES.index(article["category"])]
    long = article["length"] > 800
    fits = 0.6 if context["device"] == "phone" and long else 1.0
    return float(0.02 + 0.2 * liked * fits)


# The site knows its countries, devices and categories, so ``other=False``: unknown ones are errors.
FEATURES = Features(
    context={
        "country": OneHot(COUNTRIES, other=False),
        "device": OneHot(DEVICES, other=False),
        "hour": Cyclic(24),
    },
    action={
        "category": OneHot(CATEGORIES, other=False),
        "length": Number(centre=800, spread=600),
    },
)


def new_agent(features: Features = FEATURES) -> Agent:
    """An agent that assumes "no click" after every decision, until a click comes."""
    policy = AdaptiveLinUCB(dim=features.dim)
    return Agent(features=features, policy=policy, wait=WAIT, default=0.0, rule="assume")


def run(agent: Agent, stream: Iterator[Visit]) -> npt.NDArray[np.float64]:
    """Let the agent serve all visitors; returns the click rate lost per visit against the best."""
    coming: list[tuple[float, str]] = []  # when a click will arrive, and for which decision
    lost = []
    for visit in stream:
        while coming and coming[0][0] <= visit.now:
            moment, decision = heapq.heappop(coming)
            agent.reward(decision, 1.0, now=moment)
        choice = agent.decide(visit.context, visit.articles, now=visit.now)
        if visit.clicks(choice.action):
            heapq.heappush(coming, (visit.now + visit.delay, choice.id))
        lost.append(max(visit.rates.values()) - visit.rates[choice.action])
    return np.array(lost)


def at_random(stream: Iterator[Visit]) -> npt.NDArray[np.float64]:
    """The click rate lost per visit by a site that shows random articles."""
    return np.array([max(v.rates.values()) - np.mean(list(v.rates.values())) for v in stream])


def draw(path: Path, agent_lost: Any, random_lost: Any, change_every: int) -> None:
    """Draw the clicks lost, relative to always showing the best article."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(np.cumsum(random_lost), label="any article", color="0.6")
    axes.plot(np.cumsum(agent_lost), label="the agent", color="C0")
    for change in range(change_every, len(agent_lost), change_every):
        axes.axvline(change, color="0.8", linestyle=":", zorder=0)
    axes.set(xlabel="visits (dotted: taste changes)", ylabel="clicks lost")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Play, print what the agent has learned, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--visits", type=int, default=32_000)
    parser.add_argument("--out", type=Path, default=Path("news.png"))
    options = parser.parse_args()
    every = max(1, options.visits // 4)
    agent = new_agent()
    lost = run(agent, visits(options.visits, change_every=every))
    chance = at_random(visits(options.visits, change_every=every))
    print(f"clicks lost: {lost.sum():.0f} by the agent, {chance.sum():.0f} by showing any article")
    print(agent.explain())
    draw(options.out, lost, chance, every)
    print(f"picture: {options.out}")


if __name__ == "__main__":
    main()
