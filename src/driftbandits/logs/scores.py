"""The compiled sums behind values: rewards expected by a model, and moments of rows' numbers."""

from __future__ import annotations

from ..core.arrays import Array
from ..core.compiling import entry_point
from .batch import Ints


def _expect(
    vectors: Array,
    blocks: Ints,
    first: Ints,
    size: Ints,
    chosen: Ints,
    theta: Array,
    least: float,
    largest: float,
    probabilities: Array,
    start: Ints,
    labels: Ints,
    weights: Array,
    direct: Array,
    played: Array,
    share: Array,
    wanted: Array,
) -> None:
    """Σ_a π(a) q̂(a), q̂ of the played action and its π, for every row; Σ weight·π per action.

    ``theta`` (B, w) has one parameter per block; q̂ = ⟨x, θ_block⟩ is clipped to the bounds.
    ``wanted`` (L,) sums the plays of the policy, by the actions' labels.
    """
    for i in range(first.size):
        total, mine = 0.0, 0.0
        for k in range(size[i]):
            p = probabilities[start[i] + k]
            if p == 0.0 and k != chosen[i]:
                continue
            wanted[labels[first[i] + k]] += weights[i] * p
            row, at = vectors[first[i] + k], theta[blocks[first[i] + k]]
            q = 0.0
            for j in range(row.size):
                q += row[j] * at[j]
            q = min(max(q, least), largest)
            total += p * q
            if k == chosen[i]:
                mine = q
        direct[i], played[i] = total, mine
        share[i] = probabilities[start[i] + chosen[i]]


expect = entry_point(_expect, "logs_expect")


def _moments(
    numbers: Array, count: Array, first: Array, second: Array, third: Array, fourth: Array
) -> None:
    """Add Σ c x, Σ c² x ⊗ x, and so on up to order four, over rows x (n, m) with counts c (n,).

    Only entries with ascending indices are filled; `Moments` needs no others.
    """
    for n in range(count.size):
        x, c = numbers[n], count[n]
        for i in range(x.size):
            a = c * x[i]
            first[i] += a
            for j in range(i, x.size):
                b = a * c * x[j]
                second[i, j] += b
                for k in range(j, x.size):
                    d = b * c * x[k]
                    third[i, j, k] += d
                    for m in range(k, x.size):
                        fourth[i, j, k, m] += d * c * x[m]


moments = entry_point(_moments, "logs_moments")
