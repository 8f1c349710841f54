"""Words for arrays that several rooms use."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

_RADIX = 16
"""Bits of the numbers that NumPy sorts by counting, in linear time."""


def positive(rate: Floats) -> Floats:
    """Rates with 1 in place of 0: an omitted key has no sampled row to divide by."""
    return np.where(rate > 0, rate, 1.0)


def quotient(top: Floats, bottom: Floats, otherwise: float) -> Floats:
    """top / bottom, and `otherwise` where the bottom is 0."""
    there = bottom != 0
    return np.where(there, top / np.where(there, bottom, 1.0), otherwise)


def sorted_by(values: Floats, place: Index) -> Index:
    """The order by place, then value, ties as they are: `np.lexsort((values, place))` in half its time.

    >>> sorted_by(np.array([3.0, 1.0, 2.0]), np.array([0, 70_000, 0])).tolist()
    [2, 0, 1]
    """
    order = np.argsort(values, kind="stable")
    for shift in range(0, int(place.max(initial=0)).bit_length(), _RADIX):
        digit = (place[order] >> shift).astype(np.uint16)  # its last 16 bits
        order = order[np.argsort(digit, kind="stable")]
    return order
