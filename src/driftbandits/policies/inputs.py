"""Arguments of a policy's methods, turned into arrays, or refused with name and value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.arrays import Array, float_array
from ..core.blocks import Block, BlockError, Waiting
from ..core.checks import LARGEST_REWARD, NORM_SLACK

_FLOAT = np.dtype(np.float64)


def ready(array: Any, ndim: int) -> bool:
    """Whether compiled code can take an array as it is: contiguous, aligned and writeable."""
    return (
        type(array) is np.ndarray
        and array.dtype == _FLOAT  # not "is": arrays made by compiled code have their own object
        and array.ndim == ndim
        and array.flags.carray
    )


def action_rows(dim: int, actions: Any, *, none: bool = False) -> Array:
    """``actions`` as an array (K, d) of finite numbers; ``none`` allows for K = 0."""
    rows = float_array("actions", actions, ndim=2)
    if rows.shape[1] != dim or (len(rows) == 0 and not none):
        least = "" if none else " with K of at least 1"
        raise ValueError(f"actions must have shape (K, {dim}){least}, got {rows.shape}")
    return rows


def check_norms(bound: float, rows: Array, *, slack: float = NORM_SLACK) -> None:
    """Refuse actions (K, d) that are longer than the bound."""
    norms = np.linalg.norm(rows, axis=1)
    longest = int(np.argmax(norms))
    if norms[longest] > bound * (1.0 + slack):
        raise ValueError(
            f"actions must have norms of at most action_bound = {bound}, "
            f"got {norms[longest]:.9g} in row {longest}"
        )


def check_rewards(rewards: Array, name: str = "rewards") -> None:
    """Refuse rewards (n,) that are not finite, or too large to be squared and summed."""
    values = float_array(name, rewards, ndim=1)
    largest = values[np.argmax(np.abs(values))]
    if abs(largest) > LARGEST_REWARD:
        raise ValueError(
            f"{name} must be at most {LARGEST_REWARD:g} in size, got {largest:g}; use other units"
        )


def refuse(dim: int, bound: float, rows: Array, rewards: Array | None = None) -> None:
    """Raise the error for actions, and rewards if given, that compiled code refused."""
    action_rows(dim, rows)
    # The last digit of a norm may differ from compiled code: half the slack makes sure of an error.
    check_norms(bound, rows, slack=0.5 * NORM_SLACK)
    if rewards is not None:
        check_rewards(rewards)


def check_block(label: str, dim: int, action_bound: float, block: Block) -> None:
    """Refuse a block whose actions have another length, or exceed the bound on norms."""
    if block.actions.shape[1] != dim:
        raise BlockError(
            f"{label} has dim = {dim}, the environment actions of length {block.actions.shape[1]}"
        )
    if not block.longest <= action_bound * (1.0 + NORM_SLACK):
        raise BlockError(
            f"{label} has action_bound = {action_bound}, "
            f"the environment an action of norm {block.longest:.9g}"
        )


def check_records(rounds: int, regret: Array, missing: Array) -> None:
    """Refuse output arrays that do not have one entry for each of ``rounds`` rounds."""
    if regret.shape != (rounds,) or missing.shape not in ((0,), (rounds,)):
        raise ValueError(
            f"regret and missing must have shape ({rounds},), "
            f"got {regret.shape} and {missing.shape}"
        )


def waiting_rows(dim: int, block: Block, waiting: Waiting | None) -> Array:
    """The rows where late rewards wait, with room for the late rewards of the block."""
    arrivals = block.arrivals
    if arrivals is None or not arrivals.fit(block.rounds):
        raise ValueError(f"arrivals must be those of {block.rounds} rounds, got {arrivals}")
    if waiting is None or waiting.rows.shape[1] != dim + 2:
        raise ValueError(
            f"waiting must be Waiting(dim={dim}) where rewards come late, got {waiting!r}"
        )
    waiting.reserve(arrivals.rows)
    return waiting.rows
