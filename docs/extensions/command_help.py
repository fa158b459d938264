"""Sphinx extension: ``{command-help} run`` shows what ``driftbandits run --help`` prints."""

from __future__ import annotations

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from driftbandits.cli import cli


class CommandHelp(SphinxDirective):
    """The help of one command, or without an argument that of the whole program."""

    optional_arguments = 2

    def run(self) -> list[nodes.Node]:
        """A block of text with the help."""
        words = ["driftbandits", *self.arguments]
        command: click.Command = cli
        for name in self.arguments:
            assert isinstance(command, click.Group)
            command = command.commands[name]
        context = click.Context(command, info_name=" ".join(words), terminal_width=100)
        text = command.get_help(context)
        return [nodes.literal_block(text, text, language="text")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True}
