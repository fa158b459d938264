"""The command ``driftbandits``, also as ``python -m driftbandits``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        from .cli import main as run

        run()
    except ModuleNotFoundError as error:
        sys.exit(
            f"driftbandits: the command line needs {error.name}; "
            "install the extra: pip install 'driftbandits[experiments]'"
        )
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
