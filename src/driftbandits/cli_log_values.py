"""``driftbandits log value``: what policies would have earned; ``log fit``: a trained policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pandas as pd

from .agent import Agent
from .agent.learning import RULES, Rule
from .cli_log_options import (
    LEARN,
    PERIOD,
    POLICY,
    PROPENSITIES,
    SHARE,
    features_of,
    open_log,
    reading,
)
from .cli_log_output import bar, draw, out_folder, part, say, say_dropped, show, write
from .cli_log_words import Words
from .logs import CannotAnswer, Log, Value
from .logs.answers import Answers
from .logs.candidates import Candidate, Facts, is_fixed
from .policies import Policy

# The file that saves the work of this name in case of an interruption, or None.
Keep = Callable[[str], Path | None]


@dataclass(frozen=True)
class Terms:
    """The options of the same names."""

    period: str
    learn: str
    share: float | None
    propensities: str = "logged"


@click.command()
@reading
@POLICY
@PERIOD
@LEARN
@SHARE
@PROPENSITIES
@out_folder("value.csv, weights.csv, value.txt and a picture")
def value(
    policies: tuple[str, ...],
    period: str,
    learn: str,
    share: float | None,
    propensities: str,
    out: Path | None,
    **options: Any,
) -> None:
    """What policies would have earned, by period, with intervals.

    Fixed policies have IPS, SNIPS, DM and DR. Policies that learn are replayed on the real clock:
    "DR (learned from accepted rows)" is the value of a policy that learned only from these rows.
    The row at full traffic uses a model to estimate what it would have earned live, with all of its
    rewards. A policy that cannot be replayed has rows without numbers; the reason is printed.
    """
    log, terms = open_log(options), Terms(period, learn, share, propensities)
    with Answers(part(out, "facts"), log, "facts") as answers:
        found = values(log, policies or ("uniform",), terms, answers, lambda name: part(out, name))
    table = pd.concat([v.table for v in found], ignore_index=True).drop_duplicates()
    words = Words.of(found)
    for line in words.said:
        click.secho(line, bold=True)
    show(table[table["period"] == "all"].drop(columns="period"))
    say_dropped(log)
    say(words.warnings)
    say(words.refused, colour="red")
    words.write(out, "value.txt")
    write(out, "value.csv", table)
    write(out, "weights.csv", pd.concat([v.weights for v in found], ignore_index=True))
    draw(out, "value", _joined(found))


def values(
    log: Log, names: tuple[str, ...], terms: Terms, answers: Answers, keep: Keep
) -> list[Value]:
    """Values of fixed policies, then of those that learn.

    A policy without an answer does not stop the others.

    Raises:
        CannotAnswer: If no policy has an answer.
    """
    learning = {name: Candidate.parse(name) for name in names if not is_fixed(name)}
    fixed = {name: name for name in names if is_fixed(name)}
    found, idle = _evaluated(log, fixed, terms, keep)
    learned, refused = _replayed(log, learning, terms, answers, keep)
    found += learned
    if not found:
        reasons = idle | refused
        alike = len(set(reasons.values())) == 1
        words = (why if alike else f"{name}: {why}" for name, why in reasons.items())
        raise CannotAnswer("; ".join(dict.fromkeys(words)))
    last = found.pop().without(idle, watched=None)
    return [*found, last.without(refused, watched=terms.learn == "all")]


def _evaluated(
    log: Log, fixed: Mapping[str, str], terms: Terms, keep: Keep
) -> tuple[list[Value], dict[str, str]]:
    """Values of fixed policies, or why they have none."""
    if not fixed:
        return [], {}
    try:
        with bar("evaluating") as progress:
            found = log.value(
                fixed,
                period=terms.period,
                propensities=terms.propensities,
                resume=keep("value"),
                progress=progress,
            )
    except CannotAnswer as error:
        return [], dict.fromkeys(fixed, str(error))
    return [found], {}


def _replayed(
    log: Log, learning: Mapping[str, Candidate], terms: Terms, answers: Answers, keep: Keep
) -> tuple[list[Value], dict[str, str]]:
    """Values of the policies that can be replayed, and why the others cannot."""
    players, refused = dict[str, Policy](), dict[str, str]()
    for name, one in learning.items():
        try:
            players[name] = one.policy(log, told(log, one, answers, keep))
        except CannotAnswer as error:
            refused[name] = str(error)
    if not players:
        return [], refused
    try:
        with bar("replaying") as progress:
            found = log.replay(
                players,
                learn=terms.learn,
                share=terms.share,
                period=terms.period,
                resume=keep("replay"),
                progress=progress,
            )
    except CannotAnswer as error:
        return [], refused | dict.fromkeys(players, str(error))
    return [found], refused


def told(log: Log, one: Candidate, answers: Answers, keep: Keep) -> Facts:
    """Facts of the log for a policy, computed once.

    Noise and memory are computed together. If the log cannot give them, a policy that needs no
    memory gets the standard deviation of rewards as its noise.
    """

    def asked(with_memory: bool) -> Facts:
        def ask() -> Facts:
            with bar("what the log tells the policy") as progress:
                return Facts.of(
                    log, with_memory=with_memory, resume=keep("told"), progress=progress
                )

        return answers.ask(f"facts {with_memory}", ask)

    if one.remembers:
        return asked(True)
    try:
        return asked(one.hears)
    except CannotAnswer:
        return asked(False)


def _joined(found: list[Value]) -> Value:
    table = pd.concat([v.table for v in found], ignore_index=True)
    weights = pd.concat([v.weights for v in found], ignore_index=True)
    acceptance = {name: share for v in found for name, share in v.acceptance.items()}
    return Value(table.drop_duplicates(), weights, None, acceptance, (), ())


@click.command()
@reading
@POLICY
@click.option(
    "--rule",
    type=click.Choice(RULES),
    help="What to learn until a reward is known. wait: nothing; assume: the default, amended later "
    "(clicks); hold (agents only): nothing until the decision closes. Default: assume for agents, "
    "wait for policies.",
)
@click.option(
    "--wait",
    type=click.FloatRange(min=0, min_open=True),
    help="Fit an agent whose decisions close after this many seconds; needs --features.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("policy.npz"),
    show_default=True,
    help="File for the result; driftbandits.load reads a policy, Agent.load an agent. An "
    "interrupted command continues.",
)
def fit(
    policies: tuple[str, ...], rule: Rule | None, wait: float | None, out: Path, **options: Any
) -> None:
    """Train a policy or an agent on the log, as if it had been running at the time."""
    if len(policies) != 1 or is_fixed(policies[0]):
        raise click.UsageError("fit needs one --policy that learns, such as D-LinUCB")
    rule = rule or ("wait" if wait is None else "assume")
    if wait is None and rule == "hold":
        raise click.UsageError("rule hold is for agents: give --wait and --features")
    one, features = Candidate.parse(policies[0]), features_of(options["features"])
    if wait is not None and features is None:
        raise click.UsageError("an agent needs --features, and --context if the log has contexts")
    log, least = open_log(options), 0.0 if features is None else features.bound

    def keep(name: str) -> Path | None:
        return part(out.parent, f"{out.name}.{name}")

    with Answers(keep("facts"), log, "facts") as answers:
        policy = one.policy(log, told(log, one, answers, keep), least_bound=least)
        with bar("learning") as progress:
            if wait is None or features is None:
                _save(log.fit(policy, rule=rule, resume=keep("life"), progress=progress), out)
            else:
                default = log.schema.default
                agent = Agent(
                    features=features, policy=policy, wait=wait, rule=rule, default=default
                )
                _save(log.fit(agent, resume=keep("life"), progress=progress), out)
    say_dropped(log)


def _save(learned: Policy | Agent, out: Path) -> None:
    learned.save(out)
    if isinstance(learned, Agent):
        click.echo(f"{learned.policy!r}")
        click.echo(f"agent: {out}, after {learned.decided:,} decisions, {learned.open:,} open")
    else:
        click.echo(f"{learned!r}")
        click.echo(f"policy: {out}, at round {learned.round:,}")
