"""Copies, files and configurations: complete, and independent of the original."""

from __future__ import annotations

import copy
import json
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...policies import Policy, load
from ..contract import require
from .lives import action_sets, anew, play, require_same_bits, require_state


def saved_and_loaded_it_goes_on(policy: Policy) -> None:
    """A loaded policy continues bit for bit, after any number of rounds; saving changes nothing."""
    for rounds in (0, 1, 70):
        mine = anew(policy)
        play(mine, rounds)
        before = mine.state()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "policy.npz"
            mine.save(path)
            again = load(path)
        require_state(mine, before, "save must change nothing")
        require(type(again) is type(mine), f"load must return a {type(mine).__name__}")
        require(again.config == mine.config, "load must keep the configuration")
        require(again.round == mine.round, "load must keep the round")
        require_same_bits(again, mine, "load must return the state that was saved")
        same = play(again, 120, seed=6) == play(mine, 120, seed=6)
        require(same, f"loaded after {rounds} rounds, a policy must choose as the saved one")
        require_same_bits(again, mine, "a loaded policy must go on bit for bit")


def copies_are_whole_and_apart(policy: Policy) -> None:
    """Copies by `copy`, the module copy and pickle are complete and independent."""
    mine = anew(policy)
    play(mine, 50)
    before = mine.state()
    ways: dict[str, Callable[[Any], Any]] = {
        "policy.copy()": lambda one: one.copy(),
        "copy.copy": copy.copy,
        "copy.deepcopy": copy.deepcopy,
        "pickle": lambda one: pickle.loads(pickle.dumps(one)),  # noqa: S301 - its own bytes
    }
    for way, duplicate in ways.items():
        twin = duplicate(mine)
        require(twin.config == mine.config, f"{way} must keep the configuration")
        require_state(twin, before, f"{way} must keep the state")
        choices = play(twin, 50, seed=5)
        require_state(mine, before, f"what happens to a {way} must not change the original")
        original = mine.copy()
        require(play(original, 50, seed=5) == choices, f"a {way} must choose as the original")
        require_same_bits(original, twin, f"a {way} must go on bit for bit")


def fresh_has_seen_nothing(policy: Policy) -> None:
    """`fresh` forgets everything, and a replication is the same each time."""
    mine = anew(policy)
    play(mine, 20)
    for replication in (0, 3):
        one, other = mine.fresh(replication), anew(policy).fresh(replication)
        require(one.round == 1, f"fresh must start at round 1, got {one.round}")
        require_same_bits(one, other, "fresh must not depend on what was seen")
        require(one.config == policy.config, "fresh must keep the configuration")
    first, other = anew(policy).state(), anew(policy, seed=policy.seed + 1).state()
    apart = [mine.fresh(replication).state() for replication in (1, 2)]
    for name, array in first.items():
        if not np.array_equal(array, other[name]):  # this array depends on the seed
            same = np.array_equal(apart[0][name], apart[1][name])
            require(not same, f"replications must draw from streams of their own; _reseed {name}")


def what_is_handed_over_is_copied(policy: Policy) -> None:
    """The state shares no memory with arrays that a policy receives or returns."""
    mine, other = anew(policy), anew(policy)
    room = np.empty((2, policy.dim))
    for pair in action_sets(policy, 12, count=2):
        room[:] = pair
        mine.select(room)
        mine.update(room, [0.5, -0.5])
        room[:] = np.nan
        other.select(pair)
        other.update(pair, [0.5, -0.5])
    for array in mine.state().values():
        array[...] = 0
    if hasattr(mine, "theta"):
        mine.theta[:] = 99.0
        require(np.array_equal(mine.theta, other.theta), "theta must be a copy")
    mine.config.clear()
    mine.select(action_sets(policy, 1)[0])
    other.select(action_sets(policy, 1)[0])
    require_same_bits(mine, other, "arrays handed in and out must not be shared with the state")


def configuration_is_frozen_and_json(policy: Policy) -> None:
    """A configuration is frozen; its repr and its JSON rebuild the policy; options are keywords."""
    kind: Any = type(policy)
    _must_raise(AttributeError, lambda: setattr(policy, "dim", 7), "a policy must be frozen")
    again = kind(**json.loads(json.dumps(policy.config)))
    require(again.config == policy.config, "the configuration must survive JSON")
    require(repr(again) == repr(policy), "policies of one configuration must have one repr")
    evaluated = eval(repr(policy), {kind.__name__: kind})  # noqa: S307 - of its own repr
    require(evaluated.config == policy.config, "repr must build the policy anew")
    _must_raise(TypeError, lambda: kind(3), "options must be keywords")


def _must_raise(kind: type[Exception], call: Callable[[], Any], promise: str) -> None:
    try:
        call()
    except kind:
        return
    require(False, f"{promise}: {kind.__name__} expected")


CHECKS = (
    saved_and_loaded_it_goes_on,
    copies_are_whole_and_apart,
    fresh_has_seen_nothing,
    what_is_handed_over_is_copied,
    configuration_is_frozen_and_json,
)
