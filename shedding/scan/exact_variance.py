"""The sample variance from exact sums: the double nearest to it, however large the values are beside their spread."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shedding.arrays import Floats
from shedding.scan.double_double import divide, multiply, subtract
from shedding.scan.exact_sums import ExactSums

_CANCELLED = 2.0**-40
"""Below this part of the sum of squares, what is left of it around the mean has lost bits of the 106 it had."""
_NEAR_TIE = 0.499


def exact_variance(count: Floats, total: ExactSums, squares: ExactSums) -> Floats:
    """(sum x^2 - (sum x)^2 / n) / (n - 1), nearest double; nan below two rows, as SQL's var_samp is null.

    Pairs of doubles are enough for nearly all keys; where they may not be, fractions of whole numbers decide.
    """
    rows = np.maximum(count, 2.0)
    first, second = total.pair(), squares.pair()
    around = subtract(second, divide(multiply(first, first), rows))
    high, low = divide(around, rows - 1)
    gap = np.abs(np.nextafter(high, np.copysign(np.inf, low)) - high)
    doubtful = (np.abs(around[0]) <= _CANCELLED * np.abs(second[0])) | (np.abs(low) > _NEAR_TIE * gap)
    variance = np.where(count > 1, high, np.nan)
    for at in np.flatnonzero((count > 1) & doubtful):
        variance[at] = _nearest(int(count[at]), total.fraction(int(at)), squares.fraction(int(at)))
    return variance


def _nearest(count: int, total: Fraction, squares: Fraction) -> float:
    return max(float((squares - total * total / count) / (count - 1)), 0.0) + 0.0  # tiny squares are cut off
