"""The environment of the Criteo experiment: two pools of contexts, a partial class inversion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..core.arrays import Array, open_unit
from ..core.randomness import stream
from ..environments import Environment, Gaussian, PiecewiseConstant, Pools
from ..environments.criteo import CriteoContexts, load_criteo
from ..environments.criteo_standin import VERSION, write_standin

_STANDIN_ROWS = 200_000


def criteo_environment(
    *,
    dim: int,
    change_point: int,
    flipped: float,
    noise: float,
    horizon: int,
    seed: int,
    data: Path | None,
    cache: Path | None,
) -> tuple[Environment, dict[str, Any]]:
    """The environment, and facts about its data for the report.

    At ``change_point`` a share ``flipped`` of the coordinates of θ, drawn once for all
    replications, changes sign. The loader scales the contexts to ‖a‖ ≤ L = 1. Here θ is scaled so
    that the largest |⟨a, θ⟩| over both pools, before and after the change, is 1, as the model
    requires. Both scalings use one common factor. Shortening long contexts one by one would be
    another way. But then ⟨a, θ⟩ would not be the regression, and with a median norm of 0.95 there
    is little to gain. The fact ``theta_norm`` is ‖θ‖ before and after the change: the S for
    policies.
    """
    open_unit("flipped", flipped)
    contexts = load_criteo(data if data is not None else _standin(cache), dim=dim)
    before, after = _parameters(contexts, flipped, seed)
    path = PiecewiseConstant(np.array([before, after]), (change_point,))
    environment = Environment(
        path=path,
        actions=Pools((contexts.clicked, contexts.not_clicked)),
        noise=Gaussian(noise),
        horizon=horizon,
    )
    facts = {
        "standin": contexts.standin,
        "data": {
            "rows_read": contexts.rows_read,
            "click_rate": contexts.click_rate,
            "clicked_pool": len(contexts.clicked),
            "not_clicked_pool": len(contexts.not_clicked),
            "theta_norm": float(np.linalg.norm(before)),
        },
    }
    return environment, facts


def _parameters(contexts: CriteoContexts, flipped: float, seed: int) -> tuple[Array, Array]:
    signs = np.ones(contexts.dim)
    chosen = stream(seed, "criteo", "flipped").permutation(contexts.dim)
    signs[chosen[: round(flipped * contexts.dim)]] = -1.0
    pools = np.concatenate([contexts.clicked, contexts.not_clicked])
    payoffs = pools @ np.column_stack([contexts.theta, signs * contexts.theta])
    theta = contexts.theta / np.abs(payoffs).max()
    return theta, signs * theta


def _standin(cache: Path | None) -> Path:
    if cache is None:
        raise ValueError("the Criteo experiment needs data, or a folder for a stand-in")
    path = cache / f"criteo-standin-{VERSION}.tsv.gz"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        write_standin(path, rows=_STANDIN_ROWS)
    return path
