"""Settings as data: TOML becomes an experiment, with overrides and clear errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from driftbandits import DLinUCB, OracleRestartLinUCB, SWLinUCB
from driftbandits.environments import Kronecker, RandomWalk
from driftbandits.experiments import (
    DLinUCBAsPublished,
    SettingsError,
    build,
    built_in,
    override,
    read,
)


def tiny(**changes: Any) -> dict[str, Any]:
    settings = {**built_in("abrupt"), "horizon": 60, "replications": 2}
    return {**settings, **changes}


def test_the_abrupt_experiment_is_the_papers() -> None:
    experiment = build(built_in("abrupt"))
    assert experiment.environment.horizon == 6000
    assert experiment.environment.change_points == (1001, 2001, 3001)
    policy = experiment.policies["D-LinUCB"]
    assert isinstance(policy, DLinUCB)
    budget = 4 + np.sqrt(2)
    assert policy.gamma == pytest.approx(1 - (budget / 12000) ** (2 / 3), rel=1e-12)
    window = experiment.policies["SW-LinUCB"]
    assert isinstance(window, SWLinUCB)
    assert window.window == round((12000 / budget) ** (2 / 3))
    oracle = experiment.policies["LinUCB-OR"]
    assert isinstance(oracle, OracleRestartLinUCB)
    assert oracle.change_points == (1001, 2001, 3001)


def test_run_writes_summaries(tmp_path: Path) -> None:
    build(tiny()).run(tmp_path)
    summary = pd.read_csv(tmp_path / "abrupt" / "summary.csv")
    assert list(summary.columns) == ["policy", "mean", "se", "q05", "q95"]
    assert list(summary["policy"]) == [entry["policy"] for entry in built_in("abrupt")["policies"]]
    detections = pd.read_csv(tmp_path / "abrupt" / "detections.csv")
    assert list(detections.columns) == ["policy", "replication", "round"]


def test_overrides_reach_any_setting() -> None:
    settings = override(built_in("abrupt"), "environment.noise.level", 0.25)
    settings = override(settings, "policies", ["LinUCB", {"policy": "D-LinUCB", "gamma": 0.9}])
    experiment = build(override(settings, "horizon", 1500))
    assert experiment.environment.noise.level == 0.25
    assert experiment.environment.change_points == (1001,)
    policy = experiment.policies["D-LinUCB"]
    assert isinstance(policy, DLinUCB)
    assert policy.gamma == 0.9
    assert policy.noise == 0.25


def test_an_experiment_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        """
        horizon = 50
        replications = 2
        policies = ["D-LinUCB", "Random"]
        [environment]
        path = { kind = "random-walk", step = 0.1, dim = 6 }
        noise = { kind = "bounded", level = 0.2 }
        [environment.actions]
        kind = "kronecker"
        arms = 2
        contexts = { kind = "sphere", dim = 3, count = 1 }
        """
    )
    experiment = build(read(file))
    assert experiment.name == "mine"
    assert isinstance(experiment.environment.path, RandomWalk)
    assert isinstance(experiment.environment.actions, Kronecker)
    assert experiment.run(tmp_path).regret.shape[:2] == (2, 2)


def test_clicks_are_a_noise_in_toml(tmp_path: Path) -> None:
    file = tmp_path / "clicks.toml"
    file.write_text(
        """
        horizon = 50
        policies = ["D-LinUCB"]
        [environment]
        path = { kind = "piecewise-constant", values = [[0.1, 0.3]] }
        actions = { kind = "canonical-basis", dim = 2 }
        noise = { kind = "bernoulli" }
        """
    )
    experiment = build(read(file))
    policy: Any = experiment.policies["D-LinUCB"]
    assert policy.noise == 0.5
    (block,) = experiment.environment.blocks(seed=0, replication=0)
    rewards = block.means + block.noise
    np.testing.assert_allclose(rewards * (1 - rewards), 0.0, atol=1e-15)


def test_two_configurations_of_one_policy() -> None:
    policies = [{"policy": "D-LinUCB", "gamma": g, "label": f"gamma {g}"} for g in (0.9, 0.99)]
    assert list(build(tiny(policies=policies)).policies) == ["gamma 0.9", "gamma 0.99"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizn": 5}, "horizn"),
        ({"policies": []}, "policies"),
        ({"policies": ["Nobody"]}, "Nobody"),
        ({"policies": [{"policy": "LinUCB", "gamma": 0.9}]}, "gamma"),
        ({"policies": ["LinUCB", "LinUCB"]}, "two policies"),
        ({"policies": [{"policy": "D-LinUCB", "gamma": 2.0}]}, "gamma must lie"),
        ({"environment": {"path": {}}}, "environment"),
        ({"rounds": "often"}, "rounds"),
        ({"problem": {"color": 1}}, "color"),
    ],
)
def test_wrong_settings_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(tiny(**changes))


def test_a_missing_setting_is_named() -> None:
    settings = built_in("slow")
    del settings["horizon"]
    with pytest.raises(SettingsError, match="horizon"):
        build(settings)


def test_broken_toml_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "broken.toml"
    file.write_text("horizon = ")
    with pytest.raises(SettingsError, match=r"broken\.toml"):
        read(file)


def test_as_published_is_the_released_recursion() -> None:
    """Ṽ ← γ² V_new + a aᵀ + (1 − γ²) λI, written out."""
    gamma, ridge, dim = 0.9, 0.5, 3
    rng = np.random.default_rng(0)
    policy = DLinUCBAsPublished(dim=dim, gamma=gamma, ridge=ridge)
    eye = np.eye(dim)
    v, v_squared, b = ridge * eye, ridge * eye, np.zeros(dim)
    for _ in range(30):
        actions = rng.uniform(-0.5, 0.5, (4, dim))
        inverse = np.linalg.inv(v)
        widths = np.sqrt(np.einsum("ki,ij,kj->k", actions, inverse @ v_squared @ inverse, actions))
        np.testing.assert_allclose(policy.widths(actions), widths, rtol=1e-10)
        np.testing.assert_allclose(policy.theta, inverse @ b, rtol=1e-10, atol=1e-14)
        a, reward = actions[policy.select(actions)], rng.normal()
        v = gamma * v + np.outer(a, a) + (1 - gamma) * ridge * eye
        v_squared = gamma**2 * v + np.outer(a, a) + (1 - gamma**2) * ridge * eye
        b = gamma * b + reward * a
        policy.update(a, reward)
