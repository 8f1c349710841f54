"""The most rows for a cost: cheap ones first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shedding.allocation.strata import Strata

Floats = NDArray[np.float64]


def cheapest_first(strata: Strata, capacity: float, least: Floats) -> Floats:
    """What the least rates leave over of `capacity`, spent class by class in order of the cost of a row."""
    classes, of_key = np.unique(strata.cost, return_inverse=True)
    missing = np.bincount(of_key, (1.0 - least) * strata.full_cost, classes.size)
    before = np.concatenate([[0.0], np.cumsum(missing)[:-1]]) if classes.size else missing
    left = max(0.0, capacity - float(least @ strata.full_cost))
    filled = np.divide(np.clip(left - before, 0.0, missing), missing, out=np.zeros(classes.size), where=missing > 0)
    return np.asarray(least + (1.0 - least) * filled[of_key])
