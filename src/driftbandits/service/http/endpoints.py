"""The endpoints under /v1: they decode bodies, run commands of the house, and encode answers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

import msgspec

from ..errors import BadRequest, ServiceError
from ..house import House
from ..messages import ActivationAnswer, DecisionAnswer, DecisionRequest, PolicyView, RewardAnswer
from ..policy_settings import PolicySettings
from ..warming import warm
from .bodies import Body, DecisionBody
from .limits import Limits
from .problems import Problem, of_service
from .routing import Answer, Call, Query, Route, json_answer, query_values
from .shapes import (
    ActionBody,
    ActionView,
    DecisionBatch,
    EventPage,
    PolicyList,
    Results,
    RewardBatch,
    RewardBody,
    SnapshotView,
)

# A batch lets other requests run after this many entries, so that they need not wait for its end.
_BATCH_PIECE = 16

_AFTER = Query("after", 0, 0, 2**63 - 1, "Number of the last event that the client has.")
_LIMIT = Query("limit", 100, 1, 1000, "Number of events to read, of all policies together.")


class Endpoints:
    """The endpoints on one house."""

    def __init__(self, house: House, limits: Limits) -> None:
        self._house, self._limits = house, limits
        self._decision = DecisionBody(limits)
        self._decisions = Body(DecisionBatch, limits)
        self._reward = Body(RewardBody, limits)
        self._rewards = Body(RewardBatch, limits)
        self._settings = Body(dict[str, Any], limits)
        self._action = Body(ActionBody, limits)

    def routes(self) -> list[Route]:
        """All routes of this class, with their texts for the OpenAPI description."""
        decision, policy = "/v1/decisions/{event_id}", "/v1/policies/{policy}"
        return [
            Route("POST", f"{policy}/decisions", "writer", self.decide, "Decide what to show.",
                  takes=DecisionRequest, gives=DecisionAnswer, refusals=(404, 409)),
            Route("POST", f"{policy}/decisions:batch", "writer", self.decide_many,
                  "Decide many times, in order.", takes=DecisionBatch, gives=Results,
                  refusals=(404,), slow=True),
            Route("POST", f"{decision}/reward", "writer", self.reward,
                  "Send the reward of a decision.", takes=RewardBody, gives=RewardAnswer,
                  refusals=(404, 409)),
            Route("POST", f"{decision}/activate", "writer", self.activate,
                  "Report that a deferred decision was shown.", gives=ActivationAnswer,
                  refusals=(404,)),
            Route("POST", "/v1/rewards:batch", "writer", self.reward_many,
                  "Send many rewards, in order.", takes=RewardBatch, gives=Results, slow=True),
            Route("GET", "/v1/policies", "reader", self.policies, "List the policies.",
                  gives=PolicyList),
            Route("GET", policy, "reader", self.policy, "Show a policy.", gives=PolicyView,
                  refusals=(404,)),
            Route("PUT", policy, "admin", self.put_policy, "Create or change a policy.",
                  takes=PolicySettings, gives=PolicyView, slow=True),
            Route("DELETE", policy, "admin", self.delete_policy, "Delete a policy.", status=204,
                  refusals=(404,)),
            Route("POST", f"{policy}/promote", "admin", self.promote,
                  "Change a policy from shadow to live.", gives=PolicyView, refusals=(404, 409)),
            Route("PUT", f"{policy}/actions/{{action}}", "writer", self.put_action,
                  "Add an action to the catalogue, to offer it by its id.", takes=ActionBody,
                  gives=ActionView, refusals=(404,)),
            Route("DELETE", f"{policy}/actions/{{action}}", "writer", self.remove_action,
                  "Remove an action from the catalogue.", status=204, refusals=(404,)),
            Route("POST", f"{policy}/snapshot", "admin", self.snapshot,
                  "Write a snapshot of all policies, for a quick start.", gives=SnapshotView,
                  refusals=(404,)),
            Route("GET", f"{policy}/events", "reader", self.events,
                  "Page through the events of a policy.", gives=EventPage,
                  queries=(_AFTER, _LIMIT), refusals=(404,)),
            Route("GET", f"{policy}/diagnostics", "reader", self.diagnostics,
                  "Show counts, estimates and delays of a policy.", gives=dict[str, Any],
                  refusals=(404,)),
        ]  # fmt: skip

    def decide(self, call: Call) -> Answer:
        """POST …/decisions."""
        request = self._decision.read(call.body)
        self._check_actions(request, "$")
        return json_answer(self._house.decide(call.names[0], request))

    async def decide_many(self, call: Call) -> Answer:
        """POST …/decisions:batch."""
        name, requests = call.names[0], self._decisions.read(call.body).decisions
        self._check_batch(requests, "$.decisions")
        for place, request in enumerate(requests):
            self._check_actions(request, f"$.decisions[{place}]")
        self._house.policy(name)  # an unknown policy refuses the batch as a whole
        return await _each([_bound(self._house.decide, name, request) for request in requests])

    def reward(self, call: Call) -> Answer:
        """POST …/reward."""
        value = _finite(self._reward.read(call.body).reward, "$.reward")
        return json_answer(self._house.reward(call.names[0], value))

    async def reward_many(self, call: Call) -> Answer:
        """POST /v1/rewards:batch."""
        rewards = self._rewards.read(call.body).rewards
        self._check_batch(rewards, "$.rewards")
        for place, entry in enumerate(rewards):
            _finite(entry.reward, f"$.rewards[{place}].reward")
        house = self._house
        return await _each([_bound(house.reward, one.event_id, one.reward) for one in rewards])

    def activate(self, call: Call) -> Answer:
        """POST …/activate."""
        return json_answer(self._house.activate(call.names[0]))

    def policies(self, call: Call) -> Answer:
        """GET /v1/policies."""
        return json_answer(PolicyList(policies=self._house.policies()))

    def policy(self, call: Call) -> Answer:
        """GET /v1/policies/{policy}."""
        return json_answer(self._house.policy(call.names[0]))

    async def put_policy(self, call: Call) -> Answer:
        """PUT /v1/policies/{policy}."""
        settings = PolicySettings.from_dict(self._settings.read(call.body))
        # A new learner may have to be compiled; a thread lets other requests run meanwhile.
        await asyncio.to_thread(warm, settings)
        return json_answer(self._house.put_policy(call.names[0], settings))

    def promote(self, call: Call) -> Answer:
        """POST …/promote."""
        return json_answer(self._house.promote(call.names[0]))

    def delete_policy(self, call: Call) -> Answer:
        """DELETE /v1/policies/{policy}."""
        self._house.delete_policy(call.names[0])
        return Answer(204, b"")

    def put_action(self, call: Call) -> Answer:
        """PUT …/actions/{action}."""
        policy, action = call.names
        self._house.put_action(policy, action, self._action.read(call.body).features)
        return json_answer(ActionView(policy=policy, action=action))

    def remove_action(self, call: Call) -> Answer:
        """DELETE …/actions/{action}."""
        self._house.remove_action(*call.names)
        return Answer(204, b"")

    def snapshot(self, call: Call) -> Answer:
        """POST …/snapshot."""
        self._house.policy(call.names[0])
        return json_answer(SnapshotView(event=self._house.snapshot()))

    def events(self, call: Call) -> Answer:
        """GET …/events."""
        after, limit = query_values(call.query, (_AFTER, _LIMIT))
        name = call.names[0]
        self._house.policy(name)
        # Read one page of the whole journal. Searching on for events of a rare policy could take
        # minutes and block all other requests.
        page = self._house.events(None, after=after, limit=limit)
        found = [event for event in page if event["policy"] == name]
        return json_answer(EventPage(events=found, next=page[-1]["number"] if page else after))

    def diagnostics(self, call: Call) -> Answer:
        """GET …/diagnostics."""
        return json_answer(self._house.diagnostics(call.names[0]))

    def _check_actions(self, request: DecisionRequest, place: str) -> None:
        if len(request.actions) > self._limits.actions:
            rule = f"must have at most {self._limits.actions} entries, got {len(request.actions)}"
            raise _refused(rule, f"{place}.actions")

    def _check_batch(self, entries: list[Any], place: str) -> None:
        if not 1 <= len(entries) <= self._limits.batch:
            rule = f"must have from 1 to {self._limits.batch} entries, got {len(entries)}"
            raise _refused(rule, place)


def _bound(command: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    return lambda: command(*arguments)


async def _each(commands: list[Callable[[], Any]]) -> Answer:
    """The results of the commands, in order; a refused command does not stop the others."""
    results = list[dict[str, Any]]()
    for place, command in enumerate(commands, start=1):
        try:
            results.append({"status": 200, "answer": command()})
        except ServiceError as error:
            problem = of_service(error)
            results.append({"status": problem.status, "problem": problem.document()})
        if place % _BATCH_PIECE == 0:
            await asyncio.sleep(0)
    return Answer(200, msgspec.json.encode({"results": results}))


def _finite(value: float, place: str) -> float:
    if not math.isfinite(value):
        raise _refused(f"must be a finite number, got {value}", place)
    return value


def _refused(rule: str, place: str) -> Problem:
    return Problem(BadRequest.status, BadRequest.code, BadRequest.title, rule, field=place)
