"""Hypothesis profiles; DRIFTBANDITS_PROFILE chooses how many examples each test tries."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Every run tries the same examples. There is no deadline, because compiling takes long.
for profile, examples in (("plain", 8), ("quick", 50), ("thorough", 500)):
    settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        derandomize=True,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("DRIFTBANDITS_PROFILE", "quick"))
