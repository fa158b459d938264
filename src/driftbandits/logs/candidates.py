"""Learning policies by name, with settings filled in from the log."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..policies import Policy, registered
from .earning import confirmed
from .first_time import compile_apart
from .memory import memory
from .reading import LogReader, Progress
from .resuming import Resume
from .schema import CannotAnswer, LogError
from .units import longest

FIXED = ("uniform", "action", "column", "shares", "frozen")


def is_fixed(text: str) -> bool:
    """Whether a policy named on the command line is fixed; see `driftbandits.logs.targets`."""
    return text.partition(":")[0] in FIXED


@dataclass(frozen=True)
class Facts:
    """Facts about a log that policies are told: longest action, noise, best memory."""

    longest: float
    noise: float
    memory: float

    @classmethod
    def of(
        cls,
        log: LogReader,
        *,
        with_memory: bool,
        resume: Resume = None,
        progress: Progress | None = None,
    ) -> Facts:
        """Facts of a log, from one pass; ``with_memory`` adds passes for memory and noise.

        The noise is the residual of the best predictor; without ``with_memory``, it is the standard
        deviation of the rewards. ``resume`` and ``progress`` are as for `memory`.
        """
        far, count, total, squares = 0.0, 0, 0.0, 0.0
        for batch in log.batches():
            far = max(far, longest(batch))
            reward = batch.judged().reward
            reward = reward[np.isfinite(reward)]
            count, total = count + len(reward), total + float(reward.sum())
            squares += float((reward**2).sum())
        mean = total / max(count, 1)
        spread = float(np.sqrt(max(squares / max(count, 1) - mean**2, 0.0)))
        most = 0.5 * log.decisions()
        if not with_memory:
            return cls(far or 1.0, spread or 1.0, most)
        compile_apart("memory")
        found = confirmed(log, memory(log, resume=resume, progress=progress))
        return cls(far or 1.0, found.setup.noise, min(found.best, most))


@dataclass(frozen=True)
class Candidate:
    """A learning policy from ``NAME`` or ``NAME:setting=value,…``; NAME is a label or a class."""

    text: str
    kind: type[Policy]
    settings: Mapping[str, Any]

    @classmethod
    def parse(cls, text: str) -> Self:
        """The policy that a text names; refuses unknown names and settings."""
        name, _, rest = text.partition(":")
        known = registered()
        kind = known.get(name) or next((p for p in known.values() if p.__name__ == name), None)
        if kind is None:
            raise LogError(f"policy must be one of {', '.join(known)}, got {name!r}")
        settings, takes = _settings(rest), inspect.signature(kind).parameters
        unknown = [key for key in settings if key not in takes]
        if unknown:
            raise LogError(f"{name} has no setting {unknown[0]!r}; it takes {', '.join(takes)}")
        return cls(text, kind, settings)

    @property
    def remembers(self) -> bool:
        """Whether the policy needs a memory from the log."""
        return bool(self._open)

    @property
    def hears(self) -> bool:
        """Whether the policy needs a noise: not if it is given, or if the policy estimates it."""
        noise = inspect.signature(self.kind).parameters.get("noise")
        return noise is not None and noise.default is not None and "noise" not in self.settings

    @property
    def _open(self) -> set[str]:
        takes = set(inspect.signature(self.kind).parameters)
        return (takes & {"gamma", "window", "period", "length", "horizon"}) - set(self.settings)

    def policy(self, log: LogReader, facts: Facts, *, least_bound: float = 0.0) -> Policy:
        """The policy for a log.

        ``dim`` and ``action_bound`` come from the log; the bound is at least ``least_bound``.
        Unless given, ``gamma``, ``window``, ``period`` and ``length`` come from the best memory of
        `Log.memory`, and ``noise`` comes from the facts. A policy that estimates its noise gets
        none.
        """
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
        wanted = {"dim", "action_bound", *self._open} & set(inspect.signature(self.kind).parameters)
        if self.hears:
            wanted.add("noise")
        filled = {key: value for key, value in told.items() if key in wanted}
        try:
            return self.kind(**{**filled, **self.settings})
        except (TypeError, ValueError) as error:
            raise CannotAnswer(f"{self.kind.label} cannot be made for this log: {error}") from None


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
