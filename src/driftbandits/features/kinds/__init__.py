"""Kinds of features: how one value becomes a few coordinates."""

from __future__ import annotations

from .base import Ignored, Kind, remark
from .hashed import Hashed, Rest
from .listed import OneHot, Tags
from .numeric import Cyclic, Number

KINDS: dict[str, type[Kind]] = {
    kind.kind: kind for kind in (OneHot, Number, Cyclic, Hashed, Tags, Rest, Ignored)
}

__all__ = [
    "KINDS",
    "Cyclic",
    "Hashed",
    "Ignored",
    "Kind",
    "Number",
    "OneHot",
    "Rest",
    "Tags",
    "remark",
]
