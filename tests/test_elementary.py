"""Elementary functions in plain arithmetic are as exact as documented, for all arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from driftbandits.core.compiling import entry_point
from driftbandits.core.elementary import exp, log


def _logs(numbers: Any, out: Any) -> None:
    for i in range(numbers.size):
        out[i] = log(numbers[i])


def _powers(numbers: Any, out: Any) -> None:
    for i in range(numbers.size):
        out[i] = exp(numbers[i])


logs, powers = entry_point(_logs, "test"), entry_point(_powers, "test")


def arguments() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "of any size": np.exp(rng.uniform(-690, 709, 20_000)),
        "around one": 1.0 + rng.choice([-1, 1], 20_000) * np.exp(rng.uniform(-36, -1, 20_000)),
        "from one to three": rng.uniform(1, 3, 20_000),
        "powers of two": 2.0 ** np.arange(-996, 1024),
        "beside powers of two": np.nextafter(2.0 ** np.arange(-996, 1024), 0),
    }


@pytest.mark.parametrize("kind", arguments())
def test_the_logarithm_is_off_by_at_most_one_and_a_half_units_in_the_last_place(kind: str) -> None:
    numbers = arguments()[kind]
    out = np.empty_like(numbers)
    logs(numbers, out)
    exact = np.log(numbers.astype(np.longdouble))
    assert (np.abs(out - exact) <= 1.5 * np.spacing(np.abs(exact.astype(float)))).all()


@pytest.mark.parametrize("most", [700.0, 1.0, 1e-3])
def test_powers_of_e_are_off_by_at_most_one_and_a_half_units(most: float) -> None:
    numbers = np.append(np.random.default_rng(0).uniform(-most, most, 50_000), [-most, most])
    out = np.empty_like(numbers)
    powers(numbers, out)
    exact = np.exp(numbers.astype(np.longdouble))
    assert (np.abs(out - exact) <= 1.5 * np.spacing(exact.astype(float))).all()


def test_where_the_value_is_exact_it_is_given() -> None:
    assert log(1.0) == 0.0
    assert exp(0.0) == 1.0
