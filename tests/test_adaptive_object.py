"""AdaptiveLinUCB as an object: options, what it shows, files."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from adaptive_streams import choices
from driftbandits import load
from driftbandits.core.storage import StateFileError
from driftbandits.policies.adaptive.policy import AdaptiveLinUCB


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": 0.0}, "noise"),
        ({"noise": -1.0}, "noise"),
        ({"noise": 1e-170}, "noise"),
        ({"noise": 1e160}, "noise"),
        ({"noise": float("nan")}, "noise"),
        ({"exploration": -0.1}, "exploration"),
        ({"exploration": float("inf")}, "exploration"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AdaptiveLinUCB(dim=2, **options)


def test_what_it_shows() -> None:
    policy = AdaptiveLinUCB(dim=2)
    assert policy.memory == 0.0
    choices(policy)
    assert policy.memories.tolist() == [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, math.inf]
    assert policy.weights.shape == policy.memories.shape
    assert len(policy.detections) >= 1
    assert 250 < policy.detections[0] < 270
    assert 0 < policy.memory <= 500
    assert policy.radius == policy.noise_estimate
    with pytest.raises(ValueError, match=r"\(K, 2\)"):
        policy.widths(np.ones((2, 3)))


def test_memory_counts_rounds_while_nothing_changes() -> None:
    policy, rng = AdaptiveLinUCB(dim=1), np.random.default_rng(0)
    for _ in range(300):
        policy.update([1.0], 1.0 + 0.1 * rng.standard_normal())
    before = policy.memory
    assert 100 < before <= 300
    for _ in range(30):
        policy.update([1.0], -1.0 + 0.1 * rng.standard_normal())
    assert policy.memory < 60


@pytest.mark.parametrize("name", ["copies", "facts", "grams"])
def test_a_file_whose_parts_do_not_fit_is_refused(name: str, tmp_path: Any) -> None:
    policy = AdaptiveLinUCB(dim=2)
    choices(policy)
    arrays = policy.state()
    if name == "copies":
        arrays[name][2, 3, 1] = 99.0
    else:
        arrays[name] = np.concatenate([arrays[name], arrays[name][:1]])
    with pytest.raises(StateFileError, match="fit"):
        AdaptiveLinUCB(dim=2).restore(arrays)
    policy.save(tmp_path / "policy.npz")
    again: Any = load(tmp_path / "policy.npz")
    assert choices(again) == choices(policy)
