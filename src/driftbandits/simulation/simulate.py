"""Simulate, keep finished replications on disk, and return a result."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..core.arrays import Array, whole
from ..core.randomness import stream
from ..environments import Environment
from ..policies import Policy
from .description import describe, is_described
from .engine import Contestant, Plan, Record, Recording, even_rounds, play_replication, run
from .fingerprint import fingerprint, versions
from .parts import Parts
from .result_files import ResultFileError, check_labels, is_result
from .results import Result

# Called with the numbers of finished and of all replications; first with those found on disk.
Progress = Callable[[int, int], None]

_USUAL = Recording()


def simulate(
    environment: Environment,
    policies: Mapping[str, Contestant],
    *,
    replications: int = 100,
    seed: int = 0,
    workers: int | None = None,
    record: Recording = _USUAL,
    folder: str | os.PathLike[str] | None = None,
    about: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Result:
    """Play every policy in every replication of the environment.

    A policy is either a policy of this package, which starts afresh in each replication, or a
    function of the replication that returns an object with ``select(actions)`` and
    ``update(action, reward)``.

    With ``folder``, the result is saved there. Finished replications are kept there in the
    meantime: after an interruption, the same call continues. If the result is complete, the call
    only loads it.

    Args:
        environment: The environment to play in.
        policies: Policies by label.
        replications: Number N of independent repetitions.
        seed: Seed of all random numbers.
        workers: Number of threads, by default the number of processors. Does not affect results.
        record: What to record: regret, estimates, coverage, final states.
        folder: Where to save the result.
        about: Further facts to keep with the configuration.
        progress: Called with the numbers of finished and of all replications.

    Examples:
        >>> from driftbandits import DLinUCB, Random
        >>> from driftbandits.environments import ClippedCube, Environment, Gaussian, Rotation
        >>> from driftbandits.simulation import simulate
        >>> environment = Environment(
        ...     path=Rotation(angle=3.0, rounds=500),
        ...     actions=ClippedCube(dim=2, count=10),
        ...     noise=Gaussian(0.1),
        ...     horizon=500,
        ... )
        >>> policies = {"D-LinUCB": DLinUCB(dim=2, gamma=0.95, noise=0.1), "Random": Random(dim=2)}
        >>> result = simulate(environment, policies, replications=5)
        >>> bool(result.final("D-LinUCB").mean() < result.final("Random").mean())
        True
    """
    whole("replications", replications, least=1)
    check_policies(policies)
    if record.coverage:
        check_coverage(policies)
    regret = even_rounds(environment.horizon, 200) if record.regret is None else record.regret
    plan = Plan(
        environment=environment,
        policies=policies,
        seed=seed,
        regret_rounds=_checked_rounds("regret", regret, environment.horizon),
        estimate_rounds=_checked_rounds("estimates", record.estimates, environment.horizon),
        coverage=record.coverage,
        final_states=record.states,
    )
    config = _configuration(plan, replications, about or {})
    if folder is None:
        records = dict(_with_progress(plan, replications, {}, workers, None, progress))
        return _assemble(plan, config, records)
    return _resume(plan, config, replications, workers, Path(folder), progress)


def check_policies(policies: Mapping[str, Contestant]) -> None:
    """Raise an error for anything that cannot start afresh in each replication."""
    if not isinstance(policies, Mapping):
        raise TypeError(f"policies must be a mapping from names to policies, got {policies!r}")
    if not policies:
        raise ValueError("policies must not be empty")
    check_labels(policies)
    for name, entry in policies.items():
        kind_only = isinstance(entry, type) and issubclass(entry, Policy)
        if kind_only or not (isinstance(entry, Policy) or callable(entry)):
            raise TypeError(
                f"{name!r} must be a policy or a function of the replication that returns an "
                f"object with select and update, got {entry!r}; write lambda replication: ..."
            )


def check_coverage(policies: Mapping[str, Contestant]) -> None:
    """Raise an error for policies that cannot check whether their confidence set covers."""
    for name, entry in policies.items():
        if not isinstance(entry, Policy) or not entry.checks_coverage:
            raise ValueError(f"coverage must be asked of policies that check it, not of {name!r}")


def warm_up(environment: Environment, policies: Mapping[str, Contestant]) -> None:
    """Compile, or load from the cache, all code that a simulation needs, by playing two rounds."""
    short = Environment(
        path=environment.path,
        actions=environment.actions,
        noise=environment.noise,
        horizon=2,
        delays=environment.delays,
    )
    play_replication(Plan(short, policies, 0, (2,), (2,)), 0)


def _checked_rounds(name: str, rounds: tuple[int, ...], horizon: int) -> tuple[int, ...]:
    ordered = tuple(sorted({int(t) for t in rounds}))
    if ordered and (ordered[0] < 1 or ordered[-1] > horizon):
        raise ValueError(f"{name} must lie between 1 and the horizon {horizon}, got {rounds}")
    # Every summary needs the final regret.
    return tuple(sorted({*ordered, horizon})) if name == "regret" else ordered


def _configuration(plan: Plan, replications: int, about: Mapping[str, Any]) -> dict[str, Any]:
    environment = plan.environment
    facts = {
        **about,
        "environment": environment,
        "change_points": list(environment.change_points),
        "budget": environment.budget(seed=plan.seed),
        "policies": plan.policies,
        "horizon": environment.horizon,
        "replications": replications,
        "seed": plan.seed,
        "regret_rounds": list(plan.regret_rounds),
        "estimate_rounds": list(plan.estimate_rounds),
        "coverage": plan.coverage,
        "final_states": plan.final_states,
        "versions": versions(),
    }
    return dict(describe(facts))


def _resume(
    plan: Plan,
    config: dict[str, Any],
    replications: int,
    workers: int | None,
    folder: Path,
    progress: Progress | None,
) -> Result:
    """Load the result if it is complete; otherwise play the missing replications."""
    known = is_described(config)
    if not known:
        warnings.warn(
            "a policy or environment contains an object that cannot be described (see "
            "`undescribed` in the configuration), so everything is played anew",
            stacklevel=3,
        )
    saved = _saved(folder) if known else None
    if saved is not None and _same(saved.config, config):
        if progress is not None:
            progress(replications, replications)
        return saved
    # The name does not depend on the number of replications, so a longer run can reuse them.
    name = fingerprint(_without(config, "command", "replications"))
    parts = Parts(folder / "parts", name) if known else None
    finished = {} if parts is None else dict(parts.finished(plan))
    done = {index: record for index, record in finished.items() if index < replications}
    records = dict(_with_progress(plan, replications, done, workers, parts, progress))
    result = _assemble(plan, config, records)
    result.save(folder)
    if parts is not None and len(done) == len(finished):
        parts.discard()  # otherwise a longer run still needs them
    return result


def _saved(folder: Path) -> Result | None:
    """The result in a folder, or None if there is none or it is damaged."""
    if not is_result(folder):
        return None
    try:
        return Result.load(folder)
    except ResultFileError as error:
        warnings.warn(f"{error}; it is played again", stacklevel=4)
        return None


def _same(saved: dict[str, Any], config: dict[str, Any]) -> bool:
    return fingerprint(_without(saved, "command")) == fingerprint(_without(config, "command"))


def _without(config: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in keys}


def _with_progress(
    plan: Plan,
    replications: int,
    done: dict[int, Record],
    workers: int | None,
    parts: Parts | None,
    progress: Progress | None,
) -> dict[int, Record]:
    records = dict(done)
    missing = (index for index in range(replications) if index not in done)
    if progress is not None:
        progress(len(records), replications)
    for index, record in run(plan, missing, workers=_processors() if workers is None else workers):
        records[index] = record
        if parts is not None:
            parts.add(index, record)
        if progress is not None:
            progress(len(records), replications)
    return records


def _processors() -> int:
    """Processors that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def _assemble(plan: Plan, config: dict[str, Any], records: dict[int, Record]) -> Result:
    ordered = [records[index] for index in sorted(records)]
    detections = [
        np.insert(record.detections, 1, index, axis=1) for index, record in enumerate(ordered)
    ]
    names = tuple(plan.policies)
    rows = np.concatenate(detections)
    return Result(
        config=config,
        policies=names,
        regret_rounds=np.array(plan.regret_rounds),
        regret=_stack(ordered, "regret"),
        estimate_rounds=np.array(plan.estimate_rounds),
        estimates=_stack(ordered, "estimates"),
        path=_true_path(plan),
        detections=rows[np.lexsort(rows.T[::-1])],
        missed=_stack(ordered, "missed"),
        missing=_stack(ordered, "missing"),
        states={
            f"{names[int(key.split('/')[0])]}/{index}/{key.split('/')[1]}": array
            for index, record in enumerate(ordered)
            for key, array in record.states.items()
        },
    )


def _stack(records: list[Record], name: str) -> Array:
    """Stack the arrays of N replications, shape (P, …), to shape (P, N, …)."""
    return np.stack([getattr(record, name) for record in records], axis=1)


def _true_path(plan: Plan) -> Array:
    """The true parameter at the rounds of the estimates, in the first replication."""
    environment = plan.environment
    draw = environment.path.start(stream(plan.seed, "parameters", 0))
    rows, position = [np.zeros((0, environment.dim))], 0
    for t in plan.estimate_rounds:
        rows.append(draw(t - position)[-1:])
        position = t
    return np.concatenate(rows)
