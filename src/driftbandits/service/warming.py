"""Compiles before the first request, so that no decision waits for the compiler."""

from __future__ import annotations

import numpy as np

from ..features import Features
from .policy_settings import PolicySettings

_FEATURES = Features.hashed(context=1, action=1)


def warm(settings: PolicySettings) -> None:
    """Compile, or load from the cache, the functions that such a policy calls.

    This uses a new policy, so that no hosted policy learns anything.
    """
    _FEATURES.encode({}, ["a"])  # compiled code is the same for every declaration
    policy = settings.agent().policy
    rows = np.zeros((2, policy.dim))
    decision = policy.decide(rows, rounds=1)
    policy.update(rows[0], 0.0, round=decision.round)
    getattr(policy, "theta", None)  # if it has theta, predictions are compared with rewards
    if "amend" not in policy.refusals:
        policy.amend(rows[0], round=decision.round, old=0.0, new=1.0)
