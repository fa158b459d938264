"""Decisions: a choice is an index, does not depend on the layout of numbers, and is repeatable."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...policies import Policy, Problem
from ..contract import require
from .lives import (
    TOLERANCE,
    action_sets,
    anew,
    play,
    require_finite,
    require_same_bits,
    require_state,
)

# The number of decisions with different draws, and by how many standard deviations a share may be
# off. SLACK is in draws, because counts of rare actions are not normal. By chance, a share is off
# by more in less than one of ten million cases.
DRAWS, DEVIATIONS, SLACK = 2000, 5.5, 3.0


def is_described(policy: Policy) -> None:
    """A policy class has a label, a summary and its own docstring."""
    kind = type(policy)
    for name in ("label", "summary"):
        text = getattr(kind, name, "")
        require(isinstance(text, str) and text, f"{name} must be a text; `register` sets it")
    require(kind.__dict__.get("__doc__"), f"{kind.__name__} must have a docstring")


def choices_are_indices(policy: Policy) -> None:
    """A choice is an int from 0 to K − 1; the actions stay unchanged."""
    mine, actions = anew(policy), action_sets(policy, 1)[0]
    before = actions.copy()
    chosen = mine.select(actions)
    require(type(chosen) is int, f"select must return an int, got {chosen!r}")
    require(0 <= chosen < len(actions), f"select must return an index, got {chosen}")
    mine.update(actions[chosen], 1.0)
    mine.update(actions[:2], [1.0, 2.0])
    require(np.array_equal(actions, before), "select and update must leave the actions unchanged")


def one_action_leaves_no_choice(policy: Policy) -> None:
    """A single action is always chosen."""
    mine = anew(policy)
    for actions in action_sets(policy, 20, count=1):
        require(mine.select(actions) == 0, "of one action, select must return 0")
        mine.update(actions[0], 0.5)


def any_layout_of_actions_is_taken(policy: Policy) -> None:
    """Lists, Fortran order, strides and single precision give the same choice."""
    trained = anew(policy)
    play(trained, 30)
    actions = action_sets(policy, 1)[0]
    wide = np.zeros((2 * len(actions), 2 * policy.dim))
    wide[::2, ::2] = actions
    layouts = (actions, actions.tolist(), np.asfortranarray(actions), wide[::2, ::2])
    choices = {trained.copy().select(layout) for layout in layouts}
    require(len(choices) == 1, f"the layout of actions must not matter, got choices {choices}")
    rounded = actions.astype(np.float32)
    pair = [trained.copy().select(rows) for rows in (rounded, rounded.astype(float))]
    require(pair[0] == pair[1], f"the type of numbers must not matter, got choices {pair}")


def the_same_run_twice_is_the_same_run(policy: Policy) -> None:
    """Two runs with the same seed are equal: randomness comes from the seed alone."""
    one, other = anew(policy), anew(policy)
    same = play(one, 120) == play(other, 120)
    require(same, "two runs of one seed must choose alike; draws must come from the state")
    require_same_bits(one, other, "two runs of one seed must end in the same bits")


def asking_changes_no_decision(policy: Policy) -> None:
    """Reading properties, scores, widths and repr changes no decision, to the last bit."""
    asked, plain = anew(policy), anew(policy)
    for one in (asked, plain):
        play(one, 40)
    for actions in action_sets(policy, 40, seed=9):
        _ask(asked, actions)
        mine, other = asked.decide(actions), plain.decide(actions)
        same = mine.index == other.index and np.array_equal(
            mine.scores, other.scores, equal_nan=True
        )
        require(same, "asking for estimates must change no decision, nor its scores")
        _ask(asked, actions)
        for one in (asked, plain):
            one.update(actions[other.index], 0.3, round=other.round)


def _ask(asked: Any, actions: Array) -> None:
    """Read everything that a policy offers to read."""
    for name, member in inspect.getmembers(type(asked)):
        if isinstance(member, property) and not name.startswith("_"):
            getattr(asked, name)
    for name in ("scores", "widths", "propensities"):
        if hasattr(asked, name) and not (name == "scores" and asked.refusal("scores")):
            shape = getattr(asked, name)(actions).shape
            require(shape == (len(actions),), f"{name} must have shape (K,), got {shape}")
    repr(asked)


def estimates_are_up_to_date(policy: Policy) -> None:
    """``theta`` right after a reward is what it is after a decision that follows."""
    mine = anew(policy)
    if not hasattr(mine, "theta"):
        return
    for actions in action_sets(policy, 30, seed=8):
        mine.update(actions[0], 0.7)
        decided = mine.copy()
        decided.select(actions)
        same = np.allclose(mine.theta, decided.theta, rtol=TOLERANCE, atol=1e-12)
        require(same, f"theta must be {decided.theta} after a reward, got {mine.theta}")


def propensities_are_those_of_the_next_decision(policy: Policy) -> None:
    """Propensities sum to one; reading changes nothing; with a floor, none is NaN or below ε/K."""
    for floor in (0.0, 0.03):
        mine = anew(policy, floor=floor)
        play(mine, 40)
        for actions in action_sets(policy, 20, seed=8):
            before = mine.state()
            stated = mine.propensities(actions)
            require_state(mine, before, "asking for propensities must change nothing")
            decision = mine.decide(actions)
            told = decision.propensities
            same = np.allclose(stated, told, rtol=1e-9, atol=0.0, equal_nan=True)
            require(same, f"propensities must be those of the decision, {told}, got {stated}")
            same = np.array_equal(decision.propensity, told[decision.index], equal_nan=True)
            require(same, f"propensity must be {told[decision.index]}, got {decision.propensity}")
            if not np.isnan(stated).any():
                require(np.isclose(stated.sum(), 1.0, rtol=1e-12), "propensities must sum to 1")
            if floor > 0.0:
                least = floor / len(actions) * (1 - 1e-12)
                require(stated.min() >= least, f"no propensity may be below ε/K, got {stated}")
            mine.update(actions[decision.index], 0.3, round=decision.round)


def the_largest_score_is_played(policy: Policy) -> None:
    """If a policy has scores, they are aᵀθ̂ + β width(a), and the largest is chosen."""
    mine = anew(policy)
    if not hasattr(mine, "scores") or mine.refusal("scores") or mine.floor > 0:
        return
    play(mine, 60)
    for actions in action_sets(policy, 20, seed=8):
        scores, widths = mine.scores(actions), mine.widths(actions)
        require(mine.select(actions) == int(np.argmax(scores)), "the largest score must be chosen")
        require((widths > 0).all(), f"widths must be positive, got {widths.min()}")
        bounds = actions @ mine.theta + mine.radius * widths
        error = np.abs(scores - bounds).max() / np.abs(bounds).max()
        require(error < 1e-12, f"scores must be aᵀθ̂ + β width(a), got a difference of {error:.2g}")


def propensities_are_probabilities(policy: Policy) -> None:
    """A decision has the propensities read before; they sum to one, and are at least ε/K.

    ε is the floor. Without a floor, propensities may be NaN: unknown.
    """
    for floor in (policy.floor, 0.3):
        mine = anew(policy, floor=floor)
        for actions in action_sets(policy, 40, count=5):
            asked, decision = mine.propensities(actions), mine.decide(actions)
            chances = decision.propensities
            same = np.array_equal(asked, chances, equal_nan=True)
            require(same, f"propensities must be those of the decision, {chances}, not {asked}")
            mine.update(actions[decision.index], 0.5, round=decision.round)
            if floor == 0.0 and np.isnan(chances).all():
                continue
            total, least = float(chances.sum()), float(chances.min())
            require(abs(total - 1) < 1e-9, f"propensities must sum to 1, got {total}")
            least_allowed = floor / 5 * (1 - 1e-12)
            require(least >= least_allowed, f"propensities must be floor/K at least, got {least}")
            chosen = decision.propensity
            require(chosen > 0, f"what was chosen must have had a propensity, got {chosen}")
            require(chosen == chances[decision.index], "propensity must be that of the choice")


def propensities_are_those_of_the_draws(policy: Policy) -> None:
    """In many decisions that differ only in their draws, propensities are the shares of actions.

    If other draws of a rule lead to other choices, none of its propensities may be 1. With a floor,
    propensities may depend on the rule's draw. Given this draw, they are those of the floor.
    """
    for floor in (0.0, 0.3):
        mine = anew(policy, floor=floor)
        play(mine, 40)
        actions = action_sets(policy, 1, count=4, seed=8)[0]
        first, surplus, variance = mine.propensities(actions), np.zeros(4), np.zeros(4)
        for replication in range(DRAWS):
            decision = _redrawn(mine, replication).decide(actions)
            told = decision.propensities
            if np.isnan(told).any():
                break
            if floor == 0.0:
                same = np.allclose(told, first, rtol=1e-9, atol=1e-12)
                require(same, f"propensities must not depend on the draw, got {first} and {told}")
            surplus -= told
            surplus[decision.index] += 1.0
            variance += told * (1.0 - told)
        else:
            off = np.abs(surplus) > DEVIATIONS * np.sqrt(variance) + SLACK
            shares = surplus / DRAWS
            require(not off.any(), f"propensities must be the shares of choices, off by {shares}")


def _redrawn(policy: Any, replication: int) -> Any:
    """A copy with the streams of another replication, for the floor and for the rule."""
    twin = policy._twin(policy._state, policy._floor_stream(replication))
    twin._reseed(replication)
    return twin


def any_dimension_will_do(policy: Policy) -> None:
    """`tuned` makes a working policy for d = 1, 2 and 50."""
    for dim in (1, 2, 50):
        mine = type(policy).tuned(Problem(dim=dim, horizon=1000, budget=1.0))
        play(mine, 15)
        require_finite(mine, f"with dim = {dim} a policy must work")


def zero_actions_are_actions(policy: Policy) -> None:
    """Actions may be zero, even all of them."""
    mine = anew(policy)
    for _ in range(10):
        chosen = mine.select(np.zeros((3, policy.dim)))
        require(chosen in range(3), f"select must return an index, got {chosen}")
        mine.update(np.zeros(policy.dim), 0.0)
    require_finite(mine, "after actions that are zero a policy must work")


CHECKS = (
    is_described,
    choices_are_indices,
    one_action_leaves_no_choice,
    any_layout_of_actions_is_taken,
    the_same_run_twice_is_the_same_run,
    asking_changes_no_decision,
    estimates_are_up_to_date,
    the_largest_score_is_played,
    propensities_are_probabilities,
    propensities_are_those_of_the_next_decision,
    propensities_are_those_of_the_draws,
    any_dimension_will_do,
    zero_actions_are_actions,
)
