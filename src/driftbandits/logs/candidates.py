"""Learning policies by name, with what the log can tell filled in."""

from __future__ import annotations

import inspect
import tomllib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..policies import Policy, registered
from .earning import confirmed
from .first_time import compile_apart
from .memory import memory
from .reading import LogReader
from .schema import LogError
from .units import longest

FIXED = ("uniform", "action", "column", "shares", "frozen")


def is_fixed(text: str) -> bool:
    """Whether a policy on the command line is a fixed one; see `driftbandits.logs.targets`."""
    return text.partition(":")[0] in FIXED


@dataclass(frozen=True)
class Facts:
    """What a policy is told about a log: longest action, spread of rewards, noise, memory."""

    longest: float
    noise: float
    memory: float

    @classmethod
    def of(cls, log: LogReader, *, with_memory: bool) -> Facts:
        """Facts of a log, from one pass, and others for memory and noise.

        The noise is what the best predictor leaves; without a memory, the spread of rewards.
        """
        far, count, total, squares = 0.0, 0, 0.0, 0.0
        for batch in log.batches():
            far = max(far, longest(batch))
            reward = batch.reward[batch.known]
            count, total = count + len(reward), total + float(reward.sum())
            squares += float((reward**2).sum())
        mean = total / max(count, 1)
        spread = float(np.sqrt(max(squares / max(count, 1) - mean**2, 0.0)))
        most = 0.5 * log.decisions()
        if not with_memory:
            return cls(far or 1.0, spread or 1.0, most)
        compile_apart("memory")
        found = confirmed(log, memory(log))
        return cls(far or 1.0, found.setup.noise, min(found.best, most))


def candidate(
    log: LogReader, text: str, facts: Facts | None = None, *, least_bound: float = 0.0
) -> Policy:
    """A policy from ``NAME`` or ``NAME:setting=value,…``, by label or by class.

    ``dim`` and ``action_bound`` come from the log; the bound is at least ``least_bound``.
    ``noise``, and ``gamma``, ``window``, ``period`` or ``length`` from the best memory of
    `Log.memory`, unless given.
    """
    name, _, rest = text.partition(":")
    known = registered()
    kind = known.get(name) or next((p for p in known.values() if p.__name__ == name), None)
    if kind is None:
        raise LogError(f"policy must be one of {', '.join(known)}, got {name!r}")
    settings = _settings(rest)
    takes = inspect.signature(kind).parameters
    unknown = [key for key in settings if key not in takes]
    if unknown:
        raise LogError(f"{name} has no setting {unknown[0]!r}; it takes {', '.join(takes)}")
    wanted = {
        key for key in ("gamma", "window", "period", "length", "horizon") if key in takes
    } - set(settings)
    facts = facts or Facts.of(log, with_memory=bool(wanted))
    told: dict[str, Any] = {
        "dim": log.dim,
        "action_bound": max(facts.longest, least_bound),
        "noise": facts.noise,
        "gamma": 1.0 - 1.0 / facts.memory,
        "window": int(facts.memory),
        "period": int(facts.memory),
        "length": int(facts.memory),
        "horizon": int(log.decisions()),
    }
    required = {"dim", "action_bound", "noise", *wanted}
    filled = {k: v for k, v in told.items() if k in takes and k in required}
    try:
        return kind(**{**filled, **settings})
    except (TypeError, ValueError) as error:
        raise LogError(f"{text}: {error}") from None


def _settings(text: str) -> dict[str, Any]:
    """``key=value`` pairs, separated by commas, with TOML values."""
    out: dict[str, Any] = {}
    for pair in filter(None, (piece.strip() for piece in text.split(","))):
        key, separator, value = pair.partition("=")
        if not separator:
            raise LogError(f"settings of a policy are key=value, got {pair!r}")
        try:
            out[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            out[key.strip()] = value.strip()
    return out
