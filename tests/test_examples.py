"""The examples in a small size: they run, draw a picture, and do what they say."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from examples import news, prices


@pytest.mark.parametrize(
    ("module", "size"), [(news, ["--visits", "300"]), (prices, ["--customers", "300"])]
)
def test_an_example_runs_and_draws(
    module: object, size: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", ["example", *size, "--out", str(picture)])
    module.main()  # type: ignore[attr-defined]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_everybody_meets_the_same_visits() -> None:
    one, other = (list(news.visits(50, seed=3)) for _ in range(2))
    assert one == other
    assert all(len(visit.articles) == 8 for visit in one)
    assert len({name for visit in news.visits(1500) for name in visit.articles}) > 8


def test_click_rates_are_what_the_text_says() -> None:
    taste = np.ones((len(news.COUNTRIES), len(news.CATEGORIES)))
    visitor = {"country": "FR", "device": "phone", "hour": 3}
    rates = [news.click_rate(visitor, {"category": "arts", "length": n}, taste) for n in (300, 900)]
    assert rates == pytest.approx([0.22, 0.14])
    assert news.click_rate(visitor, {"category": "arts", "length": 300}, 0 * taste) == 0.02


@pytest.mark.thorough
def test_the_agents_of_the_examples_learn() -> None:
    """News: half the loss of random choices. Prices: less loss than any fixed price."""
    lost = news.run(news.new_agent(), news.visits(6000, change_every=3000)).sum()
    assert lost < 0.6 * news.at_random(news.visits(6000, change_every=3000)).sum()
    count = 6000
    agent_lost = prices.run(prices.new_agent(), prices.customers(count))[0].sum()
    fixed = [prices.of_one_price(str(p), prices.customers(count)) for p in prices.PRICES]
    assert agent_lost < min(fixed)
