"""How many examples hypothesis tries: a profile, chosen by an environment variable."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Reproducible: the same examples in every run. Compiling takes longer than any deadline.
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
