"""Cost classes: rows of one key that cost alike are a stratum of their own, so that dear rows are sampled less."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shedding.allocation.water_filling import bounded_rates

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_CLASSES = 8
LEAST_ROWS = 2.0
"""Rows that a stratum must expect: one without a sampled row is answered from the others, which cost otherwise."""


def cost_classes(key: Ints, rows: Floats, cost: Floats, budget: float) -> Ints:
    """The stratum of each cell of rows that are alike in key and cost, numbered by key and then by cost.

    A class is floor(log2(cost)), at most eight of them; neighbours of a key are merged until each expects `LEAST_ROWS`
    at the rates that costs alone would give within the budget, min(1, lambda / sqrt(c)).
    """
    if not key.size:
        return np.zeros(0, dtype=np.int64)
    level = np.floor(np.log2(cost)).astype(np.int64)
    level = np.maximum(level - (int(level.max()) - MOST_CLASSES + 1), 0)
    rates = bounded_rates(1.0 / np.sqrt(cost), rows * cost, budget, np.zeros(key.size))
    keys = int(key.max()) + 1
    wanted = np.bincount(key * MOST_CLASSES + level, rows * rates, keys * MOST_CLASSES).astype(np.float64)
    merged = _merged(wanted.reshape(keys, MOST_CLASSES))[key, level]
    return np.asarray(np.unique(key * MOST_CLASSES + merged, return_inverse=True)[1], dtype=np.int64)


def _merged(wanted: Floats) -> Ints:
    """(K, classes): the class that each is merged into, from the cheapest up; what is left over joins the last one."""
    keys = len(wanted)
    into = np.zeros(wanted.shape, dtype=np.int64)
    current, expected = np.zeros(keys, dtype=np.int64), np.zeros(keys)
    for level in range(wanted.shape[1]):
        into[:, level] = current
        expected = expected + wanted[:, level]
        full = expected >= LEAST_ROWS
        current, expected = current + full, np.where(full, 0.0, expected)
    return np.minimum(into, np.maximum(current - 1, 0)[:, None])
