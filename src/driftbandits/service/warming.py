"""Compilation before the first request: a decision must not wait for a compiler."""

from __future__ import annotations

import numpy as np

from ..features import Features
from .policy_settings import PolicySettings

_FEATURES = Features.hashed(context=1, action=1)


def warm(settings: PolicySettings) -> None:
    """Compile, or load from the cache, what decisions and rewards of such a policy call.

    Works on a policy of its own, so that nothing is learned.
    """
    _FEATURES.encode({}, ["a"])  # compiled code is the same for every declaration
    policy = settings.agent().policy
    rows = np.zeros((2, policy.dim))
    decision = policy.decide(rows, rounds=1)
    policy.update(rows[0], 0.0, round=decision.round)
    getattr(policy, "theta", None)  # where it has one, predictions are compared with rewards
    if "amend" not in policy.refusals:
        policy.amend(rows[0], round=decision.round, old=0.0, new=1.0)
