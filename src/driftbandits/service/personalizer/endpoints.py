"""Rank, reward and activate of Personalizer v1.0, as commands of the house."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from ..errors import BadRequest
from ..house import House
from ..http.bodies import Body
from ..http.limits import Limits
from ..http.problems import Problem, headers_of
from ..http.routing import Answer, Call, Route, json_answer
from ..messages import DecisionAnswer, DecisionRequest, NamedAction
from .messages import Error, ErrorResponse, RankedAction, RankRequest, RankResponse, RewardRequest

_ROOT = "/personalizer/v1.0"
_CODES = {404: "ResourceNotFound", 500: "InternalServerError"}  # everything else: BadRequest


class Personalizer:
    """The three calls of Personalizer's clients.

    Their paths do not name a policy. They use the policy of the key, or else the only policy.
    """

    def __init__(self, house: House, limits: Limits) -> None:
        self._house, self._limits = house, limits
        self._rank = Body(RankRequest, limits)
        self._reward = Body(RewardRequest, limits)

    def routes(self) -> list[Route]:
        """All routes of this class."""
        event = f"{_ROOT}/events/{{event_id}}"
        return [
            Route("POST", f"{_ROOT}/rank", "writer", self.rank, "Personalizer: rank actions.",
                  takes=RankRequest, gives=RankResponse, status=201, refusals=(404, 409),
                  refusal=error_answer),
            Route("POST", f"{event}/reward", "writer", self.personalizer_reward,
                  "Personalizer: send a reward.", takes=RewardRequest, status=204,
                  refusals=(404, 409), refusal=error_answer),
            Route("POST", f"{event}/activate", "writer", self.personalizer_activate,
                  "Personalizer: report that a deferred decision was shown.", status=204,
                  refusals=(404,), refusal=error_answer),
        ]  # fmt: skip

    def rank(self, call: Call) -> Answer:
        """POST …/rank."""
        asked = self._rank.read(call.body)
        if len(asked.actions) > self._limits.actions:
            raise _bad(f"actions must have at most {self._limits.actions} entries", "$.actions")
        answer = self._house.decide(self._policy(call), _request(asked))
        return json_answer(_response(asked, answer), status=201)

    def personalizer_reward(self, call: Call) -> Answer:
        """POST …/events/{eventId}/reward."""
        value = self._reward.read(call.body).value
        if not math.isfinite(value):
            raise _bad(f"value must be a finite number, got {value}", "$.value")
        self._house.reward(call.names[0], value)
        return Answer(204, b"")

    def personalizer_activate(self, call: Call) -> Answer:
        """POST …/events/{eventId}/activate."""
        self._house.activate(call.names[0])
        return Answer(204, b"")

    def _policy(self, call: Call) -> str:
        if call.caller.policy is not None:
            return call.caller.policy
        names = [view.name for view in self._house.policies()]
        if len(names) != 1:
            rule = f"the key must name its policy unless there is only one; there are {len(names)}"
            raise _bad(rule, "Ocp-Apim-Subscription-Key")
        return names[0]


def _bad(detail: str, field: str) -> Problem:
    return Problem(400, BadRequest.code, BadRequest.title, detail, field=field)


def _request(asked: RankRequest) -> DecisionRequest:
    """The same request for the house.

    Personalizer's baseline is the first action that is not excluded: apprentice mode shows it, and
    the policy is compared with it.
    """
    return DecisionRequest(
        event_id=asked.event_id,
        context=_merged(asked.context_features),
        actions=[NamedAction(id=one.id, features=_merged(one.features)) for one in asked.actions],
        exclude=asked.excluded_actions or [],
        defer=bool(asked.defer_activation),
    )


def _merged(objects: list[dict[str, Any]] | None) -> dict[str, Any]:
    """Merge several objects: namespaces with the same name are joined, other values replaced.

    Examples:
        >>> _merged([{"user": {"age": 3}}, {"user": {"city": "Oslo"}}, {"hour": 7}])
        {'user': {'age': 3, 'city': 'Oslo'}, 'hour': 7}
    """
    merged: dict[str, Any] = {}
    for table in objects or ():
        for name, value in table.items():
            known = merged.get(name)
            if isinstance(known, dict) and isinstance(value, dict):
                value = {**known, **value}
            merged[name] = value
    return merged


def _response(asked: RankRequest, answer: DecisionAnswer) -> RankResponse:
    """The ranking, with excluded actions at their positions in the request."""
    ranking = [
        RankedAction(id=action, probability=probability)
        for action, probability in zip(answer.ranking, answer.probabilities, strict=True)
    ]
    excluded = set(asked.excluded_actions or ())
    for place, action in enumerate(asked.actions):
        if action.id in excluded:
            ranking.insert(place, RankedAction(id=action.id, probability=0.0))
    return RankResponse(ranking=ranking, event_id=answer.event_id, reward_action_id=answer.action)


def error_answer(problem: Problem) -> Answer:
    """A refusal in Personalizer's format."""
    error = Error(
        code=_CODES.get(problem.status, "BadRequest"),
        message=f"{problem.title}: {problem.detail}",
        target=problem.field or None,
    )
    # Personalizer answers 400 to every request that it does not understand.
    status = 400 if problem.status == 422 else problem.status
    body = msgspec.json.encode(ErrorResponse(error=error))
    return Answer(status, body, headers=headers_of(problem)[1:])
