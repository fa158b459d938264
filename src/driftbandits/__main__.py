"""The command ``driftbandits``, also as ``python -m driftbandits``."""

from __future__ import annotations

import sys
from collections.abc import Callable


def main() -> None:
    """Run the command line, or say which package is missing."""
    try:
        run = _command_line()
        run()
    except KeyboardInterrupt:
        sys.exit(130)


def _command_line() -> Callable[[], None]:
    verb = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        # A server must restart quickly, and logs need the memory. So these commands do not load
        # what only other commands need.
        if verb == "serve":
            from .cli_service import serve_alone as run
        elif verb == "log":
            run = _log_alone()
        else:
            from .cli import main as run
    except ModuleNotFoundError as error:
        extra = {"serve": "service", "log": "logs"}.get(verb, "experiments")
        sys.exit(
            f"driftbandits: the command line needs {error.name}; "
            f"install the extra: pip install 'driftbandits[{extra}]'"
        )
    return run


def _log_alone() -> Callable[[], None]:
    """`driftbandits log`, without the other commands."""
    from .cli_errors import exit_codes
    from .cli_log import log_group
    from .cli_service import CONTEXT

    def run() -> None:
        with exit_codes("with --out, the same command continues from here"):
            name = "driftbandits log"
            log_group.main(sys.argv[2:], prog_name=name, standalone_mode=False, **CONTEXT)

    return run


if __name__ == "__main__":
    main()
