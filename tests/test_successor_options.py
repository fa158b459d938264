"""The successors of D-LinUCB refuse bad options, and name the option and its value."""

from __future__ import annotations

from typing import Any

import pytest

from driftbandits.policies.bob.policy import BOB
from driftbandits.policies.dal.policy import DetectRestartLinUCB
from driftbandits.policies.weighted.d_lints import DLinTS
from driftbandits.policies.weighted.d_rand_linucb import DRandLinUCB
from driftbandits.policies.weighted.lb_weight_ucb import LBWeightUCB
from driftbandits.policies.weighted.restart_ucb import RestartUCB

REFUSED: list[tuple[Any, dict[str, Any]]] = [
    (LBWeightUCB, {"gamma": 1.0}),
    (LBWeightUCB, {"gamma": 0.9, "confidence": "determinant"}),
    (RestartUCB, {"length": 0}),
    (RestartUCB, {"length": 5, "confidence": "none"}),
    (DRandLinUCB, {"gamma": 0.9, "scale": 0.0}),
    (DRandLinUCB, {"gamma": 0.9, "scale": "wide"}),
    (DLinTS, {"gamma": 0.9, "seed": -1}),
    (BOB, {"horizon": 0}),
    (BOB, {"horizon": 10, "over": "restarts"}),
    (DetectRestartLinUCB, {"exploration": 1.5}),
    (DetectRestartLinUCB, {"false_alarm": 0.0}),
]


@pytest.mark.parametrize(("cls", "options"), REFUSED)
def test_bad_options_are_refused_by_name_and_value(cls: Any, options: dict[str, Any]) -> None:
    name, value = list(options.items())[-1]
    with pytest.raises(ValueError, match=name) as caught:
        cls(dim=2, **options)
    assert str(value) in str(caught.value)
