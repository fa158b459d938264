"""Without an extra, the error names the missing package and the extra that contains it."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = "import sys; sys.modules[{missing!r}] = None; sys.argv = {argv!r}; {code}"
COMMAND = "from driftbandits.__main__ import main; main()"


@pytest.mark.parametrize(
    ("missing", "arguments", "code", "extra"),
    [
        ("click", ["policies"], COMMAND, "experiments"),
        ("click", ["serve"], COMMAND, "service"),
        ("pandas", ["log"], COMMAND, "logs"),
        ("httpx", [], "import driftbandits.client", "client"),
    ],
)
def test_the_extra_is_named(missing: str, arguments: list[str], code: str, extra: str) -> None:
    script = WITHOUT.format(missing=missing, argv=["driftbandits", *arguments], code=code)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"needs {missing}; install the extra: pip install 'driftbandits[{extra}]'" in done.stderr
