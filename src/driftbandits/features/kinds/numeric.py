"""Numbers: on a line, and on a circle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ...core.arrays import one_of, positive, whole
from ..errors import Rejected
from ..values import as_float
from .base import Kind


@dataclass(frozen=True, repr=False)
class Number(Kind):
    """A number, centred, divided by its spread, and clipped to [-1, 1].

    On a linear scale z = (x - centre)/spread. On a logarithmic one z = log(x/centre)/log(spread),
    so that ``spread`` is a factor.

    >>> Number(centre=40, spread=20).encode(50)
    [0.5]
    >>> Number(centre=1000, spread=10, scale="log").encode(10)
    [-1.0]

    Attributes:
        centre: The value that becomes 0.
        spread: Distance from the centre at which a value becomes 1. Values further away are
            clipped.
        scale: ``linear`` or ``log``.
    """

    kind: ClassVar[str] = "number"

    centre: float
    spread: float
    scale: str = "linear"

    def _check(self) -> None:
        one_of("scale", self.scale, ("linear", "log"))
        positive("spread", self.spread)
        if self.scale == "log":
            positive("centre", self.centre)
            if self.spread <= 1:
                raise ValueError(f"spread must be above 1 on a log scale, got {self.spread!r}")
        try:
            self._set("centre", as_float(self.centre))
        except Rejected as rule:
            raise ValueError(f"centre {rule}, got {self.centre!r}") from None
        self._set("spread", float(self.spread))

    def _labels(self) -> list[str]:
        return [""]

    def _vector(self, value: Any) -> list[float]:
        number = as_float(value)
        if self.scale == "linear":
            z = (number - self.centre) / self.spread
        elif number < 0:
            raise Rejected("must be 0 or above, because its scale is logarithmic")
        elif number == 0:
            z = -1.0  # log 0 = -∞, clipped
        else:
            z = (math.log(number) - math.log(self.centre)) / math.log(self.spread)
        # 0.0 is added because 0.0 and -0.0 are equal values, and must give the same bits.
        return [min(max(z, -1.0), 1.0) + 0.0]


@dataclass(frozen=True, repr=False)
class Cyclic(Kind):
    """A value that comes round again: an hour, a weekday, an angle.

    With the phase φ = 2πx/period it becomes (sin φ, cos φ, sin 2φ, cos 2φ, …)/√harmonics, a vector
    of norm 1.

    Attributes:
        period: 24 for hours, 7 for weekdays, 360 for degrees.
        harmonics: Number of pairs. One pair draws one hill and one valley per period; two pairs
            can draw a morning and an evening.
    """

    kind: ClassVar[str] = "cyclic"

    period: float
    harmonics: int = 1

    def _check(self) -> None:
        positive("period", self.period)
        whole("harmonics", self.harmonics, least=1)
        if self.harmonics > 100:
            raise ValueError(f"harmonics must be at most 100, got {self.harmonics}")
        self._set("period", float(self.period))

    def _labels(self) -> list[str]:
        numbers = ["" if n == 1 else str(n) for n in range(1, self.harmonics + 1)]
        return [f":{wave}{number}" for number in numbers for wave in ("sin", "cos")]

    def _vector(self, value: Any) -> list[float]:
        # The remainder is exact; the sine of a large number is not.
        phase = 2.0 * math.pi * (math.fmod(as_float(value), self.period) / self.period)
        waves = [wave(n * phase) for n in range(1, self.harmonics + 1) for wave in _WAVES]
        return [wave / math.sqrt(self.harmonics) + 0.0 for wave in waves]


_WAVES = (math.sin, math.cos)
