"""An agent as a file: the declaration, the policy, and every decision that is open.

The format is that of a saved policy (`driftbandits.core.storage`). The arrays of the policy have
the prefix ``policy.``. Those of the open decisions have the prefix ``open.``, and one row per
decision, in the order in which decisions close.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import Array
from ..core.storage import StateFileError, parse_state, read_state, state_bytes, write_state
from ..features import Features, SlotTable
from ..policies.registry import policy_from
from .catalogue import Catalogue
from .open_decisions import OpenDecision

if TYPE_CHECKING:
    from .agent import Agent

_POLICY = "policy."

# Columns of ``open.numbers``; NaN stands for none.
_COLUMNS = ("round", "deadline", "activated", "settled", "reward", "learned")


def content(agent: Agent) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The header and the arrays of an agent."""
    slots, decisions = agent._catalogue.slots, list(agent._life.open)
    header, state = agent._policy.content()
    header |= {
        "agent": {
            "features": agent._catalogue.features.to_dict(),
            "slots": None if slots is None else slots.to_dict(),
            "options": agent.options,
            "now": agent._life.clock.now,
            "decided": agent._decided,
            "snapshots": agent._snapshots.every,
            "delays": [agent._life.settling.delay, agent._life.settling.rewards],
        },
    }
    taken = agent._snapshots.taken
    dim = agent._policy.dim
    thetas = [np.pad(theta, (0, dim - theta.size)) for _, theta in taken]
    arrays = {
        **{_POLICY + name: array for name, array in state.items()},
        "open.rows": np.array([entry.row for entry in decisions]).reshape(len(decisions), dim),
        "open.numbers": _numbers(decisions),
        "open.names": _text([[entry.id, entry.action] for entry in decisions]),
        "closed.names": _text(agent._life.open.closed),
        "snapshots.decided": np.array([decided for decided, _ in taken], dtype=np.float64),
        "snapshots.thetas": np.array(thetas).reshape(len(taken), dim),
    }
    return header, arrays


def save(agent: Agent, path: str | os.PathLike[str]) -> None:
    """Write an agent to ``path``: the whole file, or nothing."""
    write_state(path, *content(agent))


def as_bytes(agent: Agent) -> bytes:
    """What `save` would write; equal agents give equal bytes."""
    return state_bytes(*content(agent))


def from_bytes(kind: type[Agent], name: str, stored: bytes) -> Agent:
    """The agent that `as_bytes` wrote; ``name`` is for messages."""
    return _loaded(kind, name, *parse_state(name, stored))


def changed(agent: Agent, *, floor: float, options: Mapping[str, Any]) -> Agent:
    """A copy of ``agent`` with other options and another floor; it keeps what was learned."""
    header, arrays = content(agent)
    before = agent.options
    header["config"] = header["config"] | {"floor": floor}
    header["agent"]["options"] = before | dict(options)
    later = header["agent"]["options"]["wait"] - before["wait"]
    arrays["open.numbers"][:, _COLUMNS.index("deadline")] += later
    return restored(type(agent), header, arrays)


def load(kind: type[Agent], path: str | os.PathLike[str]) -> Agent:
    """The agent that `save` wrote."""
    return _loaded(kind, path, *read_state(path))


def _loaded(
    kind: type[Agent],
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
) -> Agent:
    if not isinstance(header.get("agent"), dict):
        raise StateFileError(f"{os.fspath(path)} holds no agent; driftbandits.load reads policies")
    try:
        return restored(kind, header, arrays)
    except StateFileError:
        raise
    except Exception as error:  # a forged file can fail in any way
        raise StateFileError(f"{os.fspath(path)} does not hold a valid agent: {error}") from error


def restored(
    kind: type[Agent], header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> Agent:
    """The agent with the header and the arrays that `content` returned."""
    saved = header["agent"]
    own = {
        name.removeprefix(_POLICY): array
        for name, array in arrays.items()
        if name.startswith(_POLICY)
    }
    features, slots = Features.from_dict(saved["features"]), saved["slots"]
    agent = kind(features=features, policy=policy_from(header, own), **saved["options"])
    agent._catalogue = Catalogue(features, None if slots is None else SlotTable.from_dict(slots))
    agent._life.clock.now, agent._decided = saved["now"], saved["decided"]
    for decision in _decisions(arrays, agent._policy.dim):
        agent._life.open.add(decision)
    agent._life.settling.delay, agent._life.settling.rewards = saved["delays"]
    agent._life.settling.add(entry for entry in agent._life.open if entry.activated)
    agent._life.open.remember_closed(_names(arrays["closed.names"]))
    agent._snapshots.every = saved["snapshots"]
    counts = arrays["snapshots.decided"].astype(int).tolist()
    agent._snapshots.taken = list(zip(counts, arrays["snapshots.thetas"], strict=True))
    return agent


def _numbers(decisions: Sequence[OpenDecision]) -> Array:
    numbers = np.empty((len(decisions), len(_COLUMNS)))
    for column, name in enumerate(_COLUMNS):  # by columns: a sixth of the time that rows take
        numbers[:, column] = list(map(attrgetter(name), decisions))
    return numbers


def _decisions(arrays: Mapping[str, npt.NDArray[Any]], dim: int) -> list[OpenDecision]:
    """The open decisions of a file. Checks that their arrays fit each other."""
    names = _names(arrays["open.names"])
    numbers, rows = arrays["open.numbers"], arrays["open.rows"]
    if numbers.shape != (len(names), len(_COLUMNS)) or rows.shape != (len(names), dim):
        raise StateFileError("the arrays of the open decisions do not fit each other")
    if not (np.isfinite(rows).all() and np.isfinite(numbers[:, :4]).all()):
        raise StateFileError("the open decisions have entries that are not finite")
    decisions = []
    for (id, action), row, line in zip(names, rows, numbers.tolist(), strict=True):
        round, deadline, activated, settled, *values = line
        reward, learned = (None if np.isnan(value) else value for value in values)
        decisions.append(
            OpenDecision(
                id=str(id),
                action=str(action),
                row=np.array(row),
                round=round,
                deadline=deadline,
                activated=bool(activated),
                settled=bool(settled),
                reward=reward,
                learned=learned,
            )
        )
    return decisions


def _text(value: Any) -> npt.NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def _names(text: npt.NDArray[Any]) -> list[Any]:
    names = json.loads(text.tobytes())
    if not isinstance(names, list):
        raise StateFileError(f"names must be a list, got {type(names).__name__}")
    return names
