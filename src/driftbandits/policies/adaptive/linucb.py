"""AdaptiveLinUCB: learns how fast to forget, from how well each memory predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...core.arrays import Array
from ...core.entry_points import Kernels
from ..registry import register
from .migration import is_earlier, migrated
from .policy import ADAPTIVE, AdaptivePolicy


@register("AdaptiveLinUCB", "learns how fast to forget; for any drift, told nothing of it")
@dataclass(frozen=True, kw_only=True, eq=False)
class AdaptiveLinUCB(AdaptivePolicy):
    """Learns how fast to forget, a level that moves, and the noise, from the rewards alone.

    Two banks of discounted estimators with memories 2c, 8c, 32c, … and "for ever" see every reward.
    The anchored bank takes the level of all rewards to be fixed. The centred bank looks at
    distances from running means, so that a level that moves cancels. Weights say how well each
    expert has predicted of late. An expert that shorter ones have refuted starts again from the
    best of them.

        play argmax aᵀθ_x + c σ̂ ‖a − ā‖_{V_x⁻¹}

    x is the expert of the bank in force at which 40% of the weight is reached, shorter memories
    first. ā is zero in the anchored bank, and the mean of recent actions in the centred one. One
    round in 10 is an audit. If an expert of shorter memory would play what it hardly knows by now,
    it does: so what has not been played for long is tried again.

    Choices do not depend on the scale of rewards, a constant added to all of them, or the scale of
    any feature, and actions may have any norm. Entries below 1e-50 in size count as zeros. Nothing
    is drawn at random.
    ``detections`` are rounds after which "nothing has changed since the last of these" was refuted.
    There is no regret bound: docs/explanation/adaptive.md says what is proved, measured, and weak.

    Examples:
        >>> from driftbandits import AdaptiveLinUCB
        >>> policy = AdaptiveLinUCB(dim=1)
        >>> for t in range(400):
        ...     x = (-1) ** (t // 2)
        ...     policy.update([x], x * (1.0 if t < 300 else -1.0) + 0.1 * (-1) ** t)
        >>> policy.detections
        (301,)
        >>> policy.theta.round(1)
        array([-1.])
    """

    kernels: ClassVar[Kernels] = ADAPTIVE

    def scores(self, actions: Any) -> Array:
        """What is maximised, for every action of ``actions`` (K, d), shape (K,).

        In an audit that is the score by a shorter memory, and not aᵀθ_x + radius · width.
        """
        return self._scores(actions)

    def _checked(self, arrays: dict[str, Any], initial: Any) -> Any:
        """A state of release 0.1.0 becomes one of today."""
        today = migrated(arrays, self.dim) if is_earlier(arrays) else arrays
        return super()._checked(today, initial)
