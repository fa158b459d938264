"""kill -9 under load: no acknowledged command is lost, and nothing is learned twice.

`DRIFTBANDITS_KILLS` sets the number of kills; the default is 100.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = int(os.environ.get("DRIFTBANDITS_KILLS", "100"))


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the load runs in forked processes")
def test_kills_lose_nothing(tmp_path: Path) -> None:
    script = Path(__file__).with_name("service_kills.py")
    run = subprocess.run(
        [sys.executable, script, tmp_path, str(KILLS)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert result["identical"]
    assert result["kills"] == KILLS
    assert result["kills with answers"] > KILLS / 4
    assert result["snapshots"] > 0
