"""The environments of the leaderboard, in two groups."""

from __future__ import annotations

from collections.abc import Mapping

from .settings import BUILT_IN, Settings, built_in

# In the order of the tables. The first group has one kind of drift per environment: gradual,
# abrupt, then those where exploration is decisive. The second has situations from practice.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Drift": (
        "stationary",
        "slow",
        "random-walk",
        "periodic",
        "small-jumps",
        "abrupt",
        "burst",
        "low-noise",
        "heavy-noise",
        "few-actions",
        "many-actions",
        "sign-flips",
        "criteo",
        "fixed-actions",
        "unseen-best",
        "switching-arms",
        "stationary-arms",
        "kronecker",
    ),
    "Everyday": (
        "moving-level",
        "unscaled-features",
        "launches",
        "rotting-arms",
        "clicks",
        "sales",
        "random-delays",
        "missing-rewards",
        "many-contexts",
    ),
}
SUITE = tuple(name for names in GROUPS.values() for name in names)
OWN = "Your own"


def suite() -> dict[str, Settings]:
    """Settings of the environments of the suite, by name, including those of the paper."""
    return {name: _settings(name) for name in SUITE}


def group_of(name: str) -> str:
    """The group of an environment; "Your own" if it is not in the suite.

    Examples:
        >>> group_of("abrupt"), group_of("launches"), group_of("mine")
        ('Drift', 'Everyday', 'Your own')
    """
    return next((group for group, names in GROUPS.items() if name in names), OWN)


def _settings(name: str) -> Settings:
    if name in BUILT_IN:
        settings = built_in(name)
        return {key: settings[key] for key in settings.keys() - {"policies", "published"}}
    return built_in(f"suite/{name}")
