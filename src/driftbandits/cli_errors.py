"""Exit codes and error messages of the command line."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click

from .core.blocks import BlockError
from .environments.criteo import CriteoFileError
from .experiments import SettingsError
from .features import FeatureError
from .logs.schema import CannotAnswer, LogError
from .simulation import ResultFileError
from .simulation.engine import PlayerError

FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130

# Errors about the user's input; their message is enough. Every other exception is a defect, here
# or in the user's code, and keeps its traceback.
_ABOUT_INPUT = (
    SettingsError,
    ResultFileError,
    CriteoFileError,
    BlockError,
    PlayerError,
    LogError,
    CannotAnswer,
    FeatureError,
    FileNotFoundError,
)


@contextmanager
def exit_codes(continues: str = "the same command continues from here") -> Iterator[None]:
    """Turn errors about input, files and memory into a message and an exit code.

    ``continues`` says what to do after an interruption.
    """
    try:
        yield
    except click.exceptions.Abort:
        click.secho(f"interrupted; {continues}", fg="yellow", err=True)
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except _ABOUT_INPUT as error:
        _end(str(error), WRONG_INPUT)
    except OSError as error:
        _end(str(error), FAILED)
    except MemoryError as error:
        _end(f"not enough memory: {error}", FAILED)


def _end(message: str, code: int) -> NoReturn:
    click.secho(f"error: {message}", fg="red", err=True)
    sys.exit(code)


@contextmanager
def errors_of(file: Path) -> Iterator[None]:
    """Show the traceback of an error in a user's Python file, from the first line in the file on.

    The frames before it are left out, because they belong to this package.
    """
    try:
        yield
    except (click.exceptions.Exit, click.exceptions.Abort, click.ClickException):
        raise
    except Exception as error:
        report = traceback.TracebackException.from_exception(error)
        places = [place for place, frame in enumerate(report.stack) if _same(frame.filename, file)]
        if not places and not (isinstance(error, SyntaxError) and _same(error.filename, file)):
            raise
        del report.stack[: places[0] if places else None]
        click.echo("".join(report.format()).rstrip(), err=True)
        sys.exit(WRONG_INPUT)


def _same(name: str | None, file: Path) -> bool:
    return name is not None and Path(name).resolve() == file.resolve()
