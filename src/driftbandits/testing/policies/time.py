"""Time: the clock of rounds, and late rewards."""

from __future__ import annotations

import numpy as np

from ...policies import Policy
from ..contract import require
from .lives import (
    action_sets,
    anew,
    learn_on_time,
    observations,
    play,
    require_finite,
    require_same_bits,
    require_same_knowledge,
)


def the_clock_counts_rounds(policy: Policy) -> None:
    """An update of any size counts one round; late rewards count none; fractions are exact."""
    mine, actions = anew(policy), action_sets(policy, 1)[0]

    def must_be(round: float, after: str) -> None:
        require(mine.round == round, f"after {after}, round must be {round}, got {mine.round}")

    must_be(1, "nothing")
    require(type(mine.round) is int, f"a whole round must be an int, got {mine.round!r}")
    mine.update(actions[0], 1.0)
    must_be(2, "an update")
    mine.update(actions[:3], [1.0, 2.0, 3.0])
    must_be(3, "a batch")
    mine.advance()
    mine.advance(rounds=4)
    must_be(8, "advance() and advance(rounds=4)")
    mine.update(actions[0], 1.0, round=2)
    mine.update(actions[:2], [1.0, 2.0], round=[8, 1])
    mine.update(actions[:2], [1.0, 2.0], round=5)
    must_be(8, "late rewards")
    mine.advance(rounds=0.5)
    must_be(8.5, "half a round")
    mine.update(actions[0], 1.0)
    must_be(9.5, "another update")


def deciding_is_selecting_and_advancing(policy: Policy) -> None:
    """`decide` gives the same bits as `select` followed by `advance`."""
    decided, selected = anew(policy), anew(policy)
    for t, actions in enumerate(action_sets(policy, 40, seed=4), start=1):
        decision = decided.decide(actions)
        index, opened = selected.select(actions), selected.round
        selected.advance()
        same = (decision.index, decision.round) == (index, opened) == (index, t)
        require(same, f"decide must choose as select does, got {decision}, not {index}")
        for one in (decided, selected):
            one.update(actions[index], float(actions[index, 0]), round=t)
        require_same_bits(decided, selected, "decide must do what select and advance do")


def late_rewards_count_as_on_time(policy: Policy) -> None:
    """Late rewards count as if on time, in any order, alone or in batches.

    This holds after whole rounds or fractions, and while a round is open. The check is for policies
    that promise this. Other policies say in ``late_rewards`` what they do.
    """
    require(isinstance(policy.late_rewards, str), "late_rewards must be a text")
    if policy.late_rewards:
        return
    seen, rng = observations(policy, 40), np.random.default_rng(1)
    on_time, late = anew(policy), anew(policy)
    learn_on_time(on_time, seen)
    waiting = [one for one in seen if rng.random() < 0.5]
    learn_on_time(late, [one for one in seen if not any(one is other for other in waiting)])
    for one in (on_time, late):
        one.advance(rounds=41 + 2.5 - one.round)
    rng.shuffle(waiting)
    batch, single = waiting[: len(waiting) // 2], waiting[len(waiting) // 2 :]
    late.update(
        np.array([one.action for one in batch]),
        [one.reward for one in batch],
        round=[one.round for one in batch],
    )
    for one in single:
        late.update(one.action, one.reward, round=one.round)
    early = seen[0]  # learned as a reward of the open round, before the round closes
    on_time.update(early.action, early.reward)
    late.update(early.action, early.reward, round=late.round)
    late.advance()
    require_same_knowledge(
        late, on_time, "rewards that come late must count as if on time (late_rewards is empty)"
    )


def long_silence_ends_in_a_working_policy(policy: Policy) -> None:
    """A policy works after 10⁹ rounds without a reward, and then a reward of the first round."""
    mine, actions = anew(policy), action_sets(policy, 1)[0]
    play(mine, 30)
    mine.advance(rounds=10**9)
    chosen = mine.select(actions)
    require(chosen in range(len(actions)), f"select must return an index, got {chosen}")
    mine.update(actions[0], 1.0, round=1)
    require_finite(mine, "after a long silence a policy must work")


CHECKS = (
    the_clock_counts_rounds,
    deciding_is_selecting_and_advancing,
    late_rewards_count_as_on_time,
    long_silence_ends_in_a_working_policy,
)
