"""Results: labelled arrays, data frames, and files that other tools can read.

A result is saved as a folder of Parquet tables. The metadata of each table holds the configuration,
the seed and the versions, as JSON under the key ``driftbandits``. `result_files` reads and writes
the files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..core.arrays import Array
from .result_files import ResultFileError, ResultReader, check_labels, write_result
from .statistics import mean_interval, standard_error


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """The recorded numbers of a simulation: P policies, N replications, C and E rounds.

    Attributes:
        config: Settings, seed and versions, as JSON values.
        policies: Labels of the policies.
        regret_rounds: Rounds of ``regret``, shape (C,).
        regret: Cumulative dynamic regret, shape (P, N, C).
        estimate_rounds: Rounds of ``estimates``, shape (E,).
        estimates: θ̂ after those rounds, shape (P, N, E, d); NaN for a policy without estimates.
        path: True parameter in those rounds, shape (E, d), of the first replication.
        detections: Rows [policy, replication, round], shape (n, 3).
        missed: Number of rounds, up to each of ``regret_rounds``, in which the confidence set
            missed the parameter; shape (P, N, C), or empty.
        missing: 1 if the confidence set misses in this round, else 0; same shape.
        states: Final states by "policy/replication/array"; empty unless they were recorded.
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
        """Columns policy, replication, round, regret."""
        return self._grid(self.regret, self.regret_rounds, "regret")

    def curves(self) -> pd.DataFrame:
        """Columns policy, round, mean, se, q05, q95 of the regret over replications."""
        frames = [
            _statistics(self.regret[p]).assign(policy=name, round=self.regret_rounds)
            for p, name in enumerate(self.policies)
        ]
        return pd.concat(frames, ignore_index=True)[["policy", "round", *_STATISTICS]]

    def summary(self) -> pd.DataFrame:
        """Columns policy, mean, se, q05, q95 of the final regret, with one row per policy."""
        curves = self.curves()
        last = curves[curves["round"] == self.horizon].drop(columns="round")
        return last.reset_index(drop=True)

    def paired(self, reference: str) -> pd.DataFrame:
        """Final regret minus the final regret of ``reference`` in the same replication.

        Both policies met the same actions and noise, so se is the standard error of the paired
        differences. Columns policy, difference, se, low, high: low to high is a 95% interval, by
        Student's t with N - 1 degrees of freedom.
        """
        base = self.final(reference)
        rows = []
        for name in self.policies:
            difference = self.final(name) - base
            mean, se = float(difference.mean()), standard_error(difference)
            rows.append((name, mean, se, *mean_interval(mean, se, len(difference))))
        return pd.DataFrame(rows, columns=["policy", "difference", "se", "low", "high"])

    def detections_frame(self) -> pd.DataFrame:
        """Columns policy, replication, round, with one row per detection."""
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
        """Columns policy, round, at_round, at_all_rounds: shares of replications that cover.

        at_round: in this round. at_all_rounds: in every round so far.
        """
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
        """Write tables and checksums to ``folder``, all together or not at all.

        An existing result stays until the new one is complete.
        """
        check_labels(self.policies)
        frames = {"regret": self.regret_frame(), "detections": self.detections_frame()}
        if self.estimate_rounds.size:
            frames["estimates"], frames["path"] = self.estimates_frame(), self._path_frame()
        if self.missed.size:
            frames["coverage"] = self._grid(self.missed, self.regret_rounds, "missed")
            frames["coverage"]["missing"] = self.missing.ravel()
        write_result(folder, config=self.config, frames=frames, states=self.states)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Result:
        """Load the result that `save` wrote to ``folder``.

        Raises:
            ResultFileError: A file is missing, damaged, or not part of a result; the message names
                the file.
            OSError: A file cannot be read; it may be intact.
        """
        try:
            return cls._from_files(ResultReader(folder))
        except (ResultFileError, OSError):
            raise
        except Exception as error:  # without checksums, damage can cause any error
            raise ResultFileError(
                f"{os.fspath(folder)} cannot be read as a result: {error!r}"
            ) from error

    @classmethod
    def _from_files(cls, files: ResultReader) -> Result:
        frame = files.tables["regret"]
        policies = tuple(frame["policy"].drop_duplicates())
        rounds = frame["round"].drop_duplicates().to_numpy()
        shape = (len(policies), frame["replication"].nunique(), len(rounds))
        return cls(
            config=files.config,
            policies=policies,
            regret_rounds=rounds,
            regret=_as_grid(frame["regret"], shape),
            detections=_detections(files.tables["detections"], policies),
            **_estimates(files.tables, shape[:2]),
            **_coverage(files.tables, shape),
            states=files.states,
        )

    def _grid(self, values: Array, rounds: Array, name: str) -> pd.DataFrame:
        policies, replications, count = values.shape
        return pd.DataFrame(
            {
                "policy": np.repeat(np.array(self.policies, dtype=object), replications * count),
                "replication": np.tile(np.repeat(np.arange(replications), count), policies),
                "round": np.tile(rounds.astype(np.int64), policies * replications),
                name: values.ravel(),
            }
        )

    def _path_frame(self) -> pd.DataFrame:
        columns = {f"theta_{i + 1}": self.path[:, i] for i in range(self.path.shape[1])}
        return pd.DataFrame({"round": self.estimate_rounds.astype(np.int64), **columns})


_STATISTICS = ["mean", "se", "q05", "q95"]


def _statistics(values: Array) -> pd.DataFrame:
    """Columns mean, se, q05, q95 over the first axis of (N, C)."""
    return pd.DataFrame(
        {
            "mean": values.mean(axis=0),
            "se": values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan,
            "q05": np.quantile(values, 0.05, axis=0),
            "q95": np.quantile(values, 0.95, axis=0),
        }
    )


def _as_grid(column: pd.Series[Any], shape: tuple[int, ...]) -> Array:
    values = column.to_numpy(dtype=np.float64)
    if values.size != np.prod(shape):
        raise ResultFileError(f"column {column.name} has {values.size} rows, not {np.prod(shape)}")
    return values.reshape(shape)


def _detections(frame: pd.DataFrame, policies: tuple[str, ...]) -> Array:
    index = frame["policy"].map({name: i for i, name in enumerate(policies)})
    return np.column_stack([index, frame["replication"], frame["round"]]).astype(np.float64)


def _estimates(tables: dict[str, pd.DataFrame], shape: tuple[int, ...]) -> dict[str, Array]:
    if "estimates" not in tables:
        nothing = np.zeros(0)
        return {
            "estimate_rounds": nothing,
            "estimates": np.zeros((*shape, 0, 0)),
            "path": np.zeros((0, 0)),
        }
    frame, path = tables["estimates"], tables["path"]
    names = [name for name in frame.columns if name.startswith("theta_")]
    grid = (*shape, len(path))
    return {
        "estimate_rounds": path["round"].to_numpy(),
        "estimates": np.stack([_as_grid(frame[name], grid) for name in names], axis=-1),
        "path": path[names].to_numpy(),
    }


def _coverage(tables: dict[str, pd.DataFrame], shape: tuple[int, ...]) -> dict[str, Array]:
    if "coverage" not in tables:
        return {"missed": np.zeros((0, 0, 0)), "missing": np.zeros((0, 0, 0))}
    return {name: _as_grid(tables["coverage"][name], shape) for name in ("missed", "missing")}
