"""Results as values: labelled arrays, tables of them, and files that other tools read.

A result is saved as a folder of Parquet tables. Each carries the configuration, the seed and the
versions in its metadata, as JSON under the key ``driftbandits``.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ..core.arrays import Array
from ..core.storage import atomic_write
from .statistics import mean_interval, standard_error

_METADATA = b"driftbandits"


class ResultFileError(ValueError):
    """A folder that cannot be read as a result; the message says why."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """What a simulation wrote down: P policies, N replications, C and E rounds.

    Attributes:
        config: Settings, seed and versions, as JSON holds them.
        policies: Labels of the policies.
        regret_rounds: Rounds of ``regret``, shape (C,).
        regret: Cumulative dynamic regret, shape (P, N, C).
        estimate_rounds: Rounds of ``estimates``, shape (E,).
        estimates: θ̂ after those rounds, shape (P, N, E, d); NaN for a policy without one.
        path: True parameter in those rounds, shape (E, d), of the first replication.
        detections: Rows [policy, replication, round], shape (n, 3).
        missed: Rounds up to each of ``regret_rounds`` whose confidence set missed the parameter,
            shape (P, N, C), or empty.
        missing: 1 where it misses at that very round, same shape.
        states: Final states by "policy/replication/array", where they were asked for.
    """

    config: dict[str, Any]
    policies: tuple[str, ...]
    regret_rounds: Array
    regret: Array
    estimate_rounds: Array
    estimates: Array
    path: Array
    detections: Array
    missed: Array
    missing: Array
    states: dict[str, Array] = field(default_factory=dict)

    @property
    def replications(self) -> int:
        """Number N of replications."""
        return int(self.regret.shape[1])

    @property
    def horizon(self) -> int:
        """The last round."""
        return int(self.regret_rounds[-1])

    @property
    def detecting(self) -> tuple[str, ...]:
        """Policies that detected a change at least once."""
        return tuple(self.policies[i] for i in np.unique(self.detections[:, 0]).astype(int))

    def final(self, policy: str) -> Array:
        """Final regret of a policy, shape (N,)."""
        return np.asarray(self.regret[self.policies.index(policy), :, -1])

    def regret_frame(self) -> pd.DataFrame:
        """Columns policy, replication, round, regret: a row each."""
        return self._grid(self.regret, self.regret_rounds, "regret")

    def curves(self) -> pd.DataFrame:
        """Columns policy, round, mean, se, q05, q95 of the regret, over replications."""
        frames = [
            _statistics(self.regret[p]).assign(policy=name, round=self.regret_rounds)
            for p, name in enumerate(self.policies)
        ]
        return pd.concat(frames, ignore_index=True)[["policy", "round", *_STATISTICS]]

    def summary(self) -> pd.DataFrame:
        """Columns policy, mean, se, q05, q95 of the final regret: a row a policy."""
        curves = self.curves()
        last = curves[curves["round"] == self.horizon].drop(columns="round")
        return last.reset_index(drop=True)

    def paired(self, reference: str) -> pd.DataFrame:
        """Final regret minus that of ``reference``, replication by replication.

        Both met the same actions and noise, so the standard error is that of the differences.
        Columns policy, difference, se, low, high: low to high is a 95% interval, of Student's t
        with N - 1 degrees of freedom.
        """
        base = self.final(reference)
        rows = []
        for name in self.policies:
            difference = self.final(name) - base
            mean, se = float(difference.mean()), standard_error(difference)
            rows.append((name, mean, se, *mean_interval(mean, se, len(difference))))
        return pd.DataFrame(rows, columns=["policy", "difference", "se", "low", "high"])

    def detections_frame(self) -> pd.DataFrame:
        """Columns policy, replication, round: a row a detection."""
        rows = self.detections.astype(np.int64)
        return pd.DataFrame(
            {
                "policy": [self.policies[i] for i in rows[:, 0]],
                "replication": rows[:, 1],
                "round": rows[:, 2],
            }
        )

    def estimates_frame(self) -> pd.DataFrame:
        """Columns policy, replication, round, theta_1, …, theta_d."""
        frame = self._grid(self.estimates[..., 0], self.estimate_rounds, "theta_1")
        for i in range(1, self.estimates.shape[-1]):
            frame[f"theta_{i + 1}"] = self.estimates[..., i].ravel()
        return frame

    def coverage_frame(self) -> pd.DataFrame:
        """Columns policy, round, at_round, at_all_rounds: shares of replications that covered."""
        rows = [
            (
                name,
                int(round),
                1.0 - self.missing[p, :, c].mean(),
                (self.missed[p, :, c] == 0).mean(),
            )
            for p, name in enumerate(self.policies)
            for c, round in enumerate(self.regret_rounds)
        ]
        return pd.DataFrame(rows, columns=["policy", "round", "at_round", "at_all_rounds"])

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the tables to ``folder``; the one that marks the result as whole comes last."""
        root = Path(folder)
        root.mkdir(parents=True, exist_ok=True)
        # What is there belongs to another run; the table that marks it as whole goes first.
        for name in ("regret", "estimates", "path", "coverage", "detections"):
            (root / f"{name}.parquet").unlink(missing_ok=True)
        (root / "states.npz").unlink(missing_ok=True)
        if self.estimate_rounds.size:
            self._write(root / "estimates.parquet", self.estimates_frame())
            self._write(root / "path.parquet", self._path_frame())
        if self.missed.size:
            frame = self._grid(self.missed, self.regret_rounds, "missed")
            frame["missing"] = self.missing.ravel()
            self._write(root / "coverage.parquet", frame)
        if self.states:
            with atomic_write(root / "states.npz") as file:
                np.savez(file, allow_pickle=False, **self.states)
        self._write(root / "detections.parquet", self.detections_frame())
        self._write(root / "regret.parquet", self.regret_frame())

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Result:
        """The result that `save` wrote to ``folder``."""
        root = Path(folder)
        frame, config = _read(root / "regret.parquet")
        policies = tuple(frame["policy"].drop_duplicates())
        rounds = frame["round"].drop_duplicates().to_numpy()
        shape = (len(policies), frame["replication"].nunique(), len(rounds))
        return cls(
            config=config,
            policies=policies,
            regret_rounds=rounds,
            regret=_as_grid(frame["regret"], shape),
            detections=_load_detections(root, policies),
            **_load_estimates(root, shape[:2]),
            **_load_coverage(root, shape),
            states=_load_states(root),
        )

    def _grid(self, values: Array, rounds: Array, name: str) -> pd.DataFrame:
        policies, replications, count = values.shape
        return pd.DataFrame(
            {
                "policy": np.repeat(self.policies, replications * count),
                "replication": np.tile(np.repeat(np.arange(replications), count), policies),
                "round": np.tile(rounds.astype(np.int64), policies * replications),
                name: values.ravel(),
            }
        )

    def _path_frame(self) -> pd.DataFrame:
        columns = {f"theta_{i + 1}": self.path[:, i] for i in range(self.path.shape[1])}
        return pd.DataFrame({"round": self.estimate_rounds.astype(np.int64), **columns})

    def _write(self, path: Path, frame: pd.DataFrame) -> None:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        metadata = {**(table.schema.metadata or {}), _METADATA: json.dumps(self.config).encode()}
        with atomic_write(path) as file:
            pq.write_table(table.replace_schema_metadata(metadata), file)


_STATISTICS = ["mean", "se", "q05", "q95"]


def _statistics(values: Array) -> pd.DataFrame:
    """Over the first axis of (N, C)."""
    return pd.DataFrame(
        {
            "mean": values.mean(axis=0),
            "se": values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan,
            "q05": np.quantile(values, 0.05, axis=0),
            "q95": np.quantile(values, 0.95, axis=0),
        }
    )


def _read(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise ResultFileError(f"{path} cannot be read as a result: {error}") from error
    metadata = table.schema.metadata or {}
    if _METADATA not in metadata:
        raise ResultFileError(f"{path} is not a result saved by driftbandits")
    return table.to_pandas(), json.loads(metadata[_METADATA])


def _as_grid(column: pd.Series[Any], shape: tuple[int, ...]) -> Array:
    values = column.to_numpy(dtype=np.float64)
    if values.size != np.prod(shape):
        raise ResultFileError(f"column {column.name} has {values.size} rows, not {np.prod(shape)}")
    return values.reshape(shape)


def _load_detections(root: Path, policies: tuple[str, ...]) -> Array:
    frame, _ = _read(root / "detections.parquet")
    index = frame["policy"].map({name: i for i, name in enumerate(policies)})
    return np.column_stack([index, frame["replication"], frame["round"]]).astype(np.float64)


def _load_estimates(root: Path, shape: tuple[int, ...]) -> dict[str, Array]:
    if not (root / "estimates.parquet").exists():
        nothing = np.zeros(0)
        return {
            "estimate_rounds": nothing,
            "estimates": np.zeros((*shape, 0, 0)),
            "path": np.zeros((0, 0)),
        }
    frame, _ = _read(root / "estimates.parquet")
    path, _ = _read(root / "path.parquet")
    names = [name for name in frame.columns if name.startswith("theta_")]
    grid = (*shape, len(path))
    return {
        "estimate_rounds": path["round"].to_numpy(),
        "estimates": np.stack([_as_grid(frame[name], grid) for name in names], axis=-1),
        "path": path[names].to_numpy(),
    }


def _load_coverage(root: Path, shape: tuple[int, ...]) -> dict[str, Array]:
    if not (root / "coverage.parquet").exists():
        return {"missed": np.zeros((0, 0, 0)), "missing": np.zeros((0, 0, 0))}
    frame, _ = _read(root / "coverage.parquet")
    return {name: _as_grid(frame[name], shape) for name in ("missed", "missing")}


def _load_states(root: Path) -> dict[str, Array]:
    if not (root / "states.npz").exists():
        return {}
    with np.load(root / "states.npz", allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}
