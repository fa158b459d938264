"""The clock: rounds, counted from 1.

In the state of every policy, ``counters[CLOCK]`` is n, the number of rounds closed so far. Round
n + 1 is open. An observation of round s has age n − s: 0 for the round that has just closed, −1 for
the open round, a fraction where time moves by fractions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import LARGEST_WHOLE, Array, numbers
from .compiling import lean_kernel

# Position in ``counters``.
CLOCK = 0

# The largest value of the clock. Beyond it a float64 skips integers: adding one round would leave
# the clock where it is.
LAST_ROUND = float(LARGEST_WHOLE - 1)


def _can_close(clock: float, rounds: float) -> bool:
    """Whether ``rounds`` rounds can be closed: 0, or the clock moves and stays in range."""
    return bool(rounds == 0.0 or clock < clock + rounds <= LAST_ROUND)


can_close = lean_kernel(_can_close)


def check_closing(clock: float, rounds: float) -> None:
    """Raise a ValueError if ``rounds`` rounds cannot be closed (`can_close`)."""
    if _can_close(clock, rounds):
        return
    if clock + rounds > LAST_ROUND:
        raise ValueError(
            f"rounds must leave the clock at {LAST_ROUND:.0f} or before, got {rounds:g} when "
            f"{clock:g} are closed; count in longer rounds, such as seconds for nanoseconds"
        )
    raise ValueError(
        f"rounds must move the clock, got {rounds:g} when {clock:g} are closed; "
        "count in shorter rounds"
    )


def open_round(clock: float) -> int | float:
    """The open round: an integer, unless the clock has moved by fractions."""
    opened = float(clock) + 1.0
    return int(opened) if opened.is_integer() else opened


def has_begun(clock: float, round: Any) -> bool:
    """Whether ``round`` is a number, from 1 to the open round."""
    return type(round) in (int, float) and 1 <= round <= clock + 1.0


def rounds_of(clock: float, round: Any, count: int) -> Array:
    """The rounds of ``count`` observations, (1,) or (count,), from one number or (count,).

    Raises:
        ValueError: If a round has not begun, or there are neither 1 nor ``count`` rounds.
    """
    if has_begun(clock, round):
        return np.array([float(round)])
    rounds = np.atleast_1d(numbers("round", round))
    if rounds.shape not in ((1,), (count,)):
        raise ValueError(f"round must be one number or have shape ({count},), got {round!r}")
    wrong = ~((rounds >= 1) & (rounds <= clock + 1.0))
    if wrong.any():
        raise ValueError(
            f"round must lie between 1 and the open round {open_round(clock)}, "
            f"got {rounds[wrong][0]:g}"
        )
    return rounds
