"""Sums of doubles that are the same bits in every order: fixed-point digits summed as long integers.

Adding doubles rounds, so a sum depends on how Spark happens to split the rows. Here every value is cut
into 32-bit digits of a fixed-point number; each digit's sum is an exact BIGINT, and the driver puts the
digits together again. The same rows give the same bits on any partitioning, core count or file layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shedding.exact import Pair, add

if TYPE_CHECKING:
    from pyspark.sql import Column

DIGIT_BITS = 32
FRACTION_BITS = 44
"""Every value is kept at least to the nearest 2**-44 (6e-14)."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """Doubles with |x| < 2**magnitude, kept to the nearest multiple of `quantum`.

    Sums of fewer than 2**31 values are exact sums of the kept values. Values at or above the magnitude
    have no meaning here: the scan also takes the largest |x|, and the caller must refuse it.
    """

    magnitude: int

    @property
    def exponents(self) -> tuple[int, ...]:
        """Powers of two that the digits count, highest first; digits are balanced, in [-2**31, 2**31].

        >>> FixedPoint(40).exponents
        (8, -24, -56)
        """
        digits = -(-(self.magnitude + FRACTION_BITS) // DIGIT_BITS)
        return tuple(self.magnitude - DIGIT_BITS * (i + 1) for i in range(digits))

    @property
    def quantum(self) -> float:
        """The unit of the last digit."""
        return float(2.0 ** self.exponents[-1])

    def digits(self, value: Column) -> list[Column]:
        """The value's digits as BIGINT columns; null gives null digits, which sums pass over."""
        from pyspark.sql import functions as sf

        columns: list[Column] = []
        rest = value
        for exponent in self.exponents:
            # Nearest, not floor: a small negative rest would not survive the subtraction of a whole digit.
            digit = sf.floor(rest * sf.lit(2.0**-exponent) + sf.lit(0.5))
            columns.append(digit)
            rest = rest - digit * sf.lit(2.0**exponent)  # exact: both are multiples of the value's last bit
        return columns

    def split(self, values: npt.NDArray[np.float64]) -> list[Integers]:
        """The NumPy twin of `digits`, for tests and for rows that never were in Spark."""
        found: list[Integers] = []
        rest = np.asarray(values, dtype=np.float64)
        for exponent in self.exponents:
            digit = np.floor(rest * 2.0**-exponent + 0.5)
            found.append(digit.astype(np.int64))
            rest = rest - digit * 2.0**exponent
        return found

    def total(self, sums: list[Integers]) -> Pair:
        """The exact value of digit sums as an unevaluated pair of doubles (106 bits)."""
        carried = _carry(sums)
        exponents = (self.exponents[0] + DIGIT_BITS, *self.exponents)
        high = np.zeros(len(sums[0]), dtype=np.float64)
        total: Pair = (high, high)
        for digit, exponent in zip(carried, exponents, strict=True):
            total = add(total, digit.astype(np.float64) * 2.0**exponent)
        return total


def _carry(sums: list[Integers]) -> list[Integers]:
    """Digit sums brought back below 2**32 each (balanced, so that signs do not cancel), one more in front."""
    half = np.int64(1) << np.int64(DIGIT_BITS - 1)
    carried: list[Integers] = []
    carry = np.zeros_like(sums[0])
    for digit in reversed(sums):
        value = digit + carry
        carry = (value + half) >> np.int64(DIGIT_BITS)
        carried.append(value - (carry << np.int64(DIGIT_BITS)))
    carried.append(carry)
    return carried[::-1]
