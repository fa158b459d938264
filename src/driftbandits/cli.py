"""The command line: its entry, the group of all commands, and the list of policies."""

from __future__ import annotations

import click

from ._version import __version__
from .cli_compile import compile_policies
from .cli_errors import exit_codes
from .cli_experiments import report, reproduce, run
from .cli_journal import journal_group
from .cli_leaderboard import leaderboard
from .cli_log import log_group
from .cli_service import CONTEXT, SERVICE_COMMANDS
from .policies import registered


def main() -> None:
    """Run the command line: 0 done, 1 failed, 2 wrong usage or input, 130 interrupted."""
    with exit_codes():
        cli(standalone_mode=False)


@click.group(context_settings=CONTEXT)
@click.version_option(__version__, prog_name="driftbandits")
def cli() -> None:
    """Linear bandits whose payoffs drift.

    \b
    Examples:
      driftbandits reproduce all                      every experiment of the paper, and the report
      driftbandits reproduce abrupt --replications 20 --set environment.noise.level=0.5
      driftbandits run my-experiment.toml --out results
      driftbandits leaderboard --environment abrupt --environment slow
      driftbandits log report my-log.parquet          does it drift, what would have been earned
      driftbandits serve                              decisions over HTTP, with a policy to try
      driftbandits compile AdaptiveLinUCB             so that later starts need no compiler
      driftbandits policies
    """


@cli.command()
def policies() -> None:
    """List the policies, one per line."""
    offered = registered()
    width = max(map(len, offered))
    for name, policy in offered.items():
        click.echo(f"{name:{width}}  {policy.__name__}: {policy.summary}")


for _command in (
    *(reproduce, run, report, leaderboard),
    *(log_group, journal_group, *SERVICE_COMMANDS, compile_policies),
):
    cli.add_command(_command)
