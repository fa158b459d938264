"""Compares the agent with a reference that computes everything from the whole history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reference import Reference
from driftbandits import Agent, DLinUCB
from driftbandits.agent.learning import COMBINES, RULES
from driftbandits.features import Features, OneHot, PerAction

GAMMA, WAIT = 0.98, 40.0
FEATURES = Features(
    context={"country": OneHot(["FR", "DE"])},
    action={"kind": OneHot(["new", "old"])},
    per_action=PerAction(slots=2),
)


def new_agent(**options: Any) -> Agent:
    policy = DLinUCB(dim=FEATURES.dim, gamma=GAMMA, noise=0.3, ridge=0.5, floor=0.2)
    return Agent(features=FEATURES, policy=policy, wait=WAIT, **options)


class History:
    """A random history of an agent; the reference gets the same events."""

    def __init__(self, seed: int, rule: str, rewards: str, default: float | None) -> None:
        self.rng = np.random.default_rng(seed)
        options: Any = {"rule": rule, "rewards": rewards, "default": default}
        self.agent = new_agent(**options)
        self.reference = Reference(wait=WAIT, **options)
        self.now, self.names, self.made = 0.0, [f"a{k}" for k in range(3)], 0
        self.choices: list[Any] = []

    def step(self) -> None:
        # Sometimes the clock jumps forward or back.
        self.now += float(
            self.rng.choice([0.0, 1.0, 3.0, 60.0, -30.0], p=[0.2, 0.4, 0.3, 0.05, 0.05])
        )
        kind = self.rng.choice(
            ["decide", "page", "reward", "activate", "expire", "remove", "add"],
            p=[0.4, 0.05, 0.37, 0.06, 0.06, 0.03, 0.03],
        )
        getattr(self, f"_{kind}")()

    def _articles(self) -> dict[str, Any]:
        return {name: {"kind": "new" if name[-1] in "02468" else "old"} for name in self.names}

    def _opened(self, choices: Any, deferred: bool) -> None:
        self.reference.clock += 1.0
        for choice in choices:
            row = self.agent.find(choice.id)
            assert row is not None
            self.reference.decide(
                choice.id, choice.action, row.row, choice.round, self.now, deferred
            )
            self.choices.append(choice)

    def _decide(self) -> None:
        context = {"country": str(self.rng.choice(["FR", "DE", "UK"]))}
        deferred = bool(self.rng.random() < 0.2)
        exclude = [self.names[0]] if self.rng.random() < 0.2 else []
        choice = self.agent.decide(
            context, self._articles(), now=self.now, deferred=deferred, exclude=exclude
        )
        assert choice.action not in exclude
        assert set(choice.ranking) == set(self.names) - set(exclude)
        self._opened([choice], deferred)

    def _page(self) -> None:
        page = self.agent.page({"country": "FR"}, self._articles(), places=2, now=self.now)
        assert page[0].action != page[1].action
        assert page[0].round == page[1].round
        self._opened(page, False)

    def _some_id(self) -> str:
        if not self.choices or self.rng.random() < 0.05:
            return "nobody"
        recent = self.choices[-12:]
        return str(recent[int(self.rng.integers(len(recent)))].id)

    def _reward(self) -> None:
        id, value = self._some_id(), float(self.rng.integers(0, 3)) / 2
        expected = self.reference.reward(id, value, self.now)
        assert self.agent.reward(id, value, now=self.now) == expected

    def _activate(self) -> None:
        id = self._some_id()
        self.agent.activate(id, now=self.now)
        self.reference.activate(id, self.now)

    def _expire(self) -> None:
        self.agent.expire(now=self.now)
        self.reference.move(self.now)

    def _remove(self) -> None:
        slots = self.agent._catalogue.slots
        assert slots is not None
        if len(self.names) > 2 and self.names[0] in slots:
            name = self.names.pop(0)
            gone = list(self.agent.features.slot_coordinates(slots.slot(name)))
            self.reference.remove(name, gone)
            self.agent.remove([name])

    def _add(self) -> None:
        self.made += 1
        self.names.append(f"b{self.made}")

    def check(self) -> None:
        policy: Any = self.agent.policy
        gram, moment = self.reference.sums(policy.dim, GAMMA)
        np.testing.assert_allclose(policy.design - 0.5 * np.eye(policy.dim), gram, atol=1e-9)
        np.testing.assert_allclose(policy.moment, moment, atol=1e-9)


@pytest.mark.parametrize("rewards", COMBINES)
@pytest.mark.parametrize("rule", RULES)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_histories(rule: str, rewards: str, seed: int) -> None:
    history = History(seed, rule, rewards, 0.25)
    for number in range(60):
        history.step()
        if number % 6 == 0:
            history.check()
    history.check()


@given(seed=st.integers(0, 2**32 - 1))
def test_no_default_means_that_nothing_is_learned(seed: int) -> None:
    history = History(seed, "wait", "last", None)
    for _ in range(60):
        history.step()
    history.check()


@pytest.mark.parametrize("rule", RULES)
def test_saved_between_any_two_calls_it_goes_on_bit_for_bit(rule: str, tmp_path: Path) -> None:
    whole, parted = (History(7, rule, "last", 0.25) for _ in range(2))
    for number in range(80):
        whole.step()
        parted.step()
        path = tmp_path / "agent.npz"
        parted.agent.save(path)
        parted.agent = Agent.load(path)
        assert [c.id for c in whole.choices] == [c.id for c in parted.choices], number
        assert [c.action for c in whole.choices] == [c.action for c in parted.choices]
        assert [c.propensity for c in whole.choices] == [c.propensity for c in parted.choices]
    for name, array in whole.agent.policy.state().items():
        np.testing.assert_array_equal(array, parted.agent.policy.state()[name])
    assert whole.agent.open == parted.agent.open
