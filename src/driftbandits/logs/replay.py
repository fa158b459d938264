"""What a policy that learns would have earned: doubly robust replay on the real clock.

For every row the policy makes a choice, which is scored with the doubly robust term

    φ = q̂(x, choice) + 1{choice = played}/p · (r − q̂(x, played)),

which is an unbiased estimate of what the choice earns. The policy then learns from the row with
probability min(1, c·1{choice = played}/p). So the rows it learns from look as if its own choices
had been played (Dudík, Erhan, Langford and Li, 2012). Other rows still move its clock: otherwise
the world would drift K times faster for the policy than it did.

The policy learns from about a share c of the rows, fewer than it would live. Learning from ``all``
rows instead answers another question: what would the policy have earned in each row if it had
watched the logger until then?
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd

from ..core.arrays import Array, one_of
from ..core.randomness import stream
from ..policies import Policy
from .batch import Batch, Ints
from .estimators import replayed
from .evaluation import Evaluation
from .model import RewardModel
from .moments import DIRECT, ONE, REWARD, ROBUST, WEIGHT, WEIGHTED
from .reading import LogReader, Progress
from .resuming import Checkpoint, Resume, fingerprint
from .schema import CannotAnswer
from .traffic import Traffic, draws, moved
from .value import (
    Value,
    check_answerable,
    make_evaluation,
    summary,
)


class Waiting:
    """Rewards that a policy has not received yet, delivered when they arrive."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Array, float, float]] = []
        self._count = 0

    def add(self, arrival: float, action: Array, reward: float, round: float) -> None:
        """Add a reward of ``round`` that comes at ``arrival``."""
        heapq.heappush(self._heap, (arrival, self._count, action, reward, round))
        self._count += 1

    @property
    def next(self) -> float:
        """When the next reward comes."""
        return self._heap[0][0] if self._heap else np.inf

    def deliver(self, policy: Policy, now: float) -> None:
        """Let the policy learn the rewards that arrived by ``now``, in the order of arrival."""
        while self._heap and self._heap[0][0] <= now:
            _, _, action, reward, round = heapq.heappop(self._heap)
            policy.update(action, reward, round=round)


class Player:
    """One policy in replay.

    Attributes:
        refused: Why the policy cannot continue; empty if it can.
    """

    def __init__(self, name: str, policy: Policy, *, learn: str, share: float, seed: int) -> None:
        self.policy, self.learn, self.share = policy.copy(), learn, share
        self._draws = stream(seed, "logs", "replay", name)
        self._waiting = Waiting()
        self.accepted = self.rows = self.above = 0
        self.refused = ""

    def try_to_play(self, batch: Batch, p: Array, blocks: int) -> Ints:
        """Like `play`, but a policy that refuses a row stops; then all choices are 0.

        Rows were checked when they were read, so a refusal here is a rule of the policy.
        """
        if not self.refused:
            try:
                return self.play(batch, p, blocks)
            except ValueError as error:
                self.refused = str(error)
        return np.zeros(len(batch), dtype=np.int64)

    def play(self, batch: Batch, p: Array, blocks: int) -> Ints:
        """Play the rows of a batch: choices (n,)."""
        policy, waiting = self.policy, self._waiting
        draws = self._draws.random(len(batch))
        choices = np.empty(len(batch), dtype=np.int64)
        learns = batch.known & ((self.learn == "all") | (draws < self.share / p))
        # Reading single entries is faster from lists than from arrays.
        times, firsts, played, may = (
            x.tolist() for x in (batch.time, batch.first, batch.chosen, learns)
        )
        offered, actions, round = -1, np.zeros((0, 0)), float(policy.round)
        for i in range(len(batch)):
            if waiting.next <= times[i]:
                waiting.deliver(policy, times[i])
            if firsts[i] != offered:  # rows of a catalogue share their sets
                offered, actions = firsts[i], batch.actions(i, blocks)
            # Like `decide`, but without propensities and scores, which are not needed here.
            choices[i] = choice = policy.select(actions)
            policy.advance()
            if may[i] and (choice == played[i] or self.learn == "all"):
                self.accepted += 1
                waiting.add(batch.arrival[i], actions[played[i]], float(batch.reward[i]), round + i)
        return choices

    def fill(self, batch: Batch, choices: Ints, p: Array, theta: Array, out: Array) -> None:
        """Put the numbers (n, 6) of the rows into ``out``, given the policy's choices."""
        rows = batch.first + choices
        direct = np.einsum("ij,ij->i", batch.vectors[rows], theta[batch.blocks[rows]])
        weight = np.where(choices == batch.chosen, 1.0 / p, 0.0)
        reward = np.where(batch.known, batch.reward, 0.0)
        out[:, ONE], out[:, REWARD], out[:, WEIGHT] = 1.0, reward, weight
        out[:, WEIGHTED], out[:, DIRECT] = weight * reward, direct
        out[:, ROBUST] = direct + weight * (reward - direct)
        self.above += int((self.share * weight > 1.0 + 1e-12).sum())
        self.rows += len(batch)


def replay(
    log: LogReader,
    policies: Mapping[str, Policy],
    *,
    learn: str = "accepted",
    share: float | None = None,
    full_traffic: bool = True,
    period: str = "auto",
    seed: int = 0,
    resume: Resume = None,
    progress: Progress | None = None,
) -> Value:
    """Values of policies that learn, by period; see `Value`.

    Args:
        log: The log; one decision per row.
        policies: Policies by name. They are copied; each continues from the state it has.
        learn: The rows to learn from: ``accepted`` rows, as if the policy had decided; or ``all``
            rows, as if it had watched.
        share: The constant c; by default the least propensity of the log. A larger c accepts more
            rows, but the rows learned from are biased if c/p is above 1.
        full_traffic: Whether to add a row, for the whole log and ``accepted`` rows only: what the
            policy would have earned with all of its rewards, according to a model
            (`driftbandits.logs.traffic`).
        period: As for `value`.
        seed: Seed of the draws that accept rows.
        resume: As for `memory`.
        progress: Called with the number of rows done.
    """
    one_of("learn", learn, ("accepted", "all"))
    check_answerable(log, "logged")
    c = _least_propensity(log) if share is None else share
    if not 0.0 < c <= 1.0:
        raise ValueError(f"share must lie in (0, 1], got {c!r}")
    players = {
        name: Player(name, policy, learn=learn, share=c, seed=seed)
        for name, policy in policies.items()
    }
    evaluation, model = make_evaluation(log, period), RewardModel(log)
    told = {name: fingerprint(policy) for name, policy in policies.items()}
    question = f"replay {told} {learn} {c} {seed} {evaluation.periods}"
    work = {"evaluation": evaluation, "model": model, "players": players}
    with ThreadPoolExecutor(1) as thread, Checkpoint(resume, log, question, work) as kept:
        for batch in kept.batches(progress=progress):
            _play(batch, players, evaluation, model, log, thread)
    refused = {name: one.refused for name, one in players.items() if one.refused}
    able = {name: one for name, one in players.items() if name not in refused}
    if not able:
        words = (f"{name} cannot be replayed: {why}" for name, why in refused.items())
        raise CannotAnswer("; ".join(words))
    for name in refused:
        evaluation.cells.pop(name, None)
    found = summary(log, evaluation, list(able), "logged")
    found = replace(
        found,
        table=replayed(found.table, watched=learn == "all"),
        acceptance={name: one.accepted / max(one.rows, 1) for name, one in able.items()},
        warnings=(*found.warnings, *_cautions(able, learn, c)),
        watched=learn == "all",
    )
    if full_traffic and learn != "all":
        found = _at_full_traffic(log, {name: policies[name] for name in able}, found, seed)
    return found.without(refused, watched=learn == "all")


def _play(
    batch: Batch,
    players: Mapping[str, Player],
    evaluation: Evaluation,
    model: RewardModel,
    log: LogReader,
    model_thread: ThreadPoolExecutor,
) -> None:
    """Let all policies play a batch, and add its rows to the evaluation.

    Policies learn from rewards when they arrived; values use the rewards of `Batch.judged`.
    """
    blocks, actions, judged = log.blocks, len(log.action_names), batch.judged()
    usable = judged.known & np.isfinite(batch.propensity)
    evaluation.skipped += int((~usable).sum())
    p = np.where(np.isfinite(batch.propensity), batch.propensity, 1.0)
    numbers = {name: np.zeros((len(batch), 6)) for name in players}
    labels = dict[str, Ints]()
    # Choices do not depend on the model, so the model learns the batch in a parallel thread.
    learning = model_thread.submit(list, model.pieces(batch))
    choices = {name: player.try_to_play(batch, p, blocks) for name, player in players.items()}
    for name in players:
        labels[name] = batch.labels[batch.first + choices[name]]
    for part, theta in learning.result():
        rows = _part(judged, part)
        for name, player in players.items():
            player.fill(rows, choices[name][part], p[part], theta, numbers[name][part])
    rows = judged.where(usable)
    if len(rows):
        for name, table in numbers.items():
            if players[name].refused:
                continue
            evaluation.add(name, rows, table[usable])
            plays = evaluation.support.plays(name, actions)
            np.add.at(plays, labels[name][usable], batch.count[usable])
        evaluation.add_logged(rows)


def _at_full_traffic(
    log: LogReader, policies: Mapping[str, Policy], found: Value, seed: int
) -> Value:
    """The same answer, with a row at full traffic for each policy."""
    model = Traffic.of(log)
    if model is None:
        words = "full traffic: too few rows for a model of the log, or too few rewards among them"
        return replace(found, refused=(*found.refused, words))
    rows, refused = [], list[str]()
    for name, policy in policies.items():
        if np.isnan(found.of(name)["estimate"]):  # the log cannot answer
            continue
        try:
            worth = model.shortage(policy, found.acceptance[name], draws(seed, name))
        except ValueError as error:  # a policy may refuse rewards that the model draws
            refused.append(
                f"full traffic of {name}: the policy refuses the model's rewards: {error}"
            )
            continue
        rows.append(moved(found.of(name), worth, log.schema.reward_bounds))
    table = pd.concat([found.table, pd.DataFrame(rows)], ignore_index=True) if rows else found.table
    return replace(found, table=table, refused=(*found.refused, *refused))


def _part(batch: Batch, part: slice) -> Batch:
    mask = np.zeros(len(batch), dtype=bool)
    mask[part] = True
    return replace(batch, table=None).where(mask)


def _least_propensity(log: LogReader) -> float:
    least = np.inf
    for batch in log.batches():
        if (batch.count != 1.0).any():
            raise CannotAnswer("replay needs one decision per row; this log is aggregated")
        least = min(least, float(np.nanmin(batch.propensity, initial=np.inf)))
    if least < 1e-3:
        raise CannotAnswer(
            f"the least propensity is {least:.2g}: replay would accept only about this share of "
            "the rows. Give a larger share, which adds bias, or let the policy learn from all rows"
        )
    return least


def _cautions(players: Mapping[str, Player], learn: str, share: float) -> list[str]:
    out = []
    for name, player in players.items():
        if learn == "all":
            out.append(f"{name} watched the logger: its own choices did not shape what it learned")
            continue
        rate = player.accepted / max(player.rows, 1)
        if rate < 1.0:
            out.append(
                f"{name} learned from {rate:.1%} of the rows; live it would have learned from all "
                "of them"
            )
        if player.above:
            out.append(
                f"{name}: c/p was above 1 in {player.above} rows (c = {share:g}), so the rows it "
                "learned from are biased"
            )
    return out
