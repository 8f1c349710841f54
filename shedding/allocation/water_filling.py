"""The least weighted reciprocal error under a budget: Mozafari and Zaniolo's optimum, r = clip(lambda w, lower, 1).

`w = sqrt(b v / c)` is a key's ideal ratio. Where no key reaches a bound (a critical setting, Definition 2) lambda has a
closed form and the whole is O(N) (Algorithm 1 with erratum 1 of `estimates/README.md`: rates are divided by u, not
multiplied). Otherwise the ratios are sorted once, O(N log N).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shedding.errors import BudgetError

Floats = NDArray[np.float64]
Method = Literal["auto", "linear", "sorting"]

CHUNK = 1 << 15
"""Keys handled at a time: three operands of a chunk stay in the second-level cache."""


def optimal_rates(
    b: ArrayLike,
    v: ArrayLike,
    c: ArrayLike,
    capacity: float,
    lower: ArrayLike = 0.0,
    *,
    method: Method = "auto",
) -> Floats:
    """The rates that minimise sum b_k v_k / r_k with sum c_k r_k <= capacity and lower_k <= r_k <= 1 (Eq. 7-9).

    Guarantee: the optimum, up to rounding; the budget is spent wholly unless all rates are 1, or the lower bounds alone
    exceed it (then they are the rates). `b`, `v` not negative, `c` positive; a key with b v = 0 gets its lower bound.
    `method` "linear" insists on the closed form and fails where the setting is not critical; "sorting" insists on the
    general one. Memory: the result, plus for sorting a few arrays of its size.

    >>> optimal_rates([1, 4], [1, 1], [1, 1], 30 / 24) * 24
    array([10., 20.])
    """
    ideal = ideal_ratios(b, v, c)
    return bounded_rates(ideal, c, capacity, lower, method=method, out=ideal)


def ideal_ratios(b: ArrayLike, v: ArrayLike, c: ArrayLike) -> Floats:
    """w_k = sqrt(b_k v_k / c_k), the rates up to a common factor (Lemma 1, Theorem 2)."""
    first, second, third = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (b, v, c)))
    ideal = np.empty(first.shape)
    for part in _chunks(ideal.size):
        piece = np.divide(first[part], third[part], out=ideal[part])
        piece *= second[part]
        np.sqrt(piece, out=piece)
    return ideal


def bounded_rates(
    ideal: Floats,
    c: ArrayLike,
    capacity: float,
    lower: ArrayLike = 0.0,
    *,
    method: Method = "auto",
    out: Floats | None = None,
) -> Floats:
    """r = clip(lambda w, lower, 1) with the lambda that spends `capacity`; see `optimal_rates` for the guarantee.

    Every policy whose rates have this form (uniform: w = 1) meets its budget by it. `out` may be `ideal` itself.
    """
    cost = np.broadcast_to(np.asarray(c, dtype=np.float64), ideal.shape)
    floor = np.broadcast_to(np.asarray(lower, dtype=np.float64), ideal.shape)
    rates = np.empty_like(ideal) if out is None else out
    if not ideal.size:
        return rates
    total, spent, largest = _totals(ideal, cost)
    if not (np.isfinite(spent) and np.isfinite(total)):
        raise BudgetError("ideal ratios and costs must be finite and their sums too; rescale them or leave keys out")
    bounded = bool(np.any(lower))
    factor = capacity / spent if spent > 0 else np.inf
    critical = factor * largest <= 1 and not bounded
    if method == "linear" and not critical:
        raise BudgetError("the setting is not critical: a rate would reach a bound; use method auto or sorting")
    if capacity >= total:
        rates[...] = 1.0
        return rates
    if method == "sorting" or not critical:
        factor = (
            _factor_between_bounds(ideal, cost, floor, capacity)
            if bounded
            else _factor_below_caps(ideal, cost, capacity)
        )
    for part in _chunks(ideal.size):
        piece = np.multiply(ideal[part], factor, out=rates[part])
        np.minimum(piece, 1.0, out=piece)
        if bounded:
            np.maximum(piece, floor[part], out=piece)
    return rates


def _chunks(size: int) -> list[slice]:
    return [slice(start, min(start + CHUNK, size)) for start in range(0, size, CHUNK)]


def _totals(ideal: Floats, cost: Floats) -> tuple[float, float, float]:
    """Sum of c, sum of c w, and the largest w, in one pass over the memory."""
    total = spent = largest = 0.0
    buffer = np.empty(min(CHUNK, ideal.size))
    for part in _chunks(ideal.size):
        w, c = ideal[part], cost[part]
        total += float(c.sum())
        spent += float(np.multiply(w, c, out=buffer[: w.size]).sum())
        largest = max(largest, float(w.max()))
    return total, spent, largest


def _factor_below_caps(ideal: Floats, cost: Floats, capacity: float) -> float:
    """Lambda where some keys are capped at 1: sort by ratio, cap the m largest, share the rest among the others."""
    order = np.argsort(ideal)[::-1]
    w, c = ideal[order], cost[order]
    del order
    capped = np.cumsum(c)
    capped -= c  # cost of the keys before each one, were they all capped
    c *= w
    rest = np.cumsum(c[::-1])[::-1]  # summed from the small end: no cancellation
    # Cost when lambda just caps key m; it grows with m, so the first m beyond the capacity starts the uncapped keys.
    needed = c
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        np.divide(rest, w, out=needed)
    needed += capped
    needed[rest <= 0] = np.inf
    m = int(np.searchsorted(needed, capacity, side="left"))
    if m >= w.size or rest[m] <= 0:  # the keys with a positive ratio are all whole; the rest have no claim
        return min(1e300, 2.0 / float(w[w > 0].min())) if np.any(w > 0) else 0.0
    return float(max(0.0, capacity - capped[m]) / rest[m])


def _factor_between_bounds(ideal: Floats, cost: Floats, floor: Floats, capacity: float) -> float:
    """Lambda with lower bounds too: bisect the sorted breakpoints 1/w and lower/w, then solve inside one segment."""
    positive = ideal > 0
    w, c, low = ideal[positive], cost[positive], floor[positive]
    left = capacity - float(np.sum(cost[~positive] * floor[~positive]))

    def spent(factor: float) -> float:
        return float(np.sum(c * np.clip(factor * w, low, 1.0)))

    points = np.sort(np.concatenate([1.0 / w, low / w]))
    below, above = -1, points.size - 1  # spent(points[below]) <= left; points[-1] makes every rate 1
    if not points.size or spent(float(points[0])) >= left:
        return 0.0
    below = 0
    if spent(float(points[above])) <= left:
        return float(points[above])
    while above - below > 1:
        middle = (above + below) // 2
        below, above = (middle, above) if spent(float(points[middle])) <= left else (below, middle)
    inside = float(points[below] + points[above]) / 2
    free = (inside * w > low) & (inside * w < 1)
    fixed = float(np.sum((c * np.where(inside * w >= 1, 1.0, low))[~free]))
    slope = float(np.sum((c * w)[free]))
    return float(np.clip((left - fixed) / slope, points[below], points[above])) if slope > 0 else float(points[below])
