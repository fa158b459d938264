"""The command ``driftbandits``, also as ``python -m driftbandits``."""

from __future__ import annotations

import sys
from collections.abc import Callable


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        run = _command_line()
        run()
    except KeyboardInterrupt:
        sys.exit(130)


def _command_line() -> Callable[[], None]:
    serves = sys.argv[1:2] == ["serve"]
    try:
        # A server has to be back quickly: it comes without what only other commands need.
        if serves:
            from .cli_service import serve_alone as run
        else:
            from .cli import main as run
    except ModuleNotFoundError as error:
        extra = "service" if serves else "experiments"
        sys.exit(
            f"driftbandits: the command line needs {error.name}; "
            f"install the extra: pip install 'driftbandits[{extra}]'"
        )
    return run


if __name__ == "__main__":
    main()
