"""Prices with sales: one of five prices per customer, and a market that drifts.

A shop sells one product to private and business customers. Whether a customer buys depends on the
price, and what customers are ready to pay drifts over the weeks. The reward of a decision is the
margin in euros if the customer buys within the hour, and 0 otherwise. Run it from a clone, and look
at prices.png:

    python -m examples.prices
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from driftbandits import AdaptiveLinUCB, Agent
from driftbandits.features import Features, OneHot, PerAction

PRICES, COST = (20, 25, 30, 35, 40), 15
SEGMENTS = ["private", "business"]
HOUR = 3600.0


class Customer(NamedTuple):
    """One customer: the segment, and the highest price that the customer would pay."""

    now: float
    segment: str
    limit: float  # buys at any price up to this
    chances: dict[str, float]  # probability of a sale at every price

    def margin(self, price: str) -> float:
        """Expected margin of a price."""
        return self.chances[price] * (int(price) - COST)


def customers(count: int, *, seed: int = 0) -> Iterator[Customer]:
    """A world: what customers would pay goes up and down with the season; business pays more."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        season = 5.0 * math.sin(2 * math.pi * number / count)
        segment = SEGMENTS[rng.integers(2)]
        usual = (34.0 - season) if segment == "business" else (25.0 + season)
        chances = {str(price): 1 / (1 + math.exp((price - usual) / 2.5)) for price in PRICES}
        yield Customer(300.0 * number, segment, usual + rng.logistic(0.0, 2.5), chances)


FEATURES = Features(
    context={"segment": OneHot(SEGMENTS, other=False)},
    per_action=PerAction(slots=len(PRICES), context="segment"),
)


def new_agent() -> Agent:
    """An agent with one coefficient block per price and segment, that waits one hour for a sale.

    An hour is only twelve customers, so little is lost by learning nothing before it is over.
    """
    policy = AdaptiveLinUCB(dim=FEATURES.dim)
    return Agent(features=FEATURES, policy=policy, wait=HOUR, default=0.0, rule="hold")


def run(agent: Agent, stream: Iterator[Customer]) -> tuple[npt.NDArray[np.float64], list[str]]:
    """Sell to all customers; returns expected margins lost against the best price, and prices."""
    lost, asked, sales = [], [], list[tuple[float, str, float]]()
    for customer in stream:
        while sales and sales[0][0] <= customer.now:
            moment, decision, margin = sales.pop(0)
            agent.reward(decision, margin, now=moment)
        offers = [str(price) for price in PRICES]
        choice = agent.decide({"segment": customer.segment}, offers, now=customer.now)
        price = int(choice.action)
        if price <= customer.limit:
            sales.append((customer.now + HOUR / 2, choice.id, float(price - COST)))
        best = max(customer.margin(offer) for offer in offers)
        lost.append(best - customer.margin(choice.action))
        asked.append(choice.action)
    return np.array(lost), asked


def of_one_price(price: str, stream: Iterator[Customer]) -> float:
    """The margin lost by a shop that never changes its price."""
    return sum(max(map(c.margin, c.chances)) - c.margin(price) for c in stream)


def draw(path: Path, asked: list[str], segments: list[str]) -> None:
    """Draw the mean price asked in each segment, over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for segment in SEGMENTS:
        rounds = [n for n, of in enumerate(segments) if of == segment]
        prices = np.array([int(asked[n]) for n in rounds], dtype=float)
        width = max(1, len(prices) // 40)
        smooth = np.convolve(prices, np.ones(width) / width, mode="valid")
        axes.plot(rounds[width - 1 :], smooth, label=segment)
    axes.set(xlabel="customers", ylabel="price asked, in euros")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Sell, compare with a constant price, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--customers", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=Path("prices.png"))
    options: Any = parser.parse_args()
    lost, asked = run(new_agent(), customers(options.customers))
    fixed = {str(p): of_one_price(str(p), customers(options.customers)) for p in PRICES}
    best = min(fixed, key=lambda price: fixed[price])
    print(f"euros lost: {lost.sum():.0f} by the agent, {fixed[best]:.0f} by always asking {best}")
    print("prices asked:", dict(sorted(Counter(asked).items())))
    draw(options.out, asked, [c.segment for c in customers(options.customers)])
    print(f"picture: {options.out}")


if __name__ == "__main__":
    main()
