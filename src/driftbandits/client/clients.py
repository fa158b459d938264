"""The two clients: one for threads, one for asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Iterable, Mapping
from typing import Any, Self, TypeVar

import httpx

from . import conversation
from .conversation import Actions, Manners, Pause, Talk, Wish
from .values import Decision

Result = TypeVar("Result")


class _Calls:
    """Makes the generators of `conversation`; a client runs them."""

    def __init__(self, manners: Manners) -> None:
        self._manners = manners

    def decide(self, policy: str, actions: Actions, **options: Any) -> Talk[Decision]:
        return conversation.decide(policy, actions, manners=self._manners, **options)

    def tell(self, decision: Decision | str, what: str, body: Any = None) -> Talk[str]:
        return conversation.tell(decision, what, body, self._manners)

    def ask(self, method: str, path: str, body: Any = None) -> Talk[Any]:
        return conversation.ask(Wish(method, path, body), self._manners)


def _options(key: str | None, timeout: float) -> dict[str, Any]:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return {"headers": headers, "timeout": timeout}


class Client:
    """A blocking client of the decision service; threads can share it.

    Args:
        url: Address of the service, such as ``http://127.0.0.1:8080``.
        key: Key, if the service needs one.
        timeout: Seconds for each attempt.
        retries: Number of further attempts if the service does not answer or is too busy. They
            have the same event id, so that nothing is decided or learned twice.
        pause: Seconds before the second attempt; the pause doubles before each further attempt.
        transport: An httpx transport, for tests and proxies.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 1.0,
        retries: int = 2,
        pause: float = 0.05,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(base_url=url, transport=transport, **_options(key, timeout))
        self._calls = _Calls(Manners(retries=retries, pause=pause))

    def decide(
        self,
        policy: str,
        actions: Actions,
        *,
        context: Mapping[str, Any] | None = None,
        event_id: str | None = None,
        exclude: Iterable[str] = (),
        defer: bool = False,
        baseline: str | None = None,
        fallback: str | None = None,
    ) -> Decision:
        """Decide what to show.

        Args:
            policy: Name of the policy.
            actions: A dictionary from ids to features, or a list of ids or of
                ``{"id": …, "features": …}``.
            context: Features of the situation, such as the user and the time of day.
            event_id: Name of the decision; the default is a new name.
            exclude: Ids of actions that must not be shown this time.
            defer: Whether the decision counts only after it is activated.
            baseline: The action that would be shown without this policy.
            fallback: Action to show if the service cannot be reached. Without a fallback, this
                raises `Unreachable`.
        """
        options = {"context": context, "event_id": event_id, "exclude": exclude, "defer": defer}
        options |= {"baseline": baseline, "fallback": fallback}
        return self._hold(self._calls.decide(policy, actions, **options))

    def reward(self, decision: Decision | str, reward: float) -> str:
        """Send the reward of a decision, and return the status of the service's answer.

        "not_decided" means that the decision was a fallback. Then nothing is sent, because the
        service may have chosen another action.
        """
        return self._hold(self._calls.tell(decision, "reward", {"reward": reward}))

    def activate(self, decision: Decision | str) -> str:
        """Report that a deferred decision was shown, and return the status of the answer."""
        return self._hold(self._calls.tell(decision, "activate"))

    def put_policy(self, policy: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Create or change a policy, and return it."""
        path = conversation.policy_path(policy)
        return dict(self._hold(self._calls.ask("PUT", path, dict(settings))))

    def put_action(self, policy: str, action: str, features: Mapping[str, Any] | None) -> None:
        """Add an action to the catalogue, to offer it by its id."""
        path = conversation.action_path(policy, action)
        self._hold(self._calls.ask("PUT", path, {"features": features}))

    def diagnostics(self, policy: str) -> dict[str, Any]:
        """Counts, estimates and delays of a policy."""
        path = f"{conversation.policy_path(policy)}/diagnostics"
        return dict(self._hold(self._calls.ask("GET", path)))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _hold(self, talk: Generator[Wish | Pause, Any, Result]) -> Result:
        outcome: httpx.Response | httpx.TransportError | None = None
        while True:
            try:
                wish = talk.send(outcome)
            except StopIteration as end:
                result: Result = end.value
                return result
            if isinstance(wish, Pause):
                time.sleep(wish.seconds)
                outcome = None
                continue
            try:
                outcome = self._http.request(wish.method, wish.path, json=wish.body)
            except httpx.TransportError as error:
                outcome = error


class AsyncClient:
    """A client of the decision service for asyncio, with the methods of `Client`.

    Args:
        url: Address of the service, such as ``http://127.0.0.1:8080``.
        key: Key, if the service needs one.
        timeout: Seconds for each attempt.
        retries: Number of further attempts.
        pause: Seconds before the second attempt; the pause doubles before each further attempt.
        transport: An httpx transport, for tests and proxies.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 1.0,
        retries: int = 2,
        pause: float = 0.05,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = httpx.AsyncClient(base_url=url, transport=transport, **_options(key, timeout))
        self._calls = _Calls(Manners(retries=retries, pause=pause))

    async def decide(
        self,
        policy: str,
        actions: Actions,
        *,
        context: Mapping[str, Any] | None = None,
        event_id: str | None = None,
        exclude: Iterable[str] = (),
        defer: bool = False,
        baseline: str | None = None,
        fallback: str | None = None,
    ) -> Decision:
        """Decide what to show; see `Client.decide`."""
        options = {"context": context, "event_id": event_id, "exclude": exclude, "defer": defer}
        options |= {"baseline": baseline, "fallback": fallback}
        return await self._hold(self._calls.decide(policy, actions, **options))

    async def reward(self, decision: Decision | str, reward: float) -> str:
        """Send the reward of a decision; see `Client.reward`."""
        return await self._hold(self._calls.tell(decision, "reward", {"reward": reward}))

    async def activate(self, decision: Decision | str) -> str:
        """Report that a deferred decision was shown, and return the status of the answer."""
        return await self._hold(self._calls.tell(decision, "activate"))

    async def put_policy(self, policy: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Create or change a policy, and return it."""
        path = conversation.policy_path(policy)
        return dict(await self._hold(self._calls.ask("PUT", path, dict(settings))))

    async def put_action(
        self, policy: str, action: str, features: Mapping[str, Any] | None
    ) -> None:
        """Add an action to the catalogue, to offer it by its id."""
        path = conversation.action_path(policy, action)
        await self._hold(self._calls.ask("PUT", path, {"features": features}))

    async def diagnostics(self, policy: str) -> dict[str, Any]:
        """Counts, estimates and delays of a policy."""
        path = f"{conversation.policy_path(policy)}/diagnostics"
        return dict(await self._hold(self._calls.ask("GET", path)))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _hold(self, talk: Generator[Wish | Pause, Any, Result]) -> Result:
        outcome: httpx.Response | httpx.TransportError | None = None
        while True:
            try:
                wish = talk.send(outcome)
            except StopIteration as end:
                result: Result = end.value
                return result
            if isinstance(wish, Pause):
                await asyncio.sleep(wish.seconds)
                outcome = None
                continue
            try:
                outcome = await self._http.request(wish.method, wish.path, json=wish.body)
            except httpx.TransportError as error:
                outcome = error
