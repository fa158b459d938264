"""Requests and retries, without network code.

Each call is a generator. It yields a request to send or a time to wait, and receives the response
or the error. `Client` and `AsyncClient` run the same generators.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote

import httpx

from .values import Decision, Refused, Unreachable

Result = TypeVar("Result")
Actions: TypeAlias = Mapping[str, Mapping[str, Any] | None] | Sequence[str | Mapping[str, Any]]

_AGAIN = (429, 502, 503, 504)  # retry: nothing has happened, or the same id gets the same answer
_LONGEST_PAUSE = 2.0  # seconds


class Wish(NamedTuple):
    """A request to send."""

    method: str
    path: str
    body: Any = None


class Pause(NamedTuple):
    """A time to wait."""

    seconds: float


Talk: TypeAlias = Generator[Wish | Pause, httpx.Response | httpx.TransportError | None, Result]


class Manners(NamedTuple):
    """Number of retries, and seconds before the first; the pause doubles before each next one."""

    retries: int
    pause: float


def ask(wish: Wish, manners: Manners) -> Talk[Any]:
    """The answer to a request, with retries if they can help; every request can be repeated."""
    reason, pause = "", 0.0
    for attempt in range(manners.retries + 1):
        if attempt:
            yield Pause(min(pause, _LONGEST_PAUSE))
        outcome = yield wish
        assert outcome is not None
        pause = manners.pause * 2.0**attempt
        if isinstance(outcome, httpx.TransportError):
            reason = f"{type(outcome).__name__}: {outcome}"
        elif outcome.status_code in _AGAIN:
            reason = f"status {outcome.status_code}"
            pause = max(pause, _retry_after(outcome))
        else:
            return _content(outcome)
    raise Unreachable(f"{wish.method} {wish.path}, {manners.retries + 1} times: {reason}")


def _retry_after(response: httpx.Response) -> float:
    text = response.headers.get("retry-after", "0")
    return float(text) if text.isdigit() else 0.0


def _content(response: httpx.Response) -> Any:
    if response.is_success:
        return response.json() if response.content else None
    try:
        problem = response.json()
    except ValueError:
        problem = {"title": response.reason_phrase}
    raise Refused(response.status_code, problem if isinstance(problem, dict) else {})


def decide(
    policy: str,
    actions: Actions,
    *,
    context: Mapping[str, Any] | None,
    event_id: str | None,
    exclude: Iterable[str],
    defer: bool,
    baseline: str | None,
    fallback: str | None,
    manners: Manners,
) -> Talk[Decision]:
    """A decision, or the fallback if the service does not answer."""
    offered = _offered(actions)
    names = [entry if isinstance(entry, str) else entry["id"] for entry in offered]
    if fallback is not None and fallback not in names:
        raise ValueError(f"fallback must be one of the actions, got {fallback!r}")
    # The client makes the id, so that a retry cannot decide twice.
    event_id = new_event_id() if event_id is None else event_id
    body: dict[str, Any] = {"event_id": event_id, "context": context or {}, "actions": offered}
    body |= {"exclude": list(exclude), "defer": defer}
    if baseline is not None:
        body["baseline"] = baseline
    try:
        answer = yield from ask(Wish("POST", f"{policy_path(policy)}/decisions", body), manners)
    except Unreachable:
        if fallback is None:
            raise
        return Decision(event_id=event_id, action=fallback, propensity=None, mode="fallback")
    return Decision.of(answer)


def tell(decision: Decision | str, what: str, body: Any, manners: Manners) -> Talk[str]:
    """The status that the service answers to a reward or an activation."""
    if isinstance(decision, Decision) and decision.fallback:
        # The service may have chosen another action, and its answer was lost. Then the reward of
        # the fallback would be learned for the wrong action.
        return "not_decided"
    event_id = decision if isinstance(decision, str) else decision.event_id
    path = f"/v1/decisions/{quote(event_id, safe='')}/{what}"
    answer = yield from ask(Wish("POST", path, body), manners)
    return str(answer["status"])


def policy_path(policy: str) -> str:
    """The path of a policy."""
    return f"/v1/policies/{quote(policy, safe='')}"


def action_path(policy: str, action: str) -> str:
    """The path of an action of a policy."""
    return f"{policy_path(policy)}/actions/{quote(action, safe='')}"


def new_event_id() -> str:
    """A unique name. Later names sort later, which suits the index of a journal."""
    return f"{time.time_ns():016x}{secrets.token_hex(6)}"


def _offered(actions: Actions) -> list[Any]:
    if isinstance(actions, Mapping):
        return [
            name if features is None else {"id": name, "features": dict(features)}
            for name, features in actions.items()
        ]
    return [entry if isinstance(entry, str) else dict(entry) for entry in actions]
