"""Compares the compiled linear algebra with numpy, in all dimensions that its loops distinguish."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftbandits.core import linalg
from driftbandits.core.linalg.rows import inner, inner_two

RIDGE = 0.3
every_dim = pytest.mark.parametrize("dim", [*range(1, 14), 31, 32])


def problem(dim: int, count: int = 21) -> tuple[Any, Any, Any]:
    """A positive semidefinite matrix, its factor R with the ridge, and columns."""
    rng = np.random.default_rng(dim)
    roots = rng.normal(size=(dim, dim))
    gram = roots @ roots.T
    factor = np.full((dim, dim), np.nan)  # entries below the diagonal must not be read
    linalg.cholesky(np.triu(gram), RIDGE, factor)
    return gram, factor, rng.normal(size=(dim, count))


@every_dim
def test_cholesky(dim: int) -> None:
    gram, factor, _ = problem(dim)
    expected = np.linalg.cholesky(gram + RIDGE * np.eye(dim)).T
    np.testing.assert_allclose(np.triu(factor), expected, rtol=1e-12, atol=1e-12)
    in_place = np.triu(gram)
    linalg.cholesky(in_place, RIDGE, in_place)
    np.testing.assert_array_equal(np.triu(in_place), np.triu(factor))


@every_dim
def test_a_singular_matrix_has_pivots_of_the_ridge_at_least(dim: int) -> None:
    action = np.random.default_rng(dim).normal(size=dim)
    factor = np.empty((dim, dim))
    linalg.cholesky(np.triu(1e20 * np.outer(action, action)), 1e-6, factor)
    assert (np.diag(factor) >= np.sqrt(1e-6)).all()


@every_dim
def test_solving_for_a_vector_and_for_columns(dim: int) -> None:
    gram, factor, columns = problem(dim)
    full = gram + RIDGE * np.eye(dim)
    expected = np.linalg.solve(full, columns)
    out = np.empty(dim)
    linalg.solve(factor, columns[:, 0].copy(), out)
    np.testing.assert_allclose(out, expected[:, 0], rtol=1e-10, atol=1e-12)
    white = columns[:, 0].copy()
    square = linalg.whiten(factor, white)
    assert square == pytest.approx(columns[:, 0] @ expected[:, 0], rel=1e-11)
    solved = np.vstack([columns, np.full((2, columns.shape[1]), np.nan)])
    linalg.whiten_columns(factor, solved)
    np.testing.assert_allclose(solved[:dim, 0], white, rtol=1e-11, atol=1e-12)
    linalg.unwhiten_columns(factor, solved)
    np.testing.assert_allclose(solved[:dim], expected, rtol=1e-10, atol=1e-12)


@every_dim
def test_the_inverse_of_a_factor_and_of_its_square(dim: int) -> None:
    gram, factor, _ = problem(dim)
    out = np.full((dim, dim), np.nan)
    linalg.inverse_rows(factor, out)
    expected = np.linalg.inv(np.triu(factor)).T
    np.testing.assert_allclose(out, expected, rtol=1e-10, atol=1e-12)
    linalg.inverse_from_rows(out)
    expected = np.linalg.inv(gram + RIDGE * np.eye(dim))
    np.testing.assert_allclose(out, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(out, out.T)


@every_dim
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_sum_of_rows_skips_no_weight_but_zero(dim: int, share: float) -> None:
    rng = np.random.default_rng(dim)
    matrix, out = rng.normal(size=(dim, dim)), np.full(dim, np.nan)
    weights = rng.normal(size=dim) * (rng.random(dim) < share)
    linalg.sum_rows(weights, matrix, out)
    np.testing.assert_allclose(out, weights @ matrix, rtol=1e-12, atol=1e-12)


@every_dim
def test_two_inner_products_at_once_have_the_bits_of_two(dim: int) -> None:
    row, other, vector = np.random.default_rng(dim).normal(size=(3, dim))
    expected = inner(row, vector), inner(other, vector)
    assert inner_two(row, other, vector) == expected
    np.testing.assert_allclose(expected, [row @ vector, other @ vector], rtol=1e-12, atol=1e-12)


@every_dim
def test_columns_measured(dim: int) -> None:
    gram, _, columns = problem(dim)
    out = np.empty(columns.shape[1])
    linalg.column_quadratic(np.triu(gram), RIDGE, columns, out)
    expected = np.sum((gram + RIDGE * np.eye(dim)) @ columns * columns, axis=0)
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    linalg.column_norms_squared(dim, columns, out)
    np.testing.assert_allclose(out, np.sum(columns**2, axis=0), rtol=1e-12)
    linalg.column_products(columns[:, 0].copy(), columns, out)
    np.testing.assert_allclose(out, columns[:, 0] @ columns, rtol=1e-10, atol=1e-12)


@every_dim
@pytest.mark.parametrize("weight", [0.7, -0.7])
def test_a_rank_one_change(dim: int, weight: float) -> None:
    gram, _, columns = problem(dim)
    vector = 0.3 * columns[:, 0] / np.linalg.norm(columns[:, 0])
    before = gram + RIDGE * np.eye(dim)
    factor = np.linalg.cholesky(before).T.copy()
    assert linalg.update_factor(factor, vector.copy(), weight, 0.0)
    expected = np.linalg.cholesky(before + weight * np.outer(vector, vector)).T
    np.testing.assert_allclose(np.triu(factor), expected, rtol=1e-11, atol=1e-12)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40))
def test_argmax_is_the_first_of_equals(values: list[int]) -> None:
    array = np.array(values, dtype=float)
    assert linalg.argmax(array) == int(np.argmax(array))
