"""Greedy allocation along lower convex hulls: the least total error when a key's error curve is not convex."""

from __future__ import annotations

import numpy as np

from shedding.allocation.curve import Curve, Floats, Ints
from shedding.allocation.strata import Strata

_CHUNK = 1 << 14


def hull_rows(strata: Strata, curve: Curve, capacity: float, least: Floats) -> Floats:
    """Rows n_k >= least_k of each key that minimise the sum of weight times the hull of the curve, within `capacity`.

    The curve is looked at on a geometric grid of rows: 0, 1, 2, 3, 4, 6, 8, 12, ..., N. Guarantee: the optimum of the
    hulls (a key's curve is met at its vertices); spends the capacity unless all rows fit in it or `least` alone exceeds
    it; monotone in the capacity; equal keys are treated equally: steps tied at the margin are all taken in part.
    """
    kept = curve.hull_steps
    if kept is None:
        keys, start, end, gain = steps(strata, curve)
    else:
        keys, start, end, slope = kept
        gain = slope * strata.weight[keys] / strata.cost[keys]
    price = strata.cost[keys]

    def spent(taken: Floats) -> Floats:
        """Cost of a step beyond what `least` has paid already."""
        return np.asarray(np.maximum(0.0, np.maximum(taken, least[keys]) - np.maximum(start, least[keys])) * price)

    left = capacity - float(np.sum(least * strata.cost))
    full = spent(end)
    order = np.argsort(-gain, kind="stable")
    running = np.cumsum(full[order])
    rows = least.copy()
    if left <= 0 or not running.size:
        return rows
    place = int(np.searchsorted(running, left, side="right"))
    if place >= running.size:
        return strata.population.copy()
    margin = gain[order[place]]
    np.maximum.at(rows, keys[gain > margin], end[gain > margin])
    tied = gain == margin
    left -= float(np.sum(full[gain > margin]))
    part = min(1.0, max(0.0, left) / max(float(np.sum(full[tied])), np.finfo(np.float64).tiny))
    begin = np.maximum(start, least[keys])[tied]
    # Tied steps of one key follow one another: each adds its part to what the key has.
    np.add.at(rows, keys[tied], part * np.maximum(0.0, np.maximum(end[tied], begin) - begin))
    return np.minimum(rows, strata.population)


def steps(strata: Strata, curve: Curve) -> tuple[Ints, Floats, Floats, Floats]:
    """Key, first and last n, and gain per cost of every hull edge of every key."""
    population = strata.population
    found: list[tuple[Ints, Floats, Floats, Floats]] = []
    by_size = np.argsort(population, kind="stable").astype(np.int64)  # keys of like size share a short grid
    for first in range(0, by_size.size, _CHUNK):
        some = by_size[first : first + _CHUNK]
        n = np.minimum(_grid(float(population[some[-1]])), population[some, None])
        error = curve.errors(some, n) * strata.weight[some, None]
        row, i, j = _hull_edges(n, error)
        slope = (error[row, i] - error[row, j]) / (n[row, j] - n[row, i])
        found.append((some[row], n[row, i], n[row, j], slope / strata.cost[some[row]]))
    if not found:
        empty = np.zeros(0)
        return np.zeros(0, dtype=np.int64), empty, empty, empty
    keys, start, end, gain = zip(*found, strict=True)
    return np.concatenate(keys), np.concatenate(start), np.concatenate(end), np.concatenate(gain)


def _grid(largest: float) -> Floats:
    powers = 2.0 ** np.arange(0, int(np.ceil(np.log2(max(largest, 1.0)))) + 1)
    inner = np.unique(np.concatenate([powers, np.floor(1.5 * powers)]))
    return np.concatenate([[0.0], inner[inner < largest], [largest]])


def _hull_edges(n: Floats, error: Floats) -> tuple[Ints, Ints, Ints]:
    """Edges (row, start, end) of each line's lower convex hull, marching from a vertex to the point of least slope."""
    rows, points = n.shape
    vertex = np.zeros((rows, points), dtype=bool)
    vertex[:, 0] = True
    edges: list[tuple[Ints, Ints, Ints]] = []
    for i in range(points - 1):
        active = np.flatnonzero(vertex[:, i])
        if not active.size:
            continue
        span = n[active, i + 1 :] - n[active, i : i + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(span > 0, (error[active, i + 1 :] - error[active, i : i + 1]) / span, np.inf)
        step = np.argmin(slope, axis=1)
        go = np.isfinite(slope[np.arange(active.size), step])  # grid points beyond N coincide with N
        row, end = active[go], step[go] + i + 1
        vertex[row, end] = True
        edges.append((row, np.full(row.size, i), end))
    if not edges:
        return (np.zeros(0, dtype=np.int64),) * 3
    row, start, end = (np.concatenate(parts).astype(np.int64) for parts in zip(*edges, strict=True))
    return row, start, end
