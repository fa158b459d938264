"""What the columns of a log mean: a value that is checked once; it can be printed and compared."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Protocol

import numpy as np

from ..core.arrays import Array, float_array, positive, whole

_OPTIONAL = ("actions", "chosen", "propensity", "reward_time", "count", "id", "policy")
SECONDS: Mapping[str, float] = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "h": 3600.0}


class LogError(ValueError):
    """A log does not match its schema; the message names the row or the column."""


class CannotAnswer(ValueError):  # noqa: N818 - a refusal, not a fault
    """This log cannot answer the question; the message says why and what would help."""


class Encoder(Protocol):
    """Turns a context and named actions into vectors; `driftbandits.features` has one."""

    @property
    def dim(self) -> int:
        """Length of the vectors."""

    def encode(self, context: Mapping[str, Any], actions: Sequence[Any]) -> Array:
        """Vectors (K, d) of the actions in this context."""


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Names of the columns, and facts that hold for all rows of a log.

    A column with a default name may be missing from the log. A column that you name must exist.

    The actions of a row come in one of five layouts:

    - ``actions`` holds K vectors of length d per row (nested lists, or one flat list and ``dim``);
    - ``actions`` names wide columns ``actions_0_0`` … ``actions_{K-1}_{d-1}``;
    - ``actions`` holds the id of a set in a `Catalogue`, or is absent if there is only one set;
    - ``actions`` holds named actions, ``context`` the context, and an encoder makes vectors;
    - ``arms`` names K arms; ``context`` names numeric columns x, or nothing for x = 1. Arm k then
      has the vector e_k ⊗ x: one parameter per arm.

    If only the played action is known, ``action`` holds its vector (a list column, one name per
    coordinate, or the prefix of wide columns). This is enough for drift, memory and fit, but not
    for values.

    Attributes:
        time: Time of the decision: a timestamp, or a number in units of ``unit``.
        actions: The actions that were offered.
        chosen: The action that was played: an index into the set, or the name of an action.
        action: Vector of the played action, if the set is not logged.
        context: Context columns, or one column of structs, for an encoder or for ``arms``.
        arms: Number or names of the arms, with one parameter per arm.
        dim: Length of a vector, needed for flat lists only.
        propensity: Probability with which the action was played, in (0, 1].
        reward: Reward; empty if it is not known yet.
        reward_time: When the reward came; empty means at once.
        count: Number of decisions that an aggregated row stands for; ``reward`` is their mean.
        total: Whether ``reward`` is the sum over ``count`` decisions, such as a number of clicks.
        id: Name of a decision; two rows with the same id are duplicates.
        policy: Name of the logger.
        unit: Unit of numeric times.
        mature_after: Time in hours after which a missing reward means ``default``.
        default: Value of a missing reward after this time.
        reward_bounds: Least and largest possible reward, if known. Anytime intervals need them, and
            a row with a reward outside them is bad.

    Examples:
        >>> from driftbandits.logs import Schema
        >>> Schema(time="timestamp", reward="click", mature_after=0.5).reward
        'click'
    """

    time: str = "time"
    actions: str | None = "actions"
    chosen: str | None = "chosen"
    action: str | tuple[str, ...] | None = None
    context: str | tuple[str, ...] | None = None
    arms: int | tuple[str, ...] | None = None
    dim: int | None = None
    propensity: str | None = "propensity"
    reward: str = "reward"
    reward_time: str | None = "reward_time"
    count: str | None = "count"
    total: bool = False
    id: str | None = "id"
    policy: str | None = "policy"
    unit: str = "s"
    mature_after: float | None = None
    default: float = 0.0
    reward_bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for name in ("time", "reward", *_OPTIONAL):
            value = getattr(self, name)
            if not isinstance(value, str) and not (value is None and name in _OPTIONAL):
                raise ValueError(f"{name} must be the name of a column, got {value!r}")
        if self.unit not in SECONDS:
            raise ValueError(f"unit must be one of {', '.join(SECONDS)}, got {self.unit!r}")
        if self.mature_after is not None:
            positive("mature_after", self.mature_after)
        if not math.isfinite(self.default):
            raise ValueError(f"default must be finite, got {self.default!r}")
        if self.dim is not None:
            whole("dim", self.dim, least=1)
        if isinstance(self.arms, int):
            whole("arms", self.arms, least=1)
        elif self.arms is not None and len(set(self.arms)) != len(self.arms):
            raise ValueError(f"arms must have different names, got {self.arms!r}")
        if self.reward_bounds is not None and not self.reward_bounds[0] < self.reward_bounds[1]:
            raise ValueError(
                f"reward_bounds must be (least, largest) with least below largest, "
                f"got {self.reward_bounds!r}"
            )

    def named(self, field: str) -> bool:
        """Whether the user named this column, so that it must exist."""
        default = next(f.default for f in fields(self) if f.name == field)
        return default is MISSING or getattr(self, field) not in (None, default)

    @property
    def arm_names(self) -> tuple[str, ...]:
        """Names of the arms; numbers if only their count is given."""
        if isinstance(self.arms, int):
            return tuple(str(k) for k in range(self.arms))
        return self.arms or ()


class Catalogue:
    """Sets of actions by id, so that a log need not repeat their vectors in every row.

    Args:
        sets: For each id the vectors (K, d), or a mapping from names of actions to vectors (d,).

    Examples:
        >>> import numpy as np
        >>> from driftbandits.logs import Catalogue
        >>> catalogue = Catalogue({"home": {"a": [1.0, 0.0], "b": [0.0, 1.0]}, "news": np.eye(2)})
        >>> catalogue.dim, catalogue.names
        (2, ('a', 'b', '0', '1'))
    """

    def __init__(self, sets: Mapping[Any, Any]) -> None:
        if not sets:
            raise ValueError("sets must hold at least one set of actions, got none")
        self.first: dict[Any, int] = {}
        self.size: dict[Any, int] = {}
        rows: list[Array] = []
        labels: list[str] = []
        total = 0
        for key, actions in sets.items():
            named = isinstance(actions, Mapping)
            values = list(actions.values()) if named else actions
            vectors = float_array(f"set {key!r}", values, ndim=2)
            if len(vectors) == 0 or (rows and vectors.shape[1] != rows[0].shape[1]):
                raise ValueError(
                    f"set {key!r} must have shape (K, d) with the same d in all sets and K of at "
                    f"least 1, got {vectors.shape}"
                )
            labels += [str(n) for n in actions] if named else [str(k) for k in range(len(vectors))]
            self.first[key], self.size[key] = total, len(vectors)
            total += len(vectors)
            rows.append(vectors)
        self.vectors: Array = np.concatenate(rows)
        self.labels = labels
        self.names = tuple(dict.fromkeys(labels))

    @property
    def stamp(self) -> str:
        """A hash that changes if the sets change."""
        told = f"{self.first} {self.size} {self.labels}".encode()
        return hashlib.sha256(told + self.vectors.tobytes()).hexdigest()

    @property
    def dim(self) -> int:
        """Length d of the vectors."""
        return int(self.vectors.shape[1])

    @property
    def only(self) -> Any:
        """The id of the only set; refuses several sets."""
        if len(self.first) != 1:
            raise LogError(
                f"the log needs a column of set ids, since the catalogue has {len(self.first)} sets"
            )
        return next(iter(self.first))
