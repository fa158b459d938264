"""AdaptiveLinUCB: experts against sums over the whole history."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive_oracle import Definition
from adaptive_streams import assert_close, events
from driftbandits.core.linalg import symmetric
from driftbandits.policies.adaptive.bank import EVIDENCE, PENALTY, UNIT
from driftbandits.policies.adaptive.policy import AdaptiveLinUCB
from oracles import Floats
from test_policies_exact import apply


def assert_agrees(policy: AdaptiveLinUCB, truth: Definition, actions: Floats) -> None:
    """All that the policy shows, and the sums behind it."""
    state, eye = policy._state, np.eye(policy.dim)
    assert_close(policy.weights, [e.weight for e in truth.experts], "weights")
    assert_close(policy.memories[:-1], [truth.memory(j) for j in range(len(truth.experts) - 1)], "")
    evidence = np.array([e.evidence for e in truth.experts])
    np.testing.assert_allclose(
        state.facts[: len(evidence), EVIDENCE], evidence, rtol=1e-7, atol=1e-7
    )
    for j in range(len(truth.experts)):
        unit, ridge = state.facts[j, UNIT], state.facts[j, PENALTY]
        assert_close((symmetric(state.grams[j, 0]) + ridge * eye) / unit, truth.design(j), "V")
        assert_close(state.moments[j, 0] / unit, truth.moment(j), "b")
        assert_close(state.thetas[j], truth.estimate(j), "theta of an expert")
        assert_close(state.inverses[j] * unit, np.linalg.inv(truth.design(j)), "inverse")
    assert_close(policy.noise_estimate, math.sqrt(truth.variance), "noise")
    assert_close(policy.theta, truth.theta(), "theta")
    assert_close(policy.widths(actions), truth.widths(actions, truth.in_force()), "widths")
    assert_close(policy.scores(actions), truth.scores(actions), "scores")
    assert policy.detections == tuple(truth.detections)
    assert policy.round == truth.clock + 1


def follow(seed: int, dim: int, count: int, *, fractional: bool, noise: float | None) -> Definition:
    """Play a stream, and compare on the way."""
    rng = np.random.default_rng(seed)
    policy, truth = AdaptiveLinUCB(dim=dim, noise=noise), Definition(dim, noise)
    probes = rng.standard_normal((5, dim)) / (3 * dim)
    for step, event in enumerate(events(rng, dim, count, fractional=fractional), start=1):
        apply(policy, event)
        truth.apply(event)
        if step % 10 == 0 or step == count or truth.place() < 1:
            assert_agrees(policy, truth, probes)
    return truth


@settings(max_examples=10)
@given(
    seed=st.integers(0, 2**32),
    dim=st.integers(1, 6),
    count=st.integers(1, 90),
    fractional=st.booleans(),
    noise=st.sampled_from([None, 0.1, 2.0]),
)
def test_the_definition(
    seed: int, dim: int, count: int, fractional: bool, noise: float | None
) -> None:
    follow(seed, dim, count, fractional=fractional, noise=noise)


@pytest.mark.parametrize(("dim", "fractional"), [(1, False), (2, False), (2, True), (3, False)])
def test_the_definition_with_experts_that_start_again(dim: int, fractional: bool) -> None:
    truth = follow(dim, dim, 160, fractional=fractional, noise=None)
    assert truth.overwritten >= 3
    assert truth.degrees_of_freedom() < 15  # jumps are outliers
