"""What the policies that detect changes have in common: a list of detections that grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..core.arrays import Array
from .base import Policy


@dataclass(frozen=True, kw_only=True, eq=False)
class Detecting(Policy):
    """A policy whose kernels write down after which rounds they detected a change.

    Its state has an array ``detections``, and counts in ``counters`` how much of it is in use.
    Compiled code cannot make an array longer, so its kernel ``fits`` says when it is full.
    """

    detections_counter: ClassVar[int]  # the position of that count

    @property
    def detections(self) -> tuple[int, ...]:
        """Rounds after which a change was declared."""
        count = int(self._state.counters[self.detections_counter])
        return tuple(int(t) for t in self._state.detections[:count])

    def _grown(self, state: Any, rounds: float) -> Any:
        return state._replace(detections=longer(state.detections, 2 * len(state.detections) + 2))

    def _growing(self) -> tuple[str, ...]:
        return ("detections",)

    def _counter_ranges(self, state: Any) -> dict[int, tuple[int, int]]:
        return {self.detections_counter: (0, len(state.detections))}


def longer(array: Array, rows: int) -> Array:
    """``array`` with zeros after it, ``rows`` rows in total."""
    grown = np.zeros((rows, *array.shape[1:]))
    grown[: len(array)] = array
    return grown
