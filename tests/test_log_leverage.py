"""Extreme rows get less weight, by their contexts only, and do not look like drift."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from driftbandits.logs import Log
from driftbandits.logs.leverage import Leverage


def test_weights_are_their_definition_and_do_not_depend_on_cutting() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_t(2, size=(300, 2))
    whole, parts = Leverage(2), Leverage(2)
    found = whole(vectors)
    np.testing.assert_allclose(
        np.concatenate([parts(piece) for piece in np.array_split(vectors, 7)]), found, rtol=1e-12
    )
    for i in (0, 50, 299):
        scale = (100.0 + (vectors[:i] ** 2).sum(axis=0)) / (100.0 + i)
        size = (vectors[i] ** 2 / scale).sum()
        assert found[i] == pytest.approx(min(1.0, 18.0 / size) ** 2)


def test_ordinary_rows_have_the_weight_one() -> None:
    rng = np.random.default_rng(1)
    assert (Leverage(4)(rng.normal(size=(5000, 4))) == 1.0).mean() > 0.999


def test_a_stationary_log_with_an_extreme_row_does_not_drift() -> None:
    # Rewards saturate, so an extreme row is predicted badly and distorts a linear fit.
    rng = np.random.default_rng(2)
    x = rng.normal(size=3000)
    x[300] = 200.0
    reward = np.tanh(x) + 0.1 * rng.normal(size=3000)
    frame = pd.DataFrame({"time": np.arange(3000.0), "x_0": 1.0, "x_1": x, "reward": reward})
    log = Log.open(frame, action="x_")
    found = log.drift(simulations=99)
    assert not found.drifting
    assert np.isinf(log.memory().best) or log.memory().best > 1000
