"""The decisions that the client returns, and the two errors that it raises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What to show.

    Attributes:
        event_id: Name of the decision.
        action: The action to show.
        propensity: Probability with which it is shown; None for a fallback.
        ranking: All actions that could be shown, the one to show first.
        round: Round of the policy; None for a fallback.
        policy_version: Number of times that the settings of the policy were set.
        mode: "live", "shadow", or "fallback" if the service could not be reached.
        repeated: Whether the service had answered this decision before.
    """

    event_id: str
    action: str
    propensity: float | None
    ranking: tuple[str, ...] = field(repr=False, default=())
    round: float | None = None
    policy_version: int | None = None
    mode: str = "live"
    repeated: bool = False

    @property
    def fallback(self) -> bool:
        """Whether the service could not be reached, and the caller's own fallback is shown."""
        return self.mode == "fallback"

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Self:
        """The decision in the service's answer."""
        return cls(
            event_id=answer["event_id"],
            action=answer["action"],
            propensity=answer["propensity"],
            ranking=tuple(answer["ranking"]),
            round=answer["round"],
            policy_version=answer["policy_version"],
            mode=answer["mode"],
            repeated=answer["repeated"],
        )


class Unreachable(Exception):  # noqa: N818 - named after what happened
    """In every attempt the service did not answer or was too busy."""


class Refused(Exception):  # noqa: N818 - named after what happened
    """The service answered that it cannot do this.

    Attributes:
        status: HTTP status code.
        problem: The problem document (RFC 9457): type, title, detail, and sometimes field.
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status, self.problem = status, dict(problem)
        place = f" at {problem['field']}" if problem.get("field") else ""
        super().__init__(f"{problem.get('title', status)}{place}: {problem.get('detail', '')}")
