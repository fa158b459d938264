"""The Open Bandit sample: the log of one logger predicts what the other logger earned.

The sample is inside obp's wheel, which is read, not imported.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest
from studies.real_logs import open_bandit


def sample() -> Path:
    try:
        files = metadata.files("obp") or []
    except metadata.PackageNotFoundError:
        pytest.skip("the sample needs: pip install --no-deps obp==0.4.1")
    (path,) = (file for file in files if file.match("obd/random/all/all.csv"))
    return Path(str(path.locate())).parents[2]


def test_each_logger_tells_the_others_click_rate() -> None:
    rows = open_bandit(sample())
    judged = [row for row in rows if row.aim is not None]
    assert len(judged) == 18  # three campaigns, both ways, IPS, SNIPS and DR
    assert [row for row in judged if row.verdict != "met"] == []
    said = {row.subject: row.note for row in rows if row.quantity == "warns of weights"}
    assert "cannot be trusted" in said["open bandit women, bts to random"]
    assert "uneven weights" in said["open bandit all, bts to random"]
