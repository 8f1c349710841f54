"""Words for arrays that several rooms use."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def positive(rate: Floats) -> Floats:
    """Rates with 1 in place of 0: an omitted key has no sampled row to divide by."""
    return np.where(rate > 0, rate, 1.0)


def quotient(top: Floats, bottom: Floats, otherwise: float) -> Floats:
    """top / bottom, and `otherwise` where the bottom is 0."""
    there = bottom != 0
    return np.where(there, top / np.where(there, bottom, 1.0), otherwise)
