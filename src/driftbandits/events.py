"""Events in the life of a policy, as plain values, for ``policy.apply`` and ``policy.replay``."""

from .core.events import (
    Advance,
    Amend,
    Decide,
    Decision,
    Event,
    Forget,
    Learn,
    Outcomes,
    Packed,
    Select,
    Update,
    pack,
)

__all__ = [
    "Advance",
    "Amend",
    "Decide",
    "Decision",
    "Event",
    "Forget",
    "Learn",
    "Outcomes",
    "Packed",
    "Select",
    "Update",
    "pack",
]
