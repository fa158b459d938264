"""Reads settings from a TOML file. Errors name the table, the key and the allowed values."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import BadSettings
from ..http.keys import ROLES, Key, is_hash
from ..http.limits import Limits
from ..http.listening import Address
from ..policy_settings import PolicySettings
from .values import Settings, Storage

_TABLES = ("server", "storage", "keys", "policies")
_SERVER = ("listen", "limits")


class SettingsError(ValueError):
    """A setting is wrong; the message says which one and why."""


def read_settings(path: Path) -> Settings:
    """The settings of a TOML file."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from None
    try:
        return parse_settings(content, folder=path.parent)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from None


def parse_settings(content: Mapping[str, Any], *, folder: Path) -> Settings:
    """The settings from a table; its paths are relative to ``folder``."""
    _known("the file", content, _TABLES)
    server = _table("server", content.get("server", {}))
    _known("server", server, _SERVER)
    settings = Settings(
        listen=_listen(server),
        limits=_limits(_table("server.limits", server.get("limits", {}))),
        storage=_storage(_table("storage", content.get("storage", {})), folder),
        keys=_keys(content.get("keys", [])),
        policies=_policies(_table("policies", content.get("policies", {})), folder),
    )
    _check_keys_name_policies(settings)
    try:
        settings.check()
    except ValueError as error:
        raise SettingsError(str(error)) from None
    return settings


def _listen(server: Mapping[str, Any]) -> Address:
    if "listen" not in server:
        return Settings().listen
    return parse_address("server", _text("server.listen", server["listen"]))


def parse_address(place: str, text: str) -> Address:
    """The address in ``text``; errors name ``place``."""
    try:
        return Address.parse(text)
    except ValueError as error:
        raise SettingsError(f"{place}: {error}") from None


def _limits(table: Mapping[str, Any]) -> Limits:
    _known("server.limits", table, Limits._fields)
    for key, value in table.items():
        whole = isinstance(Limits._field_defaults[key], int)
        _positive(f"server.limits.{key}", value, whole=whole)
    return Limits(**table)


def _storage(table: Mapping[str, Any], folder: Path) -> Storage:
    _known("storage", table, Storage._fields)
    given = dict(table)
    if "folder" in given:
        given["folder"] = folder / _text("storage.folder", given["folder"])
    if "snapshot_every" in given:
        _positive("storage.snapshot_every", given["snapshot_every"], whole=True)
    if "keep_days" in given:
        _positive("storage.keep_days", given["keep_days"], whole=False)
    return Storage(**given)


def _keys(content: Any) -> tuple[Key, ...]:
    if not isinstance(content, list):
        raise SettingsError(f"keys must be tables, each under [[keys]], got {content!r:.60}")
    keys = [_key(f"keys[{place}]", _table(f"keys[{place}]", k)) for place, k in enumerate(content)]
    for field in ("name", "hash"):
        values = [getattr(key, field) for key in keys]
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice is not None:
            raise SettingsError(f"keys: {field} must differ from key to key, got {twice!r} twice")
    return tuple(keys)


def _key(place: str, table: Mapping[str, Any]) -> Key:
    _known(place, table, Key._fields)
    for key in ("name", "role", "hash"):
        if key not in table:
            raise SettingsError(f"{place}: the key {key} is missing")
    given = {key: _text(f"{place}.{key}", value) for key, value in table.items()}
    if given["role"] not in ROLES:
        raise SettingsError(
            f"{place}.role must be one of {', '.join(ROLES)}, got {given['role']!r}"
        )
    if not is_hash(given["hash"]):
        # The value is not shown: someone may have put the key itself here.
        raise SettingsError(f"{place}.hash must be sha256:…, as `driftbandits key` prints it")
    return Key(**given)  # type: ignore[arg-type]


def _policies(table: Mapping[str, Any], folder: Path) -> dict[str, PolicySettings]:
    return {
        name: _policy(f"policies.{name}", _table(f"policies.{name}", content), folder)
        for name, content in table.items()
    }


def _policy(place: str, table: dict[str, Any], folder: Path) -> PolicySettings:
    _known(place, table, PolicySettings.__struct_fields__)
    if isinstance(table.get("features"), str):
        table["features"] = _declaration(place, folder / table["features"])
    if table.get("default") == "none":  # TOML has no null
        table["default"] = None
    try:
        return PolicySettings.from_dict(table)
    except BadSettings as error:
        raise SettingsError(f"{place}: {error.detail}") from None


def _declaration(place: str, path: Path) -> Any:
    """A declaration of features in a separate file, as ``Features.save`` writes it."""
    try:
        text = path.read_text(encoding="utf-8")
        return json.loads(text) if path.suffix == ".json" else tomllib.loads(text)["features"]
    except OSError as error:
        raise SettingsError(f"{place}.features: {path}: {error.strerror}") from None
    except (ValueError, KeyError) as error:
        raise SettingsError(f"{place}.features: {path}: {error}") from None


def _check_keys_name_policies(settings: Settings) -> None:
    for key in settings.keys:
        if key.policy is not None and key.policy not in settings.policies:
            known = ", ".join(settings.policies) or "none"
            raise SettingsError(
                f"keys: policy of {key.name} must be one of the policies ({known}), "
                f"got {key.policy!r}"
            )


def _known(place: str, table: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in table:
        if key not in keys:
            raise SettingsError(f"{place}: unknown key {key!r}; it takes {', '.join(keys)}")


def _table(place: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise SettingsError(f"{place} must be a table, got {value!r:.60}")
    return dict(value)


def _text(place: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise SettingsError(f"{place} must be a text, got {value!r:.60}")
    return value


def _positive(place: str, value: Any, *, whole: bool) -> None:
    kinds = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value < 2**53:
        what = "a whole number" if whole else "a number"
        raise SettingsError(f"{place} must be {what} above 0, got {value!r:.60}")
