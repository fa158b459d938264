"""A fixed catalogue: our exact choice, compared with BLAS over all items."""

from __future__ import annotations

import time

import numpy as np

from driftbandits import DLinUCB, FixedCatalogue, LinUCB
from driftbandits.policies.weighted.family import WeightedPolicy

from .measure import Array, Row, Say, at_least, summary

NAME = "catalogue"
DIM, ITEMS = 32, 100_000
NOISE = 0.1
SPAN = 20  # rounds over which times are averaged: few choices are slow, most are fast


def run(*, quick: bool, say: Say) -> list[Row]:
    """The time per choice as data accumulates, and the ratio to scoring everything."""
    items, theta = _items(ITEMS // 10 if quick else ITEMS)
    policies = {
        "D-LinUCB, γ = 0.999": DLinUCB(dim=DIM, gamma=0.999, noise=NOISE),
        "D-LinUCB, γ = 0.99": DLinUCB(dim=DIM, gamma=0.99, noise=NOISE),
        "LinUCB": LinUCB(dim=DIM, noise=NOISE),
    }
    rows: list[Row] = []
    for name, policy in policies.items():
        say(f"catalogue: {len(items):,} items, {name}")
        ours, blas = _play(policy, items, theta, rounds=700)
        for first, last in ((0, 100), (100, 300), (300, 700)):
            part = slice(first // SPAN, last // SPAN)
            subject = f"{name}, rounds {first + 1} to {last}"
            rows += [
                summary(NAME, subject, "time of a choice", ours[part] * 1e3, unit="ms"),
                summary(
                    NAME,
                    f"BLAS / {subject}",
                    "ratio",
                    blas[part] / ours[part],
                    aim=at_least(5) if first > 0 else None,
                    note=f"{len(items):,} items, d = {DIM}",
                ),
            ]
    return rows


def _play(
    policy: WeightedPolicy, items: Array, theta: Array, *, rounds: int
) -> tuple[Array, Array]:
    """For each span of rounds: mean seconds per choice, and seconds to score all items after it."""
    catalogue = FixedCatalogue(policy, items)
    rng = np.random.default_rng(1)
    ours, blas = np.zeros(rounds // SPAN), np.zeros(rounds // SPAN)
    for t in range(rounds):
        start = time.process_time()
        chosen = catalogue.select()
        ours[t // SPAN] += (time.process_time() - start) / SPAN
        if t % SPAN == SPAN - 1:
            start = time.process_time()
            best = _score_everything(policy, items)
            blas[t // SPAN] = time.process_time() - start
            found, highest = policy.scores(items[[chosen, best]])
            if highest > found:
                raise AssertionError(f"item {chosen} was chosen, item {best} scores higher")
        policy.update(items[chosen], float(items[chosen] @ theta + NOISE * rng.standard_normal()))
    return ours, blas


def _score_everything(policy: WeightedPolicy, items: Array) -> int:
    """Index of the largest score, from one matrix product over all items."""
    half = np.linalg.solve(policy.design, policy.squared_design)
    shape = np.linalg.solve(policy.design, half.T)
    squares = np.einsum("nd,nd->n", items @ shape, items)
    return int(np.argmax(items @ policy.theta + policy.radius * np.sqrt(squares)))


def _items(count: int) -> tuple[Array, Array]:
    """Items (N, d) of norms from ½ to 1, and the hidden parameter (d,)."""
    rng = np.random.default_rng(0)
    items = rng.standard_normal((count, DIM))
    items *= rng.uniform(0.5, 1.0, (count, 1)) / np.linalg.norm(items, axis=1, keepdims=True)
    theta = rng.standard_normal(DIM)
    return items, theta / np.linalg.norm(theta)
