"""Settings of a server: one TOML file, checked before anything starts."""

from .example import EXAMPLE
from .reading import SettingsError, parse_address, read_settings
from .values import Settings, Storage, demo

__all__ = [
    "EXAMPLE",
    "Settings",
    "SettingsError",
    "Storage",
    "demo",
    "parse_address",
    "read_settings",
]
