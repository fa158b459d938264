"""The cost of playing with the memory that `log memory` calls best, instead of the true best.

A world has a moving parameter, sets of Gaussian actions, and Gaussian noise. A uniform logger
writes its log. The recommended policy, with the noise and the bounds from the log, then plays the
same world with every memory of the grid. The cost is the extra regret of the memory called best,
compared with the best memory of the grid; both regrets are summed over logs. The cost of the best
predictor is computed too, at the theorem's radius and at 0.3 of it.

The rule for choosing was fixed on the first nine worlds. The last four were added after that.

The second part has logs that do not drift, with heavy-tailed noise that depends on a feature: how
often is a finite memory preferred, by evidence alone and by the answer?
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from benchmarks.measure import Array, Row, Say, at_most, single

from driftbandits.core.blocks import Block
from driftbandits.logs import Log, Memory

NAME = "log-memory"
# Which memory of the answer's table is played, and with which share of the theorem's radius.
PLAYED = {
    "the best memory": ("best", 1.0),
    "the best predictor": ("predictor", 1.0),
    "the best predictor, 0.3 of the radius": ("predictor", 0.3),
}
PROMISED = ("the best memory", "the best predictor, 0.3 of the radius")


@dataclass(frozen=True)
class World:
    """Kind and pace of the drift, rounds n, dimension d, actions K, noise and ‖θ‖."""

    moves: str
    pace: float
    rounds: int
    dim: int
    count: int
    noise: float
    size: float = 1.0

    def __str__(self) -> str:
        return (
            f"{self.moves} {self.pace:g}, n = {self.rounds:,}, d = {self.dim}, K = {self.count}, "
            f"noise {self.noise:g}, size {self.size:g}"
        )

    def path(self, rng: np.random.Generator) -> Array:
        """Parameters (n, d): turning ``pace`` times, walking, or jumping every ``pace`` rounds."""
        out = np.zeros((self.rounds, self.dim))
        if self.moves == "turns":
            angle = np.linspace(0.0, 2.0 * np.pi * self.pace, self.rounds)
            out[:, 0], out[:, 1] = np.cos(angle), np.sin(angle)
        elif self.moves == "jumps every":
            pieces = rng.normal(size=(self.rounds // int(self.pace) + 1, self.dim))
            out = np.repeat(pieces, int(self.pace), axis=0)[: self.rounds]
        else:
            now = rng.normal(size=self.dim)
            for t in range(self.rounds):
                now = now / np.linalg.norm(now) + self.pace * rng.normal(size=self.dim)
                out[t] = now
        return np.asarray(self.size * out / np.linalg.norm(out, axis=1, keepdims=True))


WORLDS = (
    World("turns", 1, 2000, 3, 5, 0.3),
    World("turns", 1, 2000, 3, 5, 0.3, 2.0),
    World("turns", 1, 4000, 3, 5, 0.5),
    World("turns", 3, 3000, 5, 10, 0.3),
    World("walks", 0.03, 2000, 4, 8, 0.5),
    World("walks", 0.01, 3000, 5, 5, 0.3),
    World("walks", 0.05, 2000, 2, 20, 1.0),
    World("jumps every", 500, 3000, 3, 5, 0.3),
    World("jumps every", 1000, 4000, 6, 10, 1.0),
    World("turns", 2, 5000, 8, 15, 0.5),
    World("walks", 0.02, 4000, 3, 10, 0.2),
    World("jumps every", 300, 3000, 4, 6, 0.5),
    World("walks", 0.1, 1000, 2, 4, 0.1, 3.0),
)


def run(*, quick: bool, say: Say) -> list[Row]:
    """All costs in every world, then the logs with heavy tails."""
    logs, rows = 2 if quick else 8, list[Row]()
    for world in WORLDS:
        say(f"log memory: {world}")
        found = costs(world, logs)
        rows += [
            single(NAME, str(world), f"cost of {what}", cost, note=f"{logs} logs",
                   aim=at_most(0.1) if what in PROMISED else None)
            for what, cost in found.items()
        ]  # fmt: skip
    say("log memory: heavy tails")
    return rows + _heavy_tails(20 if quick else 200)


def _heavy_tails(logs: int) -> list[Row]:
    found = [Log.open(heavy_tailed(seed), action="x_").memory() for seed in range(logs)]
    finite = {
        "evidence prefers": [bool(np.argmax(one.table["evidence"]) < 15) for one in found],
        "the answer is": [bool(np.isfinite(one.best)) for one in found],
    }
    return [
        single(NAME, "heavy tails, no drift", f"{who} a finite memory", float(np.mean(said)),
               aim=at_most(0.05) if "answer" in who else None, note=f"{logs} logs of 1,500 rows")
        for who, said in finite.items()
    ]  # fmt: skip


def heavy_tailed(seed: int, rounds: int = 1500) -> pd.DataFrame:
    """Rewards x + exp(x) t₃ for a Gaussian feature x: nothing drifts."""
    rng = np.random.default_rng([seed, 21])
    x = rng.normal(size=rounds)
    noise = np.exp(x) * rng.standard_t(3, rounds)
    return pd.DataFrame(
        {"time": np.arange(rounds) * 60.0, "x_0": 1.0, "x_1": x, "reward": x + noise}
    )


def costs(world: World, logs: int) -> dict[str, float]:
    """Extra regret relative to the best memory of the grid, by what is played."""
    lost, total = dict.fromkeys(PLAYED, 0.0), dict.fromkeys((1.0, 0.3), np.zeros(1))
    for seed in range(logs):
        block, frame = draw(world, seed)
        found = Log.open(frame).memory()
        memories = found.table["memory"].to_numpy()
        regret = {share: regrets(found, block, memories, share) for share in total}
        total = {share: total[share] + regret[share] for share in total}
        for what, (which, share) in PLAYED.items():
            lost[what] += float(regret[share][found.table[which].to_numpy()][0])
    return {
        what: lost[what] / float(total[share].min()) - 1.0 for what, (_, share) in PLAYED.items()
    }


def draw(world: World, seed: int) -> tuple[Block, pd.DataFrame]:
    """The rounds of a world, and a log of them by a uniform logger."""
    rng = np.random.default_rng([seed, 11])
    n, rows = world.rounds, np.arange(world.rounds)
    actions = rng.normal(size=(n, world.count, world.dim)) / np.sqrt(world.dim)
    theta = world.path(rng)
    means = np.einsum("nkd,nd->nk", actions, theta)
    chosen = rng.integers(0, world.count, n)
    frame = pd.DataFrame(
        {
            "time": rows * 3600.0,
            "actions": actions.tolist(),
            "chosen": chosen,
            "propensity": 1.0 / world.count,
            "reward": means[rows, chosen] + world.noise * rng.normal(size=n),
        }
    )
    noise = world.noise * rng.normal(size=(n, 1))  # fresh noise, not that of the log
    columns = np.ascontiguousarray(actions.transpose(0, 2, 1))
    longest = float(np.linalg.norm(actions, axis=2).max())
    return Block(1, columns, theta, means, means.max(axis=1), noise, longest), frame


def regrets(found: Memory, block: Block, memories: Array, share: float) -> Array:
    """Regret of the recommended policy with each memory, with a share of its radius."""
    told = found.setup
    setup = replace(told, noise=share * told.noise, theta_bound=share * told.theta_bound)
    out = np.empty((len(memories), block.rounds))
    for memory, regret in zip(memories, out, strict=True):
        setup.policy(memory).play(block, regret=regret)
    return np.asarray(out[:, -1])
