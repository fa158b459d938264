"""Mistakes on real data, compared with the best fixed discount in hindsight, as in `section`.

The data come with river and scikit-learn, and nothing is downloaded. Features are standardised and
projected on their first principal components, and a constant is added. At a change, the meanings of
the labels shift by one. D-LinUCB is told 1 for the norms. Its noise level is the residual of a
linear model fitted to all rows and labels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from benchmarks.measure import Array, Row, Say

from .labelled import Labelled
from .place import Place
from .section import play

NAME = "real"

Data = tuple[Array, Array]  # features (n, p), and whether each label fits (n, K)


class Recipe(NamedTuple):
    """How a data set is played."""

    title: str
    load: Callable[[], Data]
    components: int
    horizon: int
    changes: tuple[int, ...] = ()
    in_order: bool = False

    @property
    def place(self) -> Place:
        """The environment."""
        features, fits = self.load()
        rows = prepared(features, self.components)
        environment = Labelled(
            rows=rows,
            fits=fits,
            changes=self.changes,
            in_order=self.in_order,
            horizon=self.horizon,
        )
        return Place(self.title, environment, theta_bound=1.0, noise=unexplained(rows, fits))


def prepared(features: Array, components: int) -> Array:
    """A constant and the first principal components; the norm of a row is at most 1."""
    spread = features.std(axis=0)
    varies = spread > 1e-12 * np.abs(features).max(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(varies, spread, 1.0)
    axes = np.linalg.svd(scaled, full_matrices=False)[2]
    found = scaled @ axes[:components].T
    found /= np.sqrt((found**2).sum(axis=1).mean())
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1.0)
    return np.asarray(np.insert(found, 0, 1.0, axis=1) / np.sqrt(2.0))


def unexplained(rows: Array, fits: Array) -> float:
    """Root mean square residual of the rewards after least squares, with one model per label."""
    models = np.linalg.lstsq(rows, fits.astype(float), rcond=None)[0]
    return float(np.sqrt(np.mean((fits - rows @ models) ** 2)))


def one_of(labels: Any) -> Array:
    """Whether each label fits, if each row has exactly one label."""
    names, found = np.unique(labels, return_inverse=True)
    return np.asarray(found[:, None] == np.arange(len(names)))


def _of_river(name: str) -> Callable[[], Data]:
    @cache
    def load() -> Data:
        from river import datasets

        rows = list(getattr(datasets, name)())
        features = np.array([list(row.values()) for row, _ in rows], dtype=float)
        if isinstance(rows[0][1], dict):
            return features, np.array([list(label.values()) for _, label in rows], dtype=bool)
        return features, one_of([label for _, label in rows])

    return load


def _of_scikit_learn(name: str) -> Callable[[], Data]:
    @cache
    def load() -> Data:
        from sklearn import datasets

        features, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
        return features, one_of(labels)

    return load


_shuttle, _phishing, _bananas = map(_of_river, ("Shuttle", "Phishing", "Bananas"))
_segments, _yeast = map(_of_river, ("ImageSegments", "Yeast"))
_cancer, _wine, _digits, _iris = map(_of_scikit_learn, ("breast_cancer", "wine", "digits", "iris"))

CHOOSING = (
    Recipe("shuttle, no change", _shuttle, 9, 10_000),
    Recipe("shuttle, one change", _shuttle, 9, 10_000, (5001,)),
    Recipe("phishing, no change", _phishing, 9, 3000),
    Recipe("phishing, one change", _phishing, 9, 3000, (1501,)),
    Recipe("bananas, no change", _bananas, 2, 6000),
    Recipe("bananas, two changes", _bananas, 2, 6000, (2001, 4001)),
    Recipe("breast cancer, no change", _cancer, 10, 4000),
    Recipe("breast cancer, two changes", _cancer, 10, 4000, (1001, 2501)),
    Recipe("wine, one change", _wine, 6, 3000, (1001,)),
)
AFTERWARDS = (
    Recipe("wine, no change", _wine, 6, 3000),
    Recipe("iris, three changes", _iris, 4, 4000, (1001, 2001, 3001)),
    Recipe("image segments, no change", _segments, 6, 5000),
    Recipe("image segments, one change", _segments, 6, 5000, (2501,)),
    Recipe("digits, no change", _digits, 5, 5000),
    Recipe("digits, one change", _digits, 5, 5000, (2501,)),
    Recipe("yeast, 14 labels of which several fit, one change", _yeast, 4, 5000, (2501,)),
    Recipe("shuttle, in its own order", _shuttle, 9, 10_000, in_order=True),
    Recipe("phishing, in its own order", _phishing, 9, 1250, in_order=True),
)
GROUPS = {"Real data, looked at while choosing": CHOOSING, "Real data, afterwards": AFTERWARDS}


def run(*, quick: bool, say: Say) -> list[Row]:
    """Play on all data, print the tables, and write them to a file."""
    places = {heading: [of.place for of in recipes] for heading, recipes in GROUPS.items()}
    return play(NAME, places, quick=quick, say=say)
