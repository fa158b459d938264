"""The decisions and rewards of an agent, as the rows of a log."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from ..agent import Agent, Choice
from ..agent.open_decisions import Status
from ..core.storage import atomic_write
from ..features.inputs import as_mapping, id_text, named_actions

_SCHEMA = pa.schema(
    {
        "time": pa.float64(),
        "context": pa.string(),
        "actions": pa.list_(pa.string()),
        "chosen": pa.string(),
        "propensity": pa.float64(),
        "reward": pa.float64(),
        "reward_time": pa.float64(),
        "id": pa.string(),
    }
)
_COUNTED = ("learned", "held")


class Recorder:
    """Makes an agent's decisions and keeps them as a log.

    Call `decide` and `reward` of the recorder instead of the agent's. The rows have contexts and
    actions by name, as JSON, so that any declaration of features can read them later:
    ``Log.open(path, features=…, context="context")``. A reward that the agent did not accept,
    because it came too late or twice, is not in the log. Several rewards of one decision are
    combined as the agent does, with the time of the last one. A decision without a reward has an
    empty reward; `Schema.mature_after` says when this means the default.

    Args:
        agent: The agent; it is used, not copied.

    Examples:
        >>> from driftbandits import Agent, DLinUCB
        >>> from driftbandits.features import Features, OneHot
        >>> from driftbandits.logs import Log, Recorder
        >>> features = Features(action={"topic": OneHot(["sport", "arts"])})
        >>> policy = DLinUCB(dim=features.dim, gamma=0.99)
        >>> recorder = Recorder(Agent(features=features, policy=policy, wait=1800.0))
        >>> articles = {"a1": {"topic": "sport"}, "a2": {"topic": "arts"}}
        >>> choice = recorder.decide({}, articles, now=0.0)
        >>> recorder.reward(choice.id, 1.0, now=60.0)
        'learned'
        >>> log = Log.open(recorder.table(), features=features, context="context")
        >>> log.check()["rows"]
        1
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._rows: dict[str, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def decide(
        self,
        context: Any,
        actions: Any,
        *,
        now: float,
        id: str | None = None,
        exclude: Iterable[Any] = (),
        baseline: Any = None,
    ) -> Choice:
        """Like `Agent.decide`; also records a row."""
        named = named_actions(actions)
        gone = list(exclude)
        choice = self.agent.decide(context, named, now=now, id=id, exclude=gone, baseline=baseline)
        offered = set(choice.actions)
        self._rows[choice.id] = {
            "time": float(now),
            "context": json.dumps(as_mapping("context", context), default=_plain),
            "actions": [
                json.dumps({"id": id_text(name), "features": features}, default=_plain)
                for name, features in named.items()
                if name in offered
            ],
            "chosen": id_text(choice.action),
            "propensity": choice.propensity,
            "reward": None,
            "reward_time": None,
            "id": choice.id,
        }
        return choice

    def reward(self, id: str, reward: float, *, now: float) -> Status:
        """Like `Agent.reward`; also records the reward in the row of its decision."""
        status = self.agent.reward(id, reward, now=now)
        row = self._rows.get(id)
        if row is not None and status in _COUNTED:
            summed = self.agent.options["rewards"] == "sum" and row["reward"] is not None
            row["reward"] = row["reward"] + reward if summed else float(reward)
            row["reward_time"] = float(now)
        return status

    def table(self) -> pa.Table:
        """All rows in the order of the decisions."""
        return pa.Table.from_pylist(list(self._rows.values()), schema=_SCHEMA)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write all rows to ``path`` as Parquet, completely or not at all."""
        target = Path(path)
        with atomic_write(target) as file:
            pa.parquet.write_table(self.table(), file)
        return target


def _plain(value: Any) -> Any:
    """numpy numbers as Python numbers; anything else as text."""
    return value.item() if hasattr(value, "item") else str(value)
