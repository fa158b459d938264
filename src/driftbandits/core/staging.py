"""Replaces several files of one folder, all together or not at all.

The new files are written to a hidden folder, ``.saving``. Renaming it to ``.saved`` is the one step
that decides: before it the old files count, after it the new ones. Only then do the new files move
to where they belong, one by one. If the process is killed on the way, `place_of` finds them in
either place, and the next `replace_files` moves the rest.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .storage import locked, sync_folder

_UNDECIDED, _DECIDED = ".saving", ".saved"


@contextmanager
def replace_files(folder: Path, *, last: str) -> Iterator[Path]:
    """A hidden folder whose files replace those of ``folder`` when the block ends.

    ``last`` is the file that moves last. It should list the others: a reader that starts from it
    then sees files that belong together.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        _move(folder, last)
        hidden = folder / _UNDECIDED
        shutil.rmtree(hidden, ignore_errors=True)  # what a killed process left
        hidden.mkdir()
        try:
            yield hidden
            sync_folder(hidden)
            hidden.rename(folder / _DECIDED)
        except BaseException:
            shutil.rmtree(hidden, ignore_errors=True)
            raise
        sync_folder(folder)
        _move(folder, last)


def place_of(folder: Path, name: str, *, last: str) -> Path:
    """Where the file ``name`` of ``folder`` is now, or would be."""
    decided = folder / _DECIDED
    waiting = (decided / last).exists() and (decided / name).exists()
    return (decided if waiting else folder) / name


def _move(folder: Path, last: str) -> None:
    """Move the files of ``.saved``, if any, to where they belong."""
    decided = folder / _DECIDED
    if not decided.exists():
        return
    for path in sorted(decided.iterdir(), key=lambda path: path.name == last):
        path.replace(folder / path.name)
    decided.rmdir()
    sync_folder(folder)
