"""The engine: the same numbers in every way of running, and complete results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from draws import Rows
from driftbandits import (
    DLinUCB,
    DynamicLinUCB,
    LinUCB,
    OracleRestartLinUCB,
    Policy,
    Random,
    SWLinUCB,
)
from driftbandits.core.arrays import Array
from driftbandits.environments import (
    Catalogue,
    ClippedCube,
    Environment,
    Gaussian,
    Heteroscedastic,
    PiecewiseConstant,
)
from driftbandits.experiments import DLinUCBAsPublished
from driftbandits.simulation import Recording, Result, ResultFileError, even_rounds, simulate

HORIZON = 700


def environment(**changes: Any) -> Environment:
    parts: dict[str, Any] = {
        "path": PiecewiseConstant([[1.0, 0.0], [-1.0, 0.0]], (301,)),
        "actions": ClippedCube(dim=2, count=6),
        "noise": Gaussian(0.3),
        "horizon": HORIZON,
    }
    return Environment(**{**parts, **changes})


def policies() -> dict[str, Policy]:
    return {
        "D-LinUCB": DLinUCB(dim=2, gamma=0.98, noise=0.3),
        "SW-LinUCB": SWLinUCB(dim=2, window=90, noise=0.3),
        "dLinUCB": DynamicLinUCB(dim=2, noise=0.3),
        "LinUCB": LinUCB(dim=2, noise=0.3),
        "LinUCB-OR": OracleRestartLinUCB(dim=2, noise=0.3, change_points=(301,)),
        "Random": Random(dim=2),
    }


class Wrapped:
    """An object with select and update: here a policy, played round by round from Python."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def select(self, actions: Array) -> int:
        return self.policy.select(actions)

    def update(self, action: Array, reward: float) -> None:
        self.policy.update(action, reward)


def small(**options: Any) -> Result:
    record = Recording(**{"regret": (100, 300, 700), **options.pop("record", {})})
    return simulate(environment(), policies(), record=record, **{"replications": 4, **options})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"actions": Catalogue([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]])},
        {"noise": Heteroscedastic(lambda a: 0.3 * np.abs(a[:, 0, :]), level=0.3)},
    ],
    ids=["fresh", "fixed", "heteroscedastic"],
)
def test_compiled_loop_and_online_object_play_alike(changes: dict[str, Any]) -> None:
    source = environment(**changes)
    by_hand = {
        name: lambda replication, policy=policy: Wrapped(policy.fresh(replication))
        for name, policy in policies().items()
    }
    compiled = simulate(source, policies(), replications=2)
    online = simulate(source, by_hand, replications=2)
    np.testing.assert_array_equal(compiled.regret, online.regret)


def test_regret_is_what_its_definition_says() -> None:
    """Replayed from the blocks with the object's own choices, without the engine."""
    result = small(replications=1)
    policy = policies()["D-LinUCB"]
    total, at = 0.0, {}
    for block in environment().blocks(seed=0, replication=0):
        for t in range(block.rounds):
            actions = block.actions[t].T
            chosen = policy.select(actions)
            values = actions @ block.parameters[t]
            total += values.max() - values[chosen]
            policy.update(actions[chosen], values[chosen] + block.noise[t, 0])
            at[block.first + t] = total
    expected = [at[t] for t in (100, 300, 700)]
    np.testing.assert_allclose(result.regret[0, 0], expected, rtol=1e-10)


def test_workers_change_no_bytes(tmp_path: Path) -> None:
    for workers in (1, 2, 5):
        small(workers=workers, folder=tmp_path / str(workers), record={"estimates": (50, 700)})
    names = sorted(path.name for path in (tmp_path / "1").iterdir())
    assert "regret.parquet" in names
    assert "estimates.parquet" in names
    for name in names:
        reference = (tmp_path / "1" / name).read_bytes()
        assert (tmp_path / "2" / name).read_bytes() == reference
        assert (tmp_path / "5" / name).read_bytes() == reference


def test_a_further_policy_changes_no_other_number() -> None:
    few = {name: policies()[name] for name in ("LinUCB", "Random")}
    alone = simulate(environment(), few, replications=3)
    together = simulate(environment(), policies(), replications=3)
    for name in few:
        np.testing.assert_array_equal(alone.final(name), together.final(name))


def test_random_differs_between_replications() -> None:
    assert len(np.unique(small().final("Random"))) == 4


def test_estimates_detections_and_path_are_recorded() -> None:
    result = small(record={"estimates": (1, 300, 301, 700)})
    np.testing.assert_array_equal(result.path[:, 0], [1.0, 1.0, -1.0, -1.0])
    linear = result.estimates[:5]
    assert np.isfinite(linear).all()
    assert np.isnan(result.estimates[5]).all()
    frame = result.detections_frame()
    assert set(frame["policy"]) == {"dLinUCB"}
    assert frame["round"].between(301, 700).all()
    assert sorted(frame["replication"].unique()) == [0, 1, 2, 3]


def test_final_states_go_on() -> None:
    """A policy restored from the final state equals one that was played to the end by hand."""
    result = small(record={"states": True}, replications=2)
    restored = policies()["D-LinUCB"].fresh()
    prefix = "D-LinUCB/1/"
    arrays = {k.removeprefix(prefix): v for k, v in result.states.items() if k.startswith(prefix)}
    restored.restore(arrays)
    assert restored.round == HORIZON + 1
    theta = small(replications=2, record={"estimates": (700,)}).estimates[0, 1, 0]
    assert isinstance(restored, DLinUCB)
    np.testing.assert_array_equal(restored.theta, theta)


def test_coverage_is_recorded() -> None:
    source = environment(path=PiecewiseConstant([[1.0, 0.0]]))
    result = simulate(
        source,
        {"LinUCB": LinUCB(dim=2, noise=0.3), "blind": LinUCB(dim=2, noise=0.0, theta_bound=0.0)},
        replications=5,
        record=Recording(coverage=True),
    )
    frame = result.coverage_frame()
    assert set(frame.loc[frame["policy"] == "LinUCB", "at_all_rounds"]) == {1.0}
    assert set(frame.loc[frame["policy"] == "blind", "at_round"]) == {0.0}


def test_save_and_load_keep_everything(tmp_path: Path) -> None:
    result = small(record={"estimates": (50, 700), "states": True})
    result.save(tmp_path / "out")
    loaded = Result.load(tmp_path / "out")
    assert loaded.config == result.config
    assert loaded.policies == result.policies
    for name in ("regret", "regret_rounds", "estimates", "estimate_rounds", "path", "detections"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(result, name))
    assert loaded.states.keys() == result.states.keys()


def test_tables_open_without_this_package(tmp_path: Path) -> None:
    small(folder=tmp_path)
    frame = pd.read_parquet(tmp_path / "regret.parquet")
    assert list(frame.columns) == ["policy", "replication", "round", "regret"]
    metadata = pq.read_schema(tmp_path / "regret.parquet").metadata
    assert b'"seed": 0' in metadata[b"driftbandits"]
    assert b'"numba"' in metadata[b"driftbandits"]


def test_summaries_are_the_statistics_they_name() -> None:
    result = small()
    final = result.final("LinUCB")
    row = result.summary().set_index("policy").loc["LinUCB"]
    assert row["mean"] == pytest.approx(final.mean())
    assert row["se"] == pytest.approx(final.std(ddof=1) / 2)
    assert row["q95"] == pytest.approx(np.quantile(final, 0.95))
    paired = result.paired("Random").set_index("policy").loc["LinUCB"]
    assert paired["difference"] == pytest.approx((final - result.final("Random")).mean())


@pytest.mark.parametrize("damage", ["missing", "truncated", "foreign"])
def test_a_damaged_result_is_refused(tmp_path: Path, damage: str) -> None:
    small(folder=tmp_path)
    path = tmp_path / "regret.parquet"
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[:-20])
    else:
        pd.DataFrame({"policy": ["x"]}).to_parquet(path)
    with pytest.raises(ResultFileError, match=r"regret\.parquet"):
        Result.load(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replications": 0}, "replications"),
        ({"workers": 0}, "workers"),
        ({"record": {"regret": (0,)}}, "regret"),
        ({"record": {"estimates": (701,)}}, "estimates"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**options)


def test_an_error_in_a_policy_reaches_the_caller() -> None:
    class Broken:
        def select(self, actions: Array) -> int:
            raise RuntimeError("no idea")

        def update(self, action: Array, reward: float) -> None: ...

    with pytest.raises(RuntimeError, match="no idea"):
        simulate(environment(), {"broken": lambda replication: Broken()}, replications=3)


def test_even_rounds_end_at_the_horizon() -> None:
    assert even_rounds(10, 5) == (2, 4, 6, 8, 10)
    assert even_rounds(3, 200) == (1, 2, 3)


@pytest.mark.thorough
def test_a_million_rounds_in_bounded_memory() -> None:
    """Peak memory is the same for T = 10⁶ and T = 10⁵, within 10 MB."""
    import subprocess
    import sys

    code = (
        "import resource, sys\n"
        "from driftbandits import DLinUCB\n"
        "from driftbandits.environments import *\n"
        "from driftbandits.simulation.engine import Plan, play_replication\n"
        "env = Environment(path=RandomWalk(step=0.01), actions=ClippedCube(dim=2, count=10),\n"
        "    noise=Gaussian(1.0), horizon=int(sys.argv[1]))\n"
        "play_replication(Plan(env, {'d': DLinUCB(dim=2, gamma=0.99)}, 0, (env.horizon,)), 0)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    peaks = [
        int(subprocess.check_output([sys.executable, "-c", code, horizon]))
        for horizon in ("100000", "1000000")
    ]
    assert peaks[1] - peaks[0] < 10_000


@pytest.mark.parametrize("dim", [1, 3, 10])
def test_a_policy_of_another_dimension_is_refused(dim: int) -> None:
    with pytest.raises(ValueError, match=f"D-LinUCB has dim = {dim}, .* actions of length 2"):
        simulate(environment(), {"wrong": DLinUCB(dim=dim, gamma=0.9)}, replications=1)


@pytest.mark.parametrize("name", ["actions", "parameters", "means", "best", "noise"])
def test_a_block_whose_arrays_do_not_fit_is_refused_and_not_played(name: str) -> None:
    block = next(environment().blocks(seed=0, replication=0))
    policy = DLinUCB(dim=2, gamma=0.9)
    short = block._replace(**{name: getattr(block, name)[:-1]})
    with pytest.raises(ValueError, match=r"must fit each other|must have shape"):
        policy.play(short, regret=np.empty(block.rounds))
    assert policy.round == 1


@pytest.mark.parametrize("shape", [(3,), (1, 700), (700, 1)])
@pytest.mark.parametrize("name", ["regret", "missing"])
def test_nowhere_to_write_to_is_refused(name: str, shape: tuple[int, ...]) -> None:
    block = next(environment().blocks(seed=0, replication=0))
    room: dict[str, Any] = {"regret": np.empty(700), "missing": np.empty(700)}
    room[name] = np.empty(shape)
    with pytest.raises(ValueError, match="regret and missing must have shape"):
        DLinUCB(dim=2, gamma=0.9).play(block, **room)


def test_a_block_without_actions_is_refused() -> None:
    block = next(environment().blocks(seed=0, replication=0))
    empty = block._replace(actions=block.actions[:, :, :0], means=block.means[:, :0])
    with pytest.raises(ValueError, match="must fit each other"):
        DLinUCB(dim=2, gamma=0.9).play(empty, regret=np.empty(700))


def test_actions_that_are_not_numbers_are_refused() -> None:
    def draw(round: int, generator: np.random.Generator) -> Any:
        return [[0.5, 0.5], [np.nan if round == 30 else 0.1, 0.2]]

    source = replace(environment(), actions=Rows(draw))
    with pytest.raises(ValueError, match="norm nan"):
        simulate(source, {"LinUCB": LinUCB(dim=2)}, replications=1)


def test_actions_beyond_a_policys_bound_are_refused_as_online() -> None:
    source = environment(actions=Catalogue([[5.0, 0.0]]))
    with pytest.raises(ValueError, match="action_bound"):
        simulate(source, {"LinUCB": LinUCB(dim=2)}, replications=1)


def test_a_player_cannot_change_the_environment_of_others() -> None:
    class Vandal:
        def select(self, actions: Array) -> int:
            actions[:] = 0.0
            return 0

        def update(self, action: Array, reward: float) -> None: ...

    alone = simulate(environment(), {"LinUCB": LinUCB(dim=2)}, replications=1)
    mixed: dict[str, Any] = {"vandal": lambda replication: Vandal(), "LinUCB": LinUCB(dim=2)}
    together = simulate(environment(), mixed, replications=1)
    np.testing.assert_array_equal(alone.final("LinUCB"), together.final("LinUCB"))


@pytest.mark.parametrize("index", [-1, 6, True])
def test_an_index_out_of_range_is_refused(index: int) -> None:
    class Wrong:
        def select(self, actions: Array) -> int:
            return index

        def update(self, action: Array, reward: float) -> None: ...

    with pytest.raises(ValueError, match="select must return"):
        simulate(environment(), {"wrong": lambda replication: Wrong()}, replications=1)


def test_a_folder_holds_one_run_only(tmp_path: Path) -> None:
    small(folder=tmp_path, record={"estimates": (10,)}, seed=1)
    small(folder=tmp_path, seed=2)
    assert Result.load(tmp_path).estimates.size == 0


def test_what_a_function_captured_tells_runs_apart(tmp_path: Path) -> None:
    class Fixed:
        def __init__(self, index: int) -> None:
            self.index = index

        def select(self, actions: Array) -> int:
            return self.index

        def update(self, action: Array, reward: float) -> None: ...

    def make(index: int) -> Any:
        return lambda replication: Fixed(index)

    finals = [
        simulate(environment(), {"fixed": make(i)}, replications=1, folder=tmp_path).final("fixed")
        for i in (0, 1)
    ]
    assert finals[0] != finals[1]


def test_numpy_integers_are_as_good_as_pythons(tmp_path: Path) -> None:
    count: Any = np.int64(2)
    assert small(replications=count, seed=np.int64(3), folder=tmp_path).replications == 2


def test_coverage_is_refused_where_there_is_nothing_to_check() -> None:
    block = next(environment().blocks(seed=0, replication=0))
    for policy in (Random(dim=2), DynamicLinUCB(dim=2), DLinUCBAsPublished(dim=2, gamma=0.9)):
        with pytest.raises(ValueError, match="coverage"):
            simulate(environment(), {"x": policy}, replications=1, record=Recording(coverage=True))
        with pytest.raises(ValueError, match="no confidence set"):
            policy.play(block, regret=np.empty(block.rounds), missing=np.empty(block.rounds))
