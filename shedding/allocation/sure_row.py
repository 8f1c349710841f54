"""One sure row: thresholds on u that keep the rows meant, never none where one was."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def certain_thresholds(rows: Floats, population: Floats, least_u: Floats) -> Floats:
    """Thresholds on u that keep n of N rows in expectation, one of them with certainty where n >= 1.

    The smallest u of the key, L, is known. n >= 1: L and (n - 1) / (N - 1) of what lies above it, so that the other
    N - 1 rows bring n - 1. n < 1: L alone, in the share n of all cases (those with L < 1 - (1 - n)^(1/N)). Which rows
    are kept depends on u alone, so given their number they are a simple random sample. Monotone in n, hence nested.

    >>> certain_thresholds(np.array([1.0, 2.0, 4.0]), np.full(3, 4.0), np.full(3, 0.25)).round(3)
    array([0.25, 0.5 , 1.  ])
    """
    needed = np.nextafter(least_u, 1.0)  # u < needed holds for the row of smallest u
    more = needed + (1.0 - needed) * np.clip((rows - 1.0) / np.maximum(population - 1.0, 1.0), 0.0, 1.0)
    with np.errstate(divide="ignore"):
        chance = -np.expm1(np.log1p(-np.minimum(rows, 1.0)) / population)
    return np.where(rows >= population * (1 - 1e-12), 1.0, np.where(rows < 1.0, np.minimum(chance, needed), more))
