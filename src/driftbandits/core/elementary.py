"""log and exp in plain arithmetic, so that loops compile to vector instructions.

The C library takes one number at a time. These are off by at most 1.5 units in the last place.
"""

from __future__ import annotations

import struct
from typing import Any

from llvmlite import ir
from numba.core import types

from .compiling import COMPILING, intrinsic, row_kernel

# A positive float is 2^(E − 1023)·m, 1 ≤ m < 2. Its bits are E, from bit 52 on, and the bits of m
# below.
BIAS = 1023
FRACTION = (1 << 52) - 1
ONE = BIAS << 52
# Floats from 2^52 to 2^53 are whole numbers, and their last 52 bits are the number less 2^52.
WHOLE = 2.0**52
WHOLE_BITS = (BIAS + 52) << 52
# log 2 in two parts: a number of 40 bits, whose product with an exponent is exact, and the rest.
LOG_TWO = 0.6931471805592082
LOG_TWO_REST = 7.371002565167799e-13
INVERSE_LOG_TWO = 1.4426950408889634
SQUARE_ROOT_OF_TWO = 2.0**0.5


if COMPILING:

    def _cast(source: Any, target: Any, code: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], code)

        return target(source), generate

    @intrinsic
    def _bits(typing_context: Any, number: Any) -> Any:
        """The 64 bits of a float, as an integer."""
        return _cast(types.float64, types.int64, ir.IntType(64))

    @intrinsic
    def _float(typing_context: Any, bits: Any) -> Any:
        """The float that has these 64 bits."""
        return _cast(types.int64, types.float64, ir.DoubleType())

else:

    def _bits(number: float) -> int:
        return int(struct.unpack("q", struct.pack("d", number))[0])

    def _float(bits: int) -> float:
        return float(struct.unpack("d", struct.pack("q", bits))[0])


@row_kernel
def log(number: float) -> float:
    """The natural logarithm of a float that is finite and at least 1e-300.

    For √½ ≤ m ≤ √2, log m = 2 artanh z = 2 (z + z³/3 + z⁵/5 + …) with z = (m − 1)/(m + 1), so
    that z² < 0.0295.
    """
    bits = _bits(number)
    exponent = _float((bits >> 52) | WHOLE_BITS) - (WHOLE + BIAS)
    m = _float((bits & FRACTION) | ONE)
    if m > SQUARE_ROOT_OF_TWO:
        m *= 0.5
        exponent += 1.0
    f = m - 1.0
    z = f / (m + 1.0)
    q = z * z
    low = 1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q * (1.0 / 11))))
    high = 1.0 / 13 + q * (1.0 / 15 + q * (1.0 / 17 + q * (1.0 / 19 + q * (1.0 / 21))))
    power = q * q
    series = 2.0 * (q * low + power * power * power * high)
    # 2z = f − zf, in which f is exact.
    return float(exponent * LOG_TWO + (f - (z * (f - series) - exponent * LOG_TWO_REST)))


@row_kernel
def exp(number: float) -> float:
    """e to the power of a float from −700 to 700.

    2^n e^r with |r| ≤ ½ log 2. The series of e^r then needs no term beyond r¹³/13!.
    """
    shifted = number * INVERSE_LOG_TWO + 1.5 * WHOLE  # rounds to n, now in the last bits
    n = shifted - 1.5 * WHOLE
    r = (number - n * LOG_TWO) - n * LOG_TWO_REST
    q = r * r
    low = 1.0 / 6 + r * (1.0 / 24) + q * (1.0 / 120 + r * (1.0 / 720))
    middle = 1.0 / 5040 + r * (1.0 / 40320) + q * (1.0 / 362880 + r * (1.0 / 3628800))
    high = 1.0 / 39916800 + r * (1.0 / 479001600) + q * (1.0 / 6227020800)
    series = low + q * q * (middle + q * q * high)
    power = _float(((_bits(shifted) + BIAS) & 2047) << 52)
    return float(power * (1.0 + (r + (0.5 * q + q * r * series))))
