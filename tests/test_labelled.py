"""Labelled data as a bandit: the rows, the fit and the changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from studies.elsewhere import real
from studies.elsewhere.labelled import Labelled

from driftbandits import AdaptiveLinUCB
from driftbandits.environments import Block
from driftbandits.simulation import simulate

GENERATOR = np.random.default_rng(3)
ROWS = real.prepared(GENERATOR.standard_normal((40, 5)), components=2)
FITS = real.one_of(GENERATOR.integers(0, 3, 40))


def labelled(horizon: int = 100, *, changes: tuple[int, ...] = (), own: bool = False) -> Labelled:
    return Labelled(rows=ROWS, fits=FITS, horizon=horizon, changes=changes, in_order=own)


def whole(environment: Labelled, replication: int = 0, stops: tuple[int, ...] = ()) -> Block:
    """A replication in one block."""
    blocks = list(environment.blocks(seed=1, replication=replication, stops=stops))
    assert [b.first for b in blocks] == [1, *(b.last + 1 for b in blocks[:-1])]
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(b, name) for b in blocks])
        for name in ("actions", "parameters", "means", "best", "noise")
    }
    return Block(first=1, longest=blocks[0].longest, **joined)


def which(block: Block) -> list[int]:
    """Numbers of the rows in a block."""
    come = block.actions[:, :3, 0]
    return [int(np.flatnonzero((x == ROWS).all(axis=1))[0]) for x in come]


def test_every_label_has_a_model_and_the_one_that_fits_has_the_reward() -> None:
    block = whole(labelled())
    assert block.actions.shape == (100, 9, 3)
    for t, row in enumerate(which(block)):
        for label in range(3):
            expected = np.zeros((3, 3))
            expected[label] = ROWS[row]
            np.testing.assert_array_equal(block.actions[t, :, label], expected.ravel())
        np.testing.assert_array_equal(block.means[t], FITS[row])
    assert (block.best == 1).all()
    assert not block.noise.any()


def test_labels_mean_the_next_one_after_each_change() -> None:
    plain, changed = whole(labelled()).means, whole(labelled(changes=(31, 81))).means
    np.testing.assert_array_equal(changed[:30], plain[:30])
    np.testing.assert_array_equal(changed[30:80], np.roll(plain[30:80], 1, axis=1))
    np.testing.assert_array_equal(changed[80:], np.roll(plain[80:], 2, axis=1))
    assert labelled(50, changes=(31, 81)).change_points == (31,)


def test_all_rows_come_before_any_comes_again() -> None:
    order = which(whole(labelled()))
    for rows in (order[:40], order[40:80]):
        assert sorted(rows) == list(range(40))
    assert order[:40] != order[40:80]
    assert order != which(whole(labelled(), replication=1))


def test_rows_in_their_own_order_start_anywhere() -> None:
    starts = set()
    for replication in range(20):
        order = np.array(which(whole(labelled(own=True), replication)))
        np.testing.assert_array_equal(np.diff(order) % 40, 1)
        starts.add(int(order[0]))
    assert len(starts) > 5


def test_how_it_is_cut_changes_nothing() -> None:
    one, other = whole(labelled(700)), whole(labelled(700), stops=(13, 250, 699, 900))
    for name in ("actions", "means", "best"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_regret_counts_mistakes() -> None:
    result = simulate(labelled(), {"a": AdaptiveLinUCB(dim=9)}, replications=3, seed=1)
    final = result.final("a")
    assert ((final == final.round()) & (final > 0) & (final < 100)).all()


def test_features_are_a_constant_and_principal_components() -> None:
    features = GENERATOR.standard_normal((200, 4)) @ GENERATOR.standard_normal((4, 4))
    rows = real.prepared(np.insert(features, 2, 7.0, axis=1), components=2)
    assert rows.shape == (200, 3)
    np.testing.assert_allclose(rows[:, 0], 0.5**0.5)
    assert np.linalg.norm(rows, axis=1).max() == pytest.approx(1.0)
    standard = (features - features.mean(0)) / features.std(0)
    values, axes = np.linalg.eigh(standard.T @ standard)
    expected = standard @ axes[:, np.argsort(values)[:-3:-1]]
    # Rows within the ball were only scaled, all by the same factor; the sign of an axis is free.
    inside = np.linalg.norm(rows, axis=1) < 1 - 1e-9
    ratio = np.abs(rows[inside, 1:] / expected[inside])
    np.testing.assert_allclose(ratio, ratio[0, 0])


def test_what_a_linear_model_leaves_unexplained() -> None:
    residuals = FITS - ROWS @ np.linalg.pinv(ROWS) @ FITS
    assert real.unexplained(ROWS, FITS) == pytest.approx(np.sqrt((residuals**2).mean()))


@pytest.mark.parametrize(
    ("title", "rows", "labels"),
    [
        ("shuttle, no change", 49_097, 2),
        ("image segments, no change", 2310, 7),
        ("yeast, 14 labels of which several fit, one change", 2417, 14),
        ("digits, no change", 1797, 10),
    ],
)
def test_the_data_that_come_with_other_libraries(title: str, rows: int, labels: int) -> None:
    pytest.importorskip("river")
    pytest.importorskip("sklearn")
    recipe = next(of for group in real.GROUPS.values() for of in group if of.title == title)
    environment = recipe.place.environment
    assert isinstance(environment, Labelled)
    assert environment.fits.shape == (rows, labels)
    assert environment.rows.shape == (rows, 1 + recipe.components)
    assert environment.fits.any(axis=0).all()
