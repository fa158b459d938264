"""How a hosted policy is doing, as plain values."""

from __future__ import annotations

import math
from typing import Any

from .hosted import Hosted


def diagnosis(hosted: Hosted) -> dict[str, Any]:
    """Counters, estimates, and the learner's own description of its state."""
    # Reading a policy may change its arrays, and snapshots are compared bit by bit. So read a copy.
    learner: Any = hosted.agent.policy.copy()
    memory = getattr(learner, "memory", None)
    return {
        "policy": hosted.name,
        "version": hosted.version,
        "mode": hosted.settings.mode,
        "learner": learner.label,
        "dim": learner.dim,
        "round": float(learner.round),
        "open": hosted.agent.open,
        "memory": None if memory is None or not math.isfinite(memory) else float(memory),
        "detections": [float(after) for after in getattr(learner, "detections", ())],
        **hosted.statistics.summary(),
    }
