"""The command `compile`: compile the code of policies before a service starts."""

from __future__ import annotations

from time import perf_counter

import click

from .agent.preparing import compile_calls
from .experiments.parsing import labels_of
from .policies import registered


@click.command("compile")
@click.argument("names", nargs=-1, metavar="[POLICY]...")
def compile_policies(names: tuple[str, ...]) -> None:
    """Compile the code of policies and agents, so that later starts do not wait for the compiler.

    POLICY is a label or the name of a class; by default all policies are compiled. The code goes
    to the folder NUMBA_CACHE_DIR if that is set. Code that only simulations use is left out.

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
