"""Reads request bodies: checks their size, decodes them, and names the place of an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import msgspec

from ..messages import DecisionRequest
from ..recurring import Actions, Recurring, undecoded
from .heads import Headers
from .limits import Limits
from .problems import Problem, of_value

Value = TypeVar("Value")


def check_length(headers: Headers, limits: Limits) -> None:
    """Refuse a request whose Content-Length is too large."""
    for name, value in headers:
        if name == b"content-length" and int(value) > limits.body_bytes:
            raise too_long(limits)


def too_long(limits: Limits) -> Problem:
    """The refusal of a body that is too long."""
    rule = f"a body must have at most {limits.body_bytes} bytes"
    return Problem(413, "body_too_long", "Body too long", rule)


class Body(Generic[Value]):
    """Decodes bodies into values of one type."""

    def __init__(self, kind: type[Value], limits: Limits) -> None:
        self._decode = msgspec.json.Decoder(kind).decode
        self._depth = limits.depth

    def read(self, body: bytes) -> Value:
        """Decode a body; the refusal of a wrong body names the place of the error."""
        try:
            value = self._decode(body)
        except msgspec.ValidationError as error:
            raise of_value(error) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Problem(400, "not_json", "Body is not JSON", str(error)) from None
        except RecursionError:
            raise _too_deep(self._depth) from None
        self._check_depth(body, value)
        return value

    def _check_depth(self, body: bytes, value: Any) -> None:
        # Each level needs an opening bracket, so a body with few brackets is not deep.
        if body.count(b"{") + body.count(b"[") > self._depth and _deeper(value, self._depth):
            raise _too_deep(self._depth)


class DecisionBody(Body[DecisionRequest]):
    """Decodes requests for decisions; lists of actions that came before are not decoded again."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(DecisionRequest, limits)
        self._around = msgspec.json.Decoder(undecoded(DecisionRequest, "actions")).decode
        self._actions = Recurring(msgspec.json.Decoder(Actions).decode)

    def read(self, body: bytes) -> DecisionRequest:
        """Decode a body; the refusal of a wrong body names the place of the error."""
        try:
            found: Any = self._around(body)
            actions = self._actions.read(found.actions)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return super().read(body)  # raises a refusal that names the place of the error
        request = DecisionRequest(
            actions=actions,
            event_id=found.event_id,
            context=found.context,
            exclude=found.exclude,
            defer=found.defer,
            baseline=found.baseline,
        )
        self._check_depth(body, request)
        return request


def _too_deep(depth: int) -> Problem:
    rule = f"objects and lists must be nested at most {depth} deep"
    return Problem(422, "too_deep", "Body nested too deeply", rule)


def _deeper(value: Any, depth: int) -> bool:
    """Whether objects and lists are nested more than ``depth`` deep."""
    level: Sequence[Any] = [value]
    for _ in range(depth):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Sequence[Any]:
    """The containers directly inside a value; empty if it is not a container."""
    if isinstance(value, msgspec.Struct):
        value = [getattr(value, name) for name in value.__struct_fields__]
    elif isinstance(value, dict):
        value = list(value.values())
    elif not isinstance(value, (list, tuple)):
        return ()
    return [inner for inner in value if isinstance(inner, (dict, list, tuple, msgspec.Struct))]
