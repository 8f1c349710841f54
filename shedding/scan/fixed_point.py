"""Sums of doubles that are the same bits in every order: fixed-point digits, each summed without rounding.

Adding doubles rounds, so a sum depends on how Spark happens to split the rows. Here every value is cut into digits
whose sums are exact; the driver puts them together again. The same rows give the same bits on any partitioning, core
count or file layout. Values themselves are cut down to their last bit; their squares, of which only spreads are made,
are rounded once, to a multiple of `QUANTUM`.

There are two ways to cut, with the same bits in the end. Halves and a tail make three numbers of a value, which is
quick and enough for values from `LEAST` on whose sums are below 2**44; `FixedPoint` makes as many 32-bit digits as the
values need.

Why not SUM over DECIMAL, which is exact in any order too: it holds 38 digits. Squares of values up to 2**40 have 25
before the point and need 15 behind it for the precision of `QUANTUM`. And the last bits of doubles lie at other places
for each value, so a cast to a fixed scale rounds them. `make bench ONLY=sums` times both, and plain doubles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shedding.scan.double_double import SPLITTER, Pair, add, blocks, two_sum

if TYPE_CHECKING:
    from pyspark.sql import Column

DIGIT_BITS = 32
QUANTUM_EXPONENT = -48
QUANTUM = 2.0**QUANTUM_EXPONENT
"""Squares are kept to the nearest multiple of this (4e-15), ties to the even one; values have a tail below it."""
FINE_EXPONENT = -80
CUBE_EXPONENT, FOURTH_EXPONENT = -60, -72
"""Third and fourth powers are kept to multiples of 2 to these; |x| below 2**22 makes four and five digits of them."""
LOWEST = {3: CUBE_EXPONENT, 4: FOURTH_EXPONENT}
"""By the number of factors, where it is not QUANTUM_EXPONENT."""
HALF_WORD, LOW_WORD = 31, 0xFFFFFFFF
"""Squares of whole numbers are made of two parts, the lower of 31 bits, and summed as words of 32."""
LEAST = 2.0 ** (FINE_EXPONENT + 52)
"""A double of at least this size (4e-9) is a multiple of 2**FINE_EXPONENT: its tail is all that its halves leave."""
LOW_BITS = 40
HIGH_EXPONENT = QUANTUM_EXPONENT + LOW_BITS
HIGH_UNIT = 2.0**HIGH_EXPONENT
"""What the high half of a value counts; the low half counts quanta, at most 2**39 of them."""
_LEAST_SQUARE = -1088
_MOST_SCALED = 900
"""Powers of two up to this exponent, times values, are doubles."""
_MOST_SUM, _MOST_HALVES = 2.0**44, 2**22
"""Below these a sum of high halves is a whole number that a double holds, and one of low halves fits 64 bits."""

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """Doubles with |x| < 2**magnitude, kept to the nearest multiple of 2**lowest.

    Sums of fewer than 2**31 values are exact sums of the kept values. Values at or above the magnitude
    have no meaning here: the scan also takes the largest |x|, and the caller must refuse it.
    """

    magnitude: int
    lowest: int = QUANTUM_EXPONENT

    @property
    def exponents(self) -> tuple[int, ...]:
        """Powers of two that the digits count, highest first; digits are balanced, in [-2**31, 2**31].

        >>> FixedPoint(40).exponents
        (16, -16, -48)
        """
        digits = -(-(self.magnitude - self.lowest) // DIGIT_BITS)
        return tuple(self.lowest + DIGIT_BITS * i for i in reversed(range(digits)))

    def digits(self, value: Column) -> list[Column]:
        """The value's digits as BIGINT columns; null gives null digits, which sums pass over.

        A digit is the value in its unit, less what the digit before counts, both rounded to whole numbers: exact, since
        all are whole and the difference is small. No digit is made of another, which would double the expression.
        """
        from pyspark.sql import functions as sf

        columns: list[Column] = []
        for exponent in self.exponents:
            number = sf.rint(_scaled(value, -exponent))
            if columns:
                before = _scaled(value, -exponent - DIGIT_BITS)
                number = number - sf.rint(before) * sf.lit(2.0**DIGIT_BITS)
                if self.magnitude - exponent > _MOST_SCALED:  # a value that has no bits here may be infinite there
                    number = sf.when(sf.abs(before) < sf.lit(2.0**53), number).otherwise(before * sf.lit(0.0))
            columns.append(whole(number))
        return columns

    def split(self, values: Floats) -> list[Integers]:
        """The NumPy twin of `digits`, for tests and for rows that never were in Spark."""
        numbers = np.asarray(values, dtype=np.float64)
        found = np.empty((len(self.exponents), len(numbers)), dtype=np.int64)
        for part in blocks(len(numbers)):
            rest = numbers[part]
            for own, exponent in zip(found, self.exponents, strict=True):
                digit = np.rint(_times_power(rest, -exponent))
                own[part] = digit
                rest = rest - _times_power(digit, exponent)
        return list(found)

    def narrowed(self, largest: float) -> FixedPoint:
        """The same without the digits in front that are 0 in all values up to the largest."""
        return FixedPoint(min(self.magnitude, max(math.frexp(largest)[1], self.lowest + 1)), self.lowest)

    def total(self, sums: list[Integers]) -> Pair:
        """The exact value of digit sums as an unevaluated pair of doubles (106 bits)."""
        return total_of_digits(sums, self.exponents)


def squares_below(lowest: int) -> int:
    """The exponent that exact squares of multiples of 2**lowest have no bit below.

    A square below what doubles hold, of a value below 1e-146, is cut off there: no variance that is a double shows it.
    """
    return max(2 * lowest, _LEAST_SQUARE)


def total_of_digits(sums: list[Integers], exponents: Sequence[int]) -> Pair:
    """The exact value of digit sums, highest first, to 106 bits: digits that are all 0 in front change no bit."""
    carried = _carry(sums)
    high = np.zeros(len(sums[0]), dtype=np.float64)
    total: Pair = (high, high)
    for digit, exponent in zip(carried, (exponents[0] + DIGIT_BITS, *exponents), strict=True):
        total = add(total, digit.astype(np.float64) * 2.0**exponent)
    return total


def high_half(value: Column) -> Column:
    """How many HIGH_UNITs a value has, a whole DOUBLE: sums of them are exact below 2**53."""
    from pyspark.sql import functions as sf

    return sf.rint(value * sf.lit(1 / HIGH_UNIT))


def low_half(value: Column, high: Column) -> Column:
    """How many quanta the high half leaves, a whole DOUBLE of at most 2**39."""
    from pyspark.sql import functions as sf

    return sf.rint((value - high * sf.lit(HIGH_UNIT)) * sf.lit(1 / QUANTUM))


def tail(value: Column, high: Column, low: Column) -> Column:
    """What both halves leave of a value, at most half a quantum; NaN, which no sum hides, where it may be too fine.

    Tails are multiples of 2**FINE_EXPONENT, so that sums of fewer than 2**22 of them are not rounded.
    """
    from pyspark.sql import functions as sf

    fine = (sf.abs(value) >= sf.lit(LEAST)) | (value == sf.lit(0.0))
    return sf.when(fine, value - high * sf.lit(HIGH_UNIT) - low * sf.lit(QUANTUM)).otherwise(sf.lit(float("nan")))


def upper_bits(value: Column) -> Column:
    """A value's upper 26 bits (Dekker 1971): squares of them, and of what they leave, are doubles."""
    from pyspark.sql import functions as sf

    scaled = value * sf.lit(SPLITTER)
    return scaled - (scaled - value)


def square_rest(value: Column, square: Column, upper: Column) -> Column:
    """What a value's square was rounded by: with it the square is exact. The Spark twin of `two_product`."""
    lower = value - upper
    return ((upper * upper - square) + upper * lower + lower * upper) + lower * lower


def split_halves(values: Floats) -> tuple[Integers, Integers] | None:
    """The NumPy twin of both halves; None where sums of all the values may not fit them."""
    if values.size >= _MOST_HALVES or not np.abs(values).max(initial=0.0) * values.size < _MOST_SUM:
        return None
    high = np.rint(values * (1 / HIGH_UNIT))
    return high.astype(np.int64), np.rint((values - high * HIGH_UNIT) * (1 / QUANTUM)).astype(np.int64)


def total_of_halves(high: Integers, low: Integers) -> Pair:
    """The exact value of the halves' sums, |high| below 2**53: the bits that digits of any magnitude would give.

    The value has fewer than 106 bits, so the nearest double and what it leaves are all of it, however they are found.
    """
    found = np.empty((2, len(high)))
    for part in blocks(len(high)):
        rounded = low[part].astype(np.float64)
        total, error = two_sum(high[part].astype(np.float64) * HIGH_UNIT, rounded * QUANTUM)
        error += (low[part] - rounded.astype(np.int64)).astype(np.float64) * QUANTUM
        found[:, part] = two_sum(total, error)
    return found[0], found[1]


def whole(number: Column) -> Column:
    """A whole DOUBLE as BIGINT; floor is Spark's cast without a check of the range."""
    from pyspark.sql import functions as sf

    return sf.floor(number)


def _scaled(number: Column, exponent: int) -> Column:
    """The number times a power of two that itself may be beyond what a double holds."""
    from pyspark.sql import functions as sf

    half = exponent // 2
    if abs(exponent) > _MOST_SCALED:
        return number * sf.lit(2.0**half) * sf.lit(2.0 ** (exponent - half))
    return number * sf.lit(2.0**exponent)


def _times_power(numbers: Floats, exponent: int) -> Floats:
    """The NumPy twin of `_scaled`: `ldexp`, which is slow, only where the power is beyond what a double holds."""
    return np.ldexp(numbers, exponent) if abs(exponent) > _MOST_SCALED else numbers * 2.0**exponent


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
