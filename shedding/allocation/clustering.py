"""Few rates instead of one a key: the k-optimal policy's grouping (Mozafari and Zaniolo, Sec. VIII-B)."""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FINEST = 4096
"""Groups to start from: beyond so many distinct ratios, neighbours are joined by rank first."""


def group_by_ratio(b: Floats, c: Floats, k: int) -> Ints:
    """Group of each key, at most k groups, contiguous in the ideal ratio sqrt(b / c); 0 is the smallest. O(N log N).

    Like the paper's agglomeration of neighbours by a heap, with another distance: joining groups (b1, c1) and (b2, c2),
    summed over their members, raises sqrt(optimal error times budget) of a critical setting (Eq. 16) by exactly
    sqrt((b1 + b2)(c1 + c2)) - sqrt(b1 c1) - sqrt(b2 c2) >= 0, and the least rise is joined first. It does not depend
    on the budget, nor on the units of b and c. Keys of equal ratio share a group.
    """
    _, place = np.unique(b / c, return_inverse=True)
    count = int(place.max()) + 1 if place.size else 0
    if count > FINEST:
        place = place * FINEST // count
    size = int(place.max()) + 1 if place.size else 0
    start = _agglomerate(
        np.bincount(place, b, minlength=size).tolist(), np.bincount(place, c, minlength=size).tolist(), k
    )
    return np.asarray(start[place], dtype=np.int64)


def _agglomerate(b: list[float], c: list[float], k: int) -> Ints:
    """Join neighbouring groups until k are left; gives the new group of each old one."""
    size = len(b)
    left, right = list(range(-1, size - 1)), list(range(1, size + 1))
    version = [0] * size  # an entry of the heap is stale when either group changed since
    alive = [True] * size
    root = [math.sqrt(b[i] * c[i]) for i in range(size)]

    def rise(i: int, j: int) -> float:
        return math.sqrt((b[i] + b[j]) * (c[i] + c[j])) - root[i] - root[j]

    heap = [(rise(i, i + 1), i, i + 1, 0, 0) for i in range(size - 1)]
    heapq.heapify(heap)
    groups = size
    while groups > max(1, k):
        _, i, j, seen_i, seen_j = heapq.heappop(heap)
        if not (alive[i] and alive[j]) or (version[i], version[j]) != (seen_i, seen_j):
            continue
        b[i], c[i], alive[j], groups = b[i] + b[j], c[i] + c[j], False, groups - 1
        root[i] = math.sqrt(b[i] * c[i])
        version[i] += 1
        right[i] = right[j]
        if right[i] < size:
            left[right[i]] = i
            heapq.heappush(heap, (rise(i, right[i]), i, right[i], version[i], version[right[i]]))
        if left[i] >= 0:
            heapq.heappush(heap, (rise(left[i], i), left[i], i, version[left[i]], version[i]))
    return np.cumsum(np.asarray(alive, dtype=np.int64)) - 1
