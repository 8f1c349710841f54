"""How much a concept changed between two windows: CoD's overlap and distance, and the change of the top n (Fig. 2).

All functions are symmetric, lie in [0, 1] and do not depend on the order of the keys. Keys are unique in each argument.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Keys = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Drift:
    """Drift between two consecutive grouped concepts."""

    overlap: float
    distance: float


def overlap(before: Keys, after: Keys) -> float:
    """Share of common keys: intersection over union (1 when both are empty).

    >>> overlap(np.array(["a", "b", "c"]), np.array(["b", "c", "d"]))
    0.5
    """
    common = np.intersect1d(before, after, assume_unique=True).size
    union = len(before) + len(after) - common
    return common / union if union else 1.0


def distance(before: Keys, before_rows: ArrayLike, after: Keys, after_rows: ArrayLike) -> float:
    """How far the key frequencies moved: total variation, half the sum of |p_k - q_k| over all keys.

    0: same shares. 1: no key in common. Against an empty concept 1, between two empty ones 0.

    >>> distance(np.array([1, 2]), [50, 50], np.array([2, 3]), [50, 50])
    0.5
    """
    p, q = _shares(before_rows), _shares(after_rows)
    if not p.size or not q.size:
        return 0.0 if p.size == q.size else 1.0
    _, i, j = np.intersect1d(before, after, assume_unique=True, return_indices=True)
    return float(min(1.0, max(0.0, 1.0 - math.fsum(np.minimum(p[i], q[j])))))


def grouped_drift(before: Keys, before_rows: ArrayLike, after: Keys, after_rows: ArrayLike) -> Drift:
    """Overlap and distance of two grouped concepts."""
    return Drift(overlap(before, after), distance(before, before_rows, after, after_rows))


def scalar_distance(before: tuple[float, float], after: tuple[float, float]) -> float:
    """How far a scalar concept (mean, variance) moved: Hellinger distance of the two normal laws.

    >>> scalar_distance((1.0, 4.0), (1.0, 4.0))
    0.0
    """
    (mean_a, var_a), (mean_b, var_b) = before, after
    total = var_a + var_b
    if total <= 0:
        return 0.0 if mean_a == mean_b else 1.0
    affinity = math.sqrt(2 * math.sqrt(var_a) * math.sqrt(var_b) / total)
    affinity *= math.exp(-((mean_a - mean_b) ** 2) / (4 * total))
    return math.sqrt(max(0.0, 1.0 - affinity))


def top_keys(keys: Keys, values: ArrayLike, n: int) -> Keys:
    """The n keys of largest value, largest first; equal values in the order of the keys; NaN never."""
    value = np.asarray(values, dtype=np.float64)
    valid = ~np.isnan(value)
    kept, value = np.asarray(keys)[valid], value[valid]
    return kept[np.lexsort((kept, -value))[:n]]


def top_difference(before: Keys, before_values: ArrayLike, after: Keys, after_values: ArrayLike, n: int) -> float:
    """Share of the top n that was replaced (Fig. 2's set difference; 1 minus it is the set intersection).

    >>> top_difference(np.array([1, 2, 3]), [9, 8, 7], np.array([1, 2, 3]), [9, 1, 7], 2)
    0.5
    """
    first, second = top_keys(before, before_values, n), top_keys(after, after_values, n)
    largest = max(first.size, second.size)
    return 1.0 - np.intersect1d(first, second).size / largest if largest else 0.0


def _shares(rows: ArrayLike) -> Floats:
    frequency = np.asarray(rows, dtype=np.float64)
    total = frequency.sum()
    return frequency / total if total > 0 else np.zeros(0)
