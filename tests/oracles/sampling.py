"""Which rows are kept: a function of the row's own `u` in [0, 1) and its key's rate, of nothing else.

Law of nesting: a row kept at some rate (or sample size) is kept at every larger one. It holds for all three forms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shedding.errors import DataError

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]


def hash_uniform(hashes: ArrayLike) -> Floats:
    """The u of 64-bit hashes: their upper 53 bits over 2^53, an exact double in [0, 1).

    Bit for bit what Spark's `shiftrightunsigned(h, 11) / 2^53` gives.

    >>> hash_uniform([0, -1, -(2**63)])
    array([0. , 1. , 0.5])
    """
    signed = np.ascontiguousarray(np.asarray(hashes, dtype=np.int64))
    return (signed.view(np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def threshold_mask(u: ArrayLike, rates: ArrayLike) -> Mask:
    """Keep a row iff u < rate: each row with probability `rate`, independently; `rates` is given for each row.

    >>> threshold_mask([0.1, 0.5, 0.99], [0.5, 0.5, 1.0])
    array([ True, False,  True])
    """
    return np.asarray(np.asarray(u, dtype=np.float64) < np.asarray(rates, dtype=np.float64))


def fixed_size_mask(u: ArrayLike, key: ArrayLike, sizes: ArrayLike) -> Mask:
    """Keep the `sizes[k]` rows of key k with the smallest u: exactly min(size, N_k) rows, no key lost where size >= 1.

    `key` is each row's index into `sizes`. Rows that share the last kept u are all kept, so the order of the rows does
    not matter; among 53-bit values that is as good as never.

    >>> fixed_size_mask([0.3, 0.1, 0.2, 0.9], [0, 0, 0, 1], [2, 1])
    array([False,  True,  True,  True])
    """
    value = np.asarray(u, dtype=np.float64)
    group = np.asarray(key, dtype=np.int64)
    wanted = np.asarray(sizes, dtype=np.int64)
    if value.shape != group.shape:
        raise DataError(f"{value.size} values of u but {group.size} keys; give one key for each row")
    if group.size and (group.min() < 0 or group.max() >= wanted.size):
        raise DataError(f"keys must be indexes into the {wanted.size} sizes, got {group.min()}..{group.max()}")
    order = np.lexsort((value, group))
    count = np.bincount(group, minlength=wanted.size)
    first = np.cumsum(count) - count
    take = np.clip(wanted, 0, count)
    last = np.full(wanted.size, -1.0)  # u of the last kept row; below every u where none is wanted
    some = take > 0
    last[some] = value[order][(first + take - 1)[some]]
    return np.asarray(value <= last[group])


def budget_mask(u: ArrayLike, rates: ArrayLike, rows: int) -> Mask:
    """Keep the `rows` rows with the smallest u / rate: the budget is met exactly, inclusion still follows the rates.

    For estimated populations, where thresholds alone miss the budget by as much as the estimate is wrong. Ties at the
    last kept ratio are all kept. A rate must be positive.

    >>> budget_mask([0.1, 0.2, 0.3], [0.1, 1.0, 0.5], 2)
    array([False,  True,  True])
    """
    if not np.all(np.asarray(rates) > 0):
        raise DataError("rates must be positive to order rows by u / rate; leave rows of rate 0 out")
    ratio = np.asarray(u, dtype=np.float64) / np.asarray(rates, dtype=np.float64)
    if rows >= ratio.size:
        return np.ones(ratio.shape, dtype=np.bool_)
    if rows <= 0:
        return np.zeros(ratio.shape, dtype=np.bool_)
    return np.asarray(ratio <= np.partition(ratio, rows - 1)[rows - 1])
