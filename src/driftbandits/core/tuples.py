"""Named tuples that extend others: a policy's state or parameters extend those of its family."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def extended(base: type[Any], *fields: str, module: str) -> Any:
    """A named tuple with the fields of ``base`` and then ``fields``, as ``module`` defines it.

    It has the name of ``base``. Assign it to that name in ``module``, so that it can be pickled.
    """
    return namedtuple(base.__name__, (*base._fields, *fields), module=module)
