"""The study of clicks: the reports of its rules, and the bias of reporting zeros last."""

from __future__ import annotations

import numpy as np
import pytest
from studies import clicks

from driftbandits import LinUCB


@pytest.mark.parametrize("rule", [clicks.at_once, *clicks.RULES.values()])
@pytest.mark.parametrize(("click", "delay"), [(0.0, 0.3), (1.0, 0.3), (1.0, clicks.TIMEOUT + 1.0)])
def test_every_decision_is_reported_in_the_end(
    rule: clicks.Rule, click: float, delay: float
) -> None:
    """The final reward is correct; a click after the timeout counts as none, except for `at_once`.

    An earlier report is amended, not repeated.
    """
    reports = list(rule(7, click, delay))
    told = [report.old for _, report in reports]
    assert told == [None, *(report.reward for _, report in reports[:-1])]
    known = click if delay < clicks.TIMEOUT or rule is clicks.at_once else 0.0
    assert [report.visit for _, report in reports] == [7] * len(reports)
    assert reports[-1][1].reward == known
    assert all(0 <= later <= clicks.TIMEOUT for later, _ in reports)


@pytest.mark.parametrize(("rule", "biased"), [(clicks.held, False), (clicks.zeros_last, True)])
def test_zeros_that_come_last_make_anything_new_look_perfect(
    rule: clicks.Rule, biased: bool
) -> None:
    """One article, after two timeouts of 500 visits: the mean reported reward and the true rate.

    Held rewards are a fair sample of 500 visits: within four standard errors of the rate.
    """
    rate, delay = 0.1, 100
    visits = 2 * clicks.TIMEOUT * delay
    rng = np.random.default_rng(0)
    reported = []
    for visit in range(visits):
        for later, report in rule(visit, float(rng.random() < rate), rng.exponential()):
            if visit + delay * later < visits:
                reported.append(report.reward)
    error = np.sqrt(rate * (1 - rate) / (visits / 2))
    assert (np.mean(reported) - rate > 4 * error) == biased


def test_regret_counts_what_the_best_article_would_have_brought() -> None:
    drawn = clicks.news(0, 300)
    best = drawn.rates.argmax(axis=1)
    assert (best == best[0]).all()
    policy = LinUCB(dim=len(clicks.RATES), noise=0.3)
    regret = clicks.play(policy, clicks.held, drawn, delay=10)
    assert 0 < regret < 300 * (clicks.RATES[-1] - clicks.RATES[0])
    assert policy.round == 301
