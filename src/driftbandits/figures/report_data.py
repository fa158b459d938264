"""The data of the report's pictures, as JSON values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from ..simulation.results import Result
from ..simulation.statistics import student_quantile
from .bound import bound_curve, bounded
from .changes import change_points, histogram, noticed
from .coverage import KINDS, binomial_interval, has_coverage, level
from .detections import has_detections
from .estimates import has_plane, has_random_path, mean_estimates, positions
from .regret import has_regret
from .style import name_of, styles, title

# Points of a curve and steps of the animation. More would be invisible and make the page heavy.
_MOST_POINTS = 400
_MOST_STEPS = 300


def experiment_data(key: str, result: Result) -> dict[str, Any]:
    """The data of one experiment's pictures; ``key`` names its elements."""
    looks = styles(result.policies)
    return {
        "key": key,
        "title": title(result),
        "replications": result.replications,
        "horizon": result.horizon,
        "policies": [
            {"label": name_of(result, policy), **vars(look)} for policy, look in looks.items()
        ],
        "changes": list(change_points(result)),
        "regret": _regret(result) if has_regret(result) else None,
        "estimates": _estimates(result) if has_plane(result) else None,
        "detections": _detections(result) if has_detections(result) else None,
        "coverage": _coverage(result) if has_coverage(result) else None,
    }


def embed(data: Any) -> str:
    """``data`` as JSON that is safe inside a ``script`` element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _regret(result: Result) -> dict[str, Any]:
    kept = _thin(len(result.regret_rounds), _MOST_POINTS)
    values = result.regret[..., kept]
    noticed_here = [
        {"policy": result.policies.index(found.policy), "round": round(found.round, 1)}
        | {"rate": found.rate}
        for found in noticed(result)
        if found.rate > 0
    ]
    return {
        "rounds": _numbers(result.regret_rounds[kept]),
        "mean": _numbers(values.mean(axis=1)),
        "low": _numbers(np.quantile(values, 0.05, axis=1)),
        "high": _numbers(np.quantile(values, 0.95, axis=1)),
        "bounds": [
            {
                "policy": result.policies.index(policy),
                "values": _numbers(bound_curve(result, policy)[kept]),
            }
            for policy in bounded(result)
        ],
        "final": _numbers(result.regret[..., -1]),
        "quantile": _numbers(np.array([student_quantile(result.replications)]))[0],
        "noticed": noticed_here,
    }


def _estimates(result: Result) -> dict[str, Any]:
    kept = _thin(len(result.estimate_rounds), _MOST_STEPS)
    numbered = positions(result) if change_points(result) else []
    return {
        "rounds": _numbers(result.estimate_rounds[kept]),
        "path": _numbers(result.path[kept]),
        "positions": [{"label": label, "place": _numbers(place)} for label, place in numbered],
        "one_run": has_random_path(result),
        "means": [
            {"policy": result.policies.index(policy), "values": _numbers(means[kept])}
            for policy, means in mean_estimates(result).items()
        ],
    }


def _detections(result: Result) -> dict[str, Any]:
    edges, counts = histogram(result)
    return {
        "edges": _numbers(edges),
        "counts": [
            {"policy": result.policies.index(policy), "values": _numbers(count)}
            for policy, count in counts.items()
        ],
    }


def _coverage(result: Result) -> dict[str, Any]:
    kept = _thin(len(result.regret_rounds), _MOST_POINTS)
    shares = {
        "at_round": 1.0 - result.missing[..., kept].mean(axis=1),
        "at_all_rounds": (result.missed[..., kept] == 0).mean(axis=1),
    }
    panels = []
    for kind, words in KINDS.items():
        low, high = binomial_interval(shares[kind], result.replications)
        values = {"mean": _numbers(shares[kind]), "low": _numbers(low), "high": _numbers(high)}
        panels.append({"kind": kind, "words": words, **values})
    return {
        "rounds": _numbers(result.regret_rounds[kept]),
        "level": level(result),
        "panels": panels,
    }


def _thin(count: int, most: int) -> npt.NDArray[np.int64]:
    """At most ``most`` indices of ``count``, evenly spread, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def _numbers(values: npt.NDArray[Any]) -> Any:
    """Nested lists with seven digits; more would be invisible."""
    if values.ndim > 1:
        return [_numbers(row) for row in values]
    if np.issubdtype(values.dtype, np.integer):
        return values.tolist()
    return [float(f"{value:.7g}") if np.isfinite(value) else None for value in values]
