"""AdaptiveLinUCB: learns how fast to forget, from how well each memory predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...core.entry_points import Kernels
from ..registry import register
from .migration import is_earlier, migrated
from .policy import ADAPTIVE, AdaptivePolicy


@register("AdaptiveLinUCB", "learns how fast to forget; for any drift, told nothing of it")
@dataclass(frozen=True, kw_only=True, eq=False)
class AdaptiveLinUCB(AdaptivePolicy):
    """Learns how fast to forget, a moving level, and the noise, from the rewards alone.

    Two banks of discounted estimators, the experts, see every reward. Their memories are 2, 8,
    32, … times ``coordinates``, and the last expert of a bank never forgets. The anchored bank
    assumes that the level of all rewards is fixed. The centred bank uses distances from running
    means, so that a moving level cancels. The weight of an expert says how well it has predicted
    recent rewards. If experts of shorter memory refute an expert, it starts again from the best of
    them.

        play argmax aᵀθ_x + σ̂ ‖a − ā‖_{V_x⁻¹}

    The norm grows by the uncertainty of the level, and for actions that are little known. x is the
    expert in force: the first expert at which the weights of the bank in force sum to 40%,
    shorter memories first. ā is zero in the anchored bank, and the mean of recent actions in the
    centred bank. One round in 10 is an audit. If an expert of shorter memory would then play an
    action that it hardly knows, the policy plays this action. So it retries actions that were not
    played for long.

    Choices depend neither on the scale of rewards, nor on a constant added to all of them, nor on
    the scale of any feature. Actions may have any norm. Entries below 1e-50 in size count as zeros.
    Nothing is drawn at random.
    ``detections`` are rounds after which "nothing has changed since the last detection" was
    refuted. There is no regret bound: docs/explanation/adaptive.md says what is proved, and where
    the policy is weak. docs/results/adaptive.md says what was measured.

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

    def _checked(self, arrays: dict[str, Any], initial: Any) -> Any:
        """Like the base class; also accepts a state that release 0.1.0 saved, and migrates it."""
        today = migrated(arrays, self.dim) if is_earlier(arrays) else arrays
        return super()._checked(today, initial)
