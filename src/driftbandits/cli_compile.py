"""The verb `compile`: what a service needs, compiled before it starts."""

from __future__ import annotations

from time import perf_counter

import click

from .agent.preparing import compile_calls
from .experiments.parsing import labels_of
from .policies import registered


@click.command("compile")
@click.argument("names", nargs=-1, metavar="[POLICY]...")
def compile_policies(names: tuple[str, ...]) -> None:
    """Compile what policies and agents call, so that no later start has to wait for it.

    POLICY is a label or the name of a class; without any, all policies are compiled. The code goes
    to the folder NUMBA_CACHE_DIR if that is set. What only simulations use is left out.

    \b
    Examples:
      NUMBA_CACHE_DIR=/opt/compiled driftbandits compile AdaptiveLinUCB
      driftbandits compile D-LinUCB SW-LinUCB
    """
    classes = registered()
    labels = [label for name in names for label in labels_of(name, classes)] or list(classes)
    for label in labels:
        start = perf_counter()
        compile_calls(classes[label])
        click.echo(f"{label}: ready after {perf_counter() - start:.1f} s")
