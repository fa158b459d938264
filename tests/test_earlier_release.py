"""Files that release 0.1.0 wrote load unchanged.

Its policies had played 60 rounds when they were saved. ``DLinUCB-numpy-1.26.npz``, ``part.npz`` and
the result were written with NumPy 1.26, which added an array called ``allow_pickle`` to archives.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import driftbandits
from driftbandits import AdaptiveLinUCB, DLinUCB, SWLinUCB, load
from driftbandits.core.storage import StateFileError, read_state
from driftbandits.environments import ClippedCube, Environment, Gaussian, Rotation
from driftbandits.simulation import Recording, Result, simulate
from driftbandits.simulation.engine import Plan
from driftbandits.simulation.parts import Parts
from driftbandits.testing.policies.lives import play

OLD = Path(__file__).parent / "data" / "0.1.0"
POLICIES = [path for path in sorted(OLD.glob("*.npz")) if path.stem != "part"]


def test_every_policy_of_that_release_is_here() -> None:
    names = {path.stem.partition("-")[0] for path in POLICIES}
    assert names <= {policy.__name__ for policy in driftbandits.registered().values()}
    assert len(names) == 13


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.stem)
def test_a_policy_loads_and_goes_on(path: Path, tmp_path: Path) -> None:
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays.pop("header.json").tobytes())
    assert ("allow_pickle" in arrays) == ("1.26" in path.name)
    arrays.pop("allow_pickle", None)
    policy = load(path)
    assert type(policy).__name__ == header["policy"]
    assert header["config"].items() <= json.loads(json.dumps(policy.config)).items()
    assert policy.round == 61
    policy.save(tmp_path / "again.npz")
    assert play(load(tmp_path / "again.npz"), 30) == play(load(path), 30)
    if isinstance(policy, AdaptiveLinUCB):
        assert_carried_over(policy, arrays)
        return
    state = policy._state._asdict()
    added = {name: state[name] for name in state.keys() - arrays.keys()}
    assert added.keys() <= {"belated"}  # 0.1.0 kept rewards out of order in ``history``
    assert not any(array.any() for array in added.values())
    for name, array in arrays.items():
        np.testing.assert_array_equal(state[name], array, err_msg=name, strict=True)


def assert_carried_over(policy: AdaptiveLinUCB, old: dict[str, Any]) -> None:
    """Every second expert of the old bank is in the anchored bank, unchanged, at level zero."""
    assert policy.detections == (35,)
    assert policy.level == 0.0
    np.testing.assert_array_equal(policy.memories, [6.0, 24.0, np.inf])
    assert policy.weights.sum() == pytest.approx(1.0)
    grams, moments, kept = old["grams"], old["moments"], [0, 2, 4]
    np.testing.assert_array_equal(policy._state.grams[::2], grams[kept])
    np.testing.assert_array_equal(policy._state.moments[::2], moments[kept])
    policy.advance()  # computes the inverses
    for row, j in enumerate(kept):
        np.testing.assert_allclose(policy._state.thetas[2 * row], old["thetas"][j], atol=0.02)


@pytest.mark.parametrize("name", ["facts", "grams", "counters"])
def test_arrays_that_no_release_saved_are_refused(name: str) -> None:
    with np.load(OLD / "AdaptiveLinUCB.npz") as archive:
        arrays = {key: archive[key] for key in archive.files if key != "header.json"}
    arrays[name] = arrays[name][..., :-1]
    with pytest.raises(StateFileError, match=name):
        AdaptiveLinUCB(dim=3).restore(arrays)


def test_a_result_loads() -> None:
    """It has no checksums, and its final states have the array that NumPy 1.26 added."""
    result = Result.load(OLD / "result")
    frame = pd.read_parquet(OLD / "result" / "regret.parquet")
    np.testing.assert_array_equal(result.regret.ravel(), frame["regret"])
    assert result.policies == ("D-LinUCB", "SW-LinUCB")
    assert result.regret.shape == (2, 2, 3)
    assert result.estimates.shape == (2, 2, 2, 2)
    prefix = "SW-LinUCB/1/"
    state = {k.removeprefix(prefix): v for k, v in result.states.items() if k.startswith(prefix)}
    policy = SWLinUCB(dim=2, window=10)
    policy.restore(state)
    assert policy.round == 41
    assert {name.count("/") for name in result.states} == {2}


def test_a_result_is_replaced_when_the_next_one_is_complete(tmp_path: Path) -> None:
    shutil.copytree(OLD / "result", tmp_path / "result")
    old = Result.load(tmp_path / "result")
    old.save(tmp_path / "result")
    np.testing.assert_array_equal(Result.load(tmp_path / "result").regret, old.regret)
    assert (tmp_path / "result" / "SHA256SUMS").exists()


def test_a_part_is_found(tmp_path: Path) -> None:
    environment = Environment(
        path=Rotation(angle=3.0, rounds=40),
        actions=ClippedCube(dim=2, count=5),
        noise=Gaussian(0.5),
        horizon=40,
    )
    policies = {"D-LinUCB": DLinUCB(dim=2, gamma=0.98), "SW-LinUCB": SWLinUCB(dim=2, window=10)}
    (tmp_path / "run").mkdir()
    shutil.copy(OLD / "part.npz", tmp_path / "run" / "000000.npz")
    found = dict(Parts(tmp_path, "run").finished(Plan(environment, policies, 0, (10, 20, 40))))
    assert set(found) == {0}
    assert found[0].states == {}
    played = simulate(environment, policies, replications=1, record=Recording(regret=(10, 20, 40)))
    np.testing.assert_allclose(found[0].regret, played.regret[:, 0], rtol=1e-9)


def test_a_new_state_is_plain_npz_of_the_old_format(tmp_path: Path) -> None:
    """So release 0.1.0 can read it too."""
    DLinUCB(dim=2, gamma=0.9).save(tmp_path / "policy.npz")
    header, arrays = read_state(tmp_path / "policy.npz")
    with np.load(tmp_path / "policy.npz") as archive:
        assert set(archive.files) == {"header.json", *arrays}
        for name, array in arrays.items():
            np.testing.assert_array_equal(archive[name], array, strict=True)
    assert header["version"] == 1
