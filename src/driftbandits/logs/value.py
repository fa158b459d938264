"""What a policy would have earned: IPS, SNIPS, DM and DR by period, with intervals.

With weights w = π(a|x)/p and a model q̂ of earlier rewards,

    IPS mean(w r)     SNIPS Σ w r / Σ w     DM mean(Σ_a π q̂)     DR mean(Σ_a π q̂ + w (r − q̂)).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from ..core.arrays import Array
from .batch import Batch, Mask
from .estimators import unanswered, variants
from .evaluation import ALL, LOGGING, Evaluation
from .model import RewardModel
from .moments import DIRECT, ONE, REWARD, ROBUST, WEIGHT, WEIGHTED
from .periods import Periods
from .reading import LogReader, Progress
from .resuming import Checkpoint, Resume
from .saying import say_lost, say_values
from .schema import CannotAnswer
from .scores import expect
from .shares import RunningShares
from .support import mean_weight
from .targets import Named, Target, parse, stamp, starts

_FEW = 30.0


@dataclass(frozen=True)
class Value:
    """What `Log.value` found.

    Attributes:
        table: One row per policy, period and estimator: estimate, 95% interval, rows, effective
            sample size. The period ``all`` is the whole log. Estimators named ``… − logging`` are
            paired differences to the logged rewards; ``IPS, anytime`` has the interval that holds
            at all times at once. For a replayed policy, the name says what it learned from:
            ``DR (learned from accepted rows)`` is the value of a policy that got only these
            rewards; ``DR, full traffic (model)`` is what it would have earned with all rewards.
        weights: One row per policy and period: largest weight, effective sample size.
        lost: Loss of the logging policy against the best candidate chosen on the other periods:
            estimate, low, high; None with fewer than two periods.
        acceptance: Share of rows that each learning policy learned from.
        refused: Questions that the log cannot answer, and why.
        warnings: Cautions about the numbers.
        watched: Whether learning policies learned from all rows, as if they had watched the logger.
        doubted: Policies whose numbers cannot be trusted; ``refused`` says why.
    """

    table: pd.DataFrame
    weights: pd.DataFrame
    lost: tuple[float, float, float] | None
    acceptance: Mapping[str, float]
    refused: tuple[str, ...]
    warnings: tuple[str, ...]
    watched: bool = False
    doubted: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer in words: one sentence per policy, then what the logger earned and lost."""
        said = say_values(self.table, self.acceptance, watched=self.watched, doubted=self.doubted)
        if self.lost is None:
            return said
        told = self.table["estimate"].notna() & (self.table["policy"] != LOGGING)
        model = self.table["estimator"].isin(variants("DM"))
        judged = dict.fromkeys(self.table["policy"][told & ~model])
        names = (
            f"{name} (in replay)" if self.acceptance.get(name, 1.0) < 1.0 else str(name)
            for name in judged
        )
        return (*said, say_lost(self.lost, ", ".join(names)))

    def without(self, reasons: Mapping[str, str], *, watched: bool | None) -> Self:
        """This answer, with rows without numbers for policies that have no answer.

        Args:
            reasons: Why a policy has no answer, by policy.
            watched: Whether these policies should learn from all rows; None for fixed policies.
        """
        if not reasons:
            return self
        rows = unanswered(list(reasons), watched=watched)
        done = "evaluated" if watched is None else "replayed"
        words = [f"{name}: it cannot be {done}: {why}" for name, why in reasons.items()]
        table = pd.concat([self.table, rows], ignore_index=True)
        return replace(self, table=table, refused=(*self.refused, *words))

    def of(self, policy: str, estimator: str = "DR", period: str = ALL) -> pd.Series[Any]:
        """One row of the table.

        ``DR`` also finds the row of a replayed policy, whose name in the table is longer.
        """
        found = self.table[
            (self.table["policy"] == policy)
            & self.table["estimator"].isin(variants(estimator))
            & (self.table["period"] == period)
        ]
        if found.empty:
            raise KeyError((policy, estimator, period))
        return found.iloc[0]


def value(
    log: LogReader,
    policies: Mapping[str, Target | str],
    *,
    period: str = "auto",
    propensities: str = "logged",
    resume: Resume = None,
    progress: Progress | None = None,
) -> Value:
    """Values of fixed policies by period; see `Value`.

    Args:
        log: The log.
        policies: Fixed policies by name, as functions or texts; see `driftbandits.logs.targets`.
        period: ``day``, ``week``, ``hour``, a number of hours, or ``auto``.
        propensities: ``logged``, or ``estimated`` from the shares of earlier plays, which is only
            right if the logger ignored contexts.
        resume: As for `memory`.
        progress: Called with the number of rows done.
    """
    check_answerable(log, propensities)
    targets = {name: parse(p) if isinstance(p, str) else p for name, p in policies.items()}
    evaluation = make_evaluation(log, period)
    estimated = RunningShares(log) if propensities == "estimated" else None
    model = RewardModel(log)
    limits = evaluation.bounds or (-np.inf, np.inf)
    asked = {name: stamp(policy) for name, policy in policies.items()}
    question = f"value {asked} {evaluation.periods} {propensities}"
    asking = _Asking()
    work = {"evaluation": evaluation, "model": model, "shares": estimated, "asking": asking}
    with Checkpoint(resume, log, question, work) as kept:
        for batch in kept.batches(progress=progress):
            batch = batch.judged()
            p = batch.propensity if estimated is None else estimated(batch)
            chances = asking.chances(targets, log, batch)
            numbers = {name: np.zeros((len(batch), 6)) for name in chances}
            usable = batch.known & np.isfinite(p)
            for part, theta in model.pieces(batch):
                for name, table in numbers.items():
                    wanted = evaluation.support.plays(name, len(log.action_names))
                    rows = (batch, part, p, usable)
                    _fill(table[part], *rows, chances[name], theta, limits, wanted)
            _count(evaluation, batch, usable, numbers)
    for target in targets.values():
        if isinstance(target, Named):
            target.check(log)
    for name in asking.refused:
        evaluation.cells.pop(name, None)
    able = [name for name in policies if name not in asking.refused]
    return summary(log, evaluation, able, propensities).without(asking.refused, watched=None)


class _Asking:
    """Asks fixed policies for probabilities, and notes why some of them refuse."""

    def __init__(self) -> None:
        self.refused: dict[str, str] = {}

    def chances(
        self, targets: Mapping[str, Target], log: LogReader, batch: Batch
    ) -> dict[str, Array]:
        """Probabilities by policy, without policies that have refused a row."""
        out = dict[str, Array]()
        for name, target in targets.items():
            if name in self.refused:
                continue
            try:
                out[name] = np.ascontiguousarray(target(log, batch))
            except CannotAnswer as error:
                self.refused[name] = str(error)
        if targets and not out:
            raise CannotAnswer("; ".join(dict.fromkeys(self.refused.values())))
        return out


def _count(
    evaluation: Evaluation,
    batch: Batch,
    usable: Mask,
    numbers: Mapping[str, Array],
) -> None:
    """Add the rows of a batch that have a reward and a propensity."""
    evaluation.skipped += int((~usable).sum())
    rows = batch.where(usable)
    if len(rows) == 0:
        return
    for name, table in numbers.items():
        evaluation.add(name, rows, table[usable])
    evaluation.add_logged(rows)


def _fill(
    out: Array,
    batch: Batch,
    part: slice,
    p: Array,
    usable: Mask,
    chances: Array,
    theta: Array,
    limits: tuple[float, float],
    wanted: Array,
) -> None:
    """Fill the numbers (n, 6) of a part of a batch; add the policy's plays to ``wanted``."""
    first, size, chosen = batch.first[part], batch.size[part], batch.chosen[part]
    direct, played, share = (np.empty(len(out)) for _ in range(3))
    expect(
        batch.vectors,
        batch.blocks,
        first,
        size,
        chosen,
        theta,
        limits[0],
        limits[1],
        chances,
        starts(batch)[part],
        batch.labels,
        np.where(usable[part], batch.count[part], 0.0),
        direct,
        played,
        share,
        wanted,
    )
    reward = np.where(batch.known[part], batch.reward[part], 0.0)
    weight = share / p[part]
    out[:, ONE], out[:, REWARD], out[:, WEIGHT], out[:, WEIGHTED] = (
        1.0,
        reward,
        weight,
        weight * reward,
    )
    out[:, DIRECT], out[:, ROBUST] = direct, direct + weight * (reward - played)


def check_answerable(log: LogReader, propensities: str) -> None:
    """Raise an error if the log cannot answer."""
    if propensities not in ("logged", "estimated"):
        raise ValueError(f"propensities must be one of logged, estimated, got {propensities!r}")
    if not log.whole:
        raise CannotAnswer(
            "values of other policies need the actions that were offered; this log has only the "
            "played ones. Drift, memory and fit do not need the others"
        )
    some = any(np.isfinite(batch.propensity).any() for batch in log.batches())
    if propensities == "logged" and not some:
        raise CannotAnswer(
            "values need the probability with which each action was played, and the log has none. "
            "Log propensities, or ask for estimated ones: they are right only if the logger "
            "ignored contexts"
        )


def make_evaluation(log: LogReader, period: str) -> Evaluation:
    """An empty evaluation of a log by period, with bounds of rewards if they are known."""
    span = log.span()
    periods = Periods.named(period, span=span[1] - span[0], dated=log.dated)
    return Evaluation(periods, log.schema.reward_bounds)


def summary(
    log: LogReader, evaluation: Evaluation, candidates: list[str], propensities: str
) -> Value:
    """The value of a finished evaluation."""
    if LOGGING not in evaluation.cells:
        raise CannotAnswer("values need rows with a reward and a propensity, and the log has none")
    evaluation.finish(log.action_names)
    refused, warnings = [], []
    if evaluation.bounds is None:
        refused.append(
            "anytime intervals: they need the least and the largest possible reward "
            "(reward_bounds), which the log cannot tell"
        )
    logged = evaluation.cells[LOGGING][ALL].moments
    if logged.constant:
        refused.append("t intervals: all rewards are equal, so the error of means is not known")
    elif logged.blurred:
        refused.append(
            "t intervals: rewards differ so little, relative to their size, that rounding hides "
            "it; subtract a number from all of them"
        )
    if evaluation.skipped:
        young, hours = "", log.schema.mature_after
        if hours is not None:
            young = f", or younger than {hours:g} hours at the end of the log,"
        left = f"{evaluation.skipped} rows without reward or propensity{young} were left out"
        warnings.append(left)
    if propensities == "estimated":
        warnings.append("propensities are estimated: right only if the logger ignored contexts")
    doubted = []
    for name in candidates:
        answer, words = _trust(evaluation, name, log.action_names)
        (warnings if answer else refused).extend(words)
        if not answer:
            doubted.append(name)
    return Value(
        table=evaluation.table(),
        weights=evaluation.weights(),
        lost=evaluation.lost(candidates),
        acceptance={},
        refused=tuple(refused),
        warnings=tuple(warnings),
        doubted=tuple(doubted),
    )


def _trust(evaluation: Evaluation, name: str, actions: tuple[str, ...]) -> tuple[bool, list[str]]:
    """Whether the numbers of a policy can be trusted, and the reasons or cautions in words."""
    moments, missing = (
        evaluation.cells[name][ALL].moments,
        evaluation.support.missing(name, actions),
    )
    if name in evaluation.unanswered:
        why = f"{missing}, so no number here can tell what it earns"
        if missing.share == 0.0:
            why = (
                "no row plays what this policy would have played, so IPS, SNIPS and DR have no "
                "answer; DM comes from the model alone"
            )
        return False, [f"{name}: {why}"]
    off = mean_weight(moments)
    if off is not None:
        return False, [
            f"{name}: its weights average {off:.3g} but should average 1: the logger could not "
            "have played all actions of this policy, or the logged propensities are wrong. IPS is "
            "off by about the same factor, and DR depends on the model"
        ]
    if moments.effective < _FEW:
        return False, [
            f"{name}: {moments.rows:,} rows are worth {moments.effective:.1f} for this policy; "
            "its IPS, SNIPS and DR cannot be trusted"
        ]
    if moments.unrewarded:
        return False, [
            f"{name}: no row that this policy would have played was rewarded, so it has no "
            "intervals"
        ]
    words = []
    if moments.effective < 0.1 * moments.rows:
        words.append(
            f"{name}: uneven weights, {moments.rows:,} rows are worth "
            f"{moments.effective:,.0f}, largest weight {moments.largest:,.3g}"
        )
    if missing.share > 0.0:
        words.append(f"{name}: {missing}; estimates are right if the logger could have played them")
    return True, words
