"""Named tuples with more fields than another: a state or parameters that build on a family's."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def extended(base: type[Any], *fields: str, module: str) -> Any:
    """A named tuple with the fields of ``base`` and then ``fields``, as ``module`` defines it.

    It has the name of ``base``, and goes under that name in its module, so that it can be pickled.
    """
    return namedtuple(base.__name__, (*base._fields, *fields), module=module)
