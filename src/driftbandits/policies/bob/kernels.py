"""EXP3 over blocks of rounds: the kernels of BOB.

In each block one member of a grid of windows or discounts plays, as a policy of the weighted family
that starts afresh. EXP3 draws the member, and learns from the rewards that it earned.

The reward of a block's last round arrives after the clock has moved on to the next block. So the
member of a new block is not fixed until the block's first round closes or brings its reward. Until
then the member is a function of the rewards so far and of the next random number; computing it
changes nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import kernel, lean_kernel
from ...core.entry_points import late_is_no_matter
from ...core.linalg import argmax, copy
from ...core.randomness import uniform
from ...core.tuples import extended
from ...least_squares.amending import forget_coordinates
from ...least_squares.forgetting import COUNTERS, LAST_RESTART, has_room, start_afresh
from ..weighted import family
from ..weighted import state as family_state
from ..weighted.state import PER_ROUND, PUBLISHED_WINDOW

# Positions in ``counters``, after those of the weighted family.
PENDING = COUNTERS  # 1 at the start of a block, while its member is not fixed
FIRST_ROUND = COUNTERS + 1  # first round of the block that the entries below belong to
MEMBER = COUNTERS + 2  # the member of the grid that plays the block
PROBABILITY = COUNTERS + 3  # the probability with which the member was drawn
TOTAL = COUNTERS + 4  # sum of the block's rewards
SEEN = COUNTERS + 5  # number of the block's rewards


class Parameters(NamedTuple):
    """The configuration in the form that kernels read: floats only."""

    ridge: float
    noise: float
    delta: float
    theta_bound: float
    action_bound: float
    block: float  # H
    explore: float  # EXP3's share of uniform draws
    spread: float  # the sum of a block's rewards is divided by this
    discounts: float  # 1 if the grid holds discounts


# The state of the weighted family for the block, then EXP3's: the ``grid`` (Δ + 1,) of windows in
# rounds, its ``log_weights``, room for ``weights``, a source of randomness, and room for a copy of
# this source (``peek``).
State = extended(
    family_state.State, "grid", "log_weights", "weights", "random", "peek", module=__name__
)


@lean_kernel
def gain(p: Parameters, s: Any) -> float:
    """What EXP3 adds to the log-weight of the member that played the block."""
    if s.counters[SEEN] == 0.0:
        return 0.0  # nothing is known about a block without a reward
    share = s.counters[TOTAL] / p.spread if p.spread > 0.0 else 0.0
    reward = min(max(0.5 + share, 0.0), 1.0)
    return float(p.explore * reward / (s.grid.size * s.counters[PROBABILITY]))


@kernel
def draw(p: Parameters, s: Any, random: npt.NDArray[np.uint64]) -> tuple[int, float]:
    """Draw a member j by EXP3, with probability (1 − e) w_j / Σw + e/(Δ + 1); moves ``random`` on.

    Returns the member and its probability.
    """
    count, weights = s.grid.size, s.weights
    copy(s.log_weights, weights)
    weights[int(s.counters[MEMBER])] += gain(p, s)
    largest, total = weights[argmax(weights)], 0.0
    for j in range(count):
        weights[j] = np.exp(weights[j] - largest)
        total += weights[j]
    left = uniform(random)
    probability = 0.0
    for j in range(count):
        probability = (1.0 - p.explore) * weights[j] / total + p.explore / count
        left -= probability
        if left < 0.0:
            return j, probability
    return count - 1, probability


@kernel
def settle(p: Parameters, s: Any) -> None:
    """Let EXP3 learn the rewards of the last block, and fix the member that plays the new one."""
    if s.counters[PENDING] == 0.0:
        return
    member, probability = draw(p, s, s.random)
    s.log_weights[int(s.counters[MEMBER])] += gain(p, s)
    s.counters[PENDING] = 0.0
    s.counters[FIRST_ROUND] = max(s.counters[LAST_RESTART], 1.0)
    s.counters[MEMBER] = member
    s.counters[PROBABILITY] = probability
    s.counters[TOTAL] = s.counters[SEEN] = 0.0


@kernel
def inner(p: Parameters, s: Any) -> family_state.Parameters:
    """The policy that plays the block, as parameters of the weighted family."""
    member = int(s.counters[MEMBER])
    if s.counters[PENDING] != 0.0:
        s.peek[0] = s.random[0]
        member = draw(p, s, s.peek)[0]  # `settle` will make the same draw
    window = s.grid[member]
    discounts = p.discounts != 0.0
    return family_state.Parameters(
        gamma=1.0 - 1.0 / max(window, 2.0) if discounts else 1.0,
        window=0.0 if discounts else window,
        ridge=p.ridge,
        mu=p.ridge,
        noise=p.noise,
        delta=p.delta,
        theta_bound=p.theta_bound,
        action_bound=p.action_bound,
        radius=float(PER_ROUND if discounts else PUBLISHED_WINDOW),
        horizon=1.0,
        restore=1.0,
        follow=0.0,
        period=0.0,
        released=0.0,
    )


@kernel
def prepare(p: Any, s: Any) -> None:
    """Bring the estimate of the block's policy up to date."""
    family.prepare(inner(p, s), s)


@kernel
def learn(p: Any, s: Any, action: Array, reward: float, age: float) -> None:
    """Add an observation to the block's policy, and its reward to the total of its block."""
    observed = s.counters[CLOCK] - age
    if observed >= max(s.counters[LAST_RESTART], 1.0):
        settle(p, s)
    if s.counters[FIRST_ROUND] <= observed < s.counters[FIRST_ROUND] + p.block:
        s.counters[TOTAL] += reward
        s.counters[SEEN] += 1.0
    family.learn(inner(p, s), s, action, reward, age)


@kernel
def advance(p: Any, s: Any, rounds: float) -> None:
    """Close rounds, and start afresh if a block ends."""
    settle(p, s)
    family.advance(inner(p, s), s, rounds)
    first = 1.0 + p.block * np.floor(s.counters[CLOCK] / p.block)
    if first > s.counters[FIRST_ROUND]:
        start_afresh(s.gram, s.gram_squared, s.moment, s.counters, s.belated, first)
        s.counters[PENDING] = 1.0


@kernel
def fits(p: Any, s: Any, rounds: float) -> bool:
    """Whether the window has room for another observation."""
    return bool(p.discounts != 0.0 or has_room(s))


@kernel
def amend(p: Any, s: Any, action: Array, old: float, new: float, age: float) -> bool:
    """Amend a reward in the block's policy, and in the total of its block."""
    if not family.amend(inner(p, s), s, action, old, new, age):
        return False
    observed = s.counters[CLOCK] - age
    if s.counters[FIRST_ROUND] <= observed < s.counters[FIRST_ROUND] + p.block:
        s.counters[TOTAL] += new - old
    return True


@kernel
def forget(p: Any, s: Any, mask: Array) -> None:
    """Clear what the block's policy knows along the coordinates of ``mask``."""
    forget_coordinates(s, mask)


BOB_KERNELS = family.WEIGHTED._replace(
    name="bob",
    Parameters=Parameters,
    State=State,
    prepare=prepare,
    learn=learn,
    advance=advance,
    late=late_is_no_matter,  # no member has an anytime radius
    fits=fits,
    amend=amend,
    forget=forget,
)
