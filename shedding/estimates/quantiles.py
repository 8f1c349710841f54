"""p-quantiles of sampled rows, with intervals from order statistics.

No function here, or elsewhere, gives an interval to MIN or MAX: the law behind these intervals does not cover them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from shedding.arrays import sorted_by
from shedding.errors import DataError
from shedding.estimates.estimate import Estimate, check_confidence
from shedding.estimates.moments import Floats


def sampled_quantile(
    values: Floats,
    key: NDArray[np.int64],
    p: float,
    population: Floats,
    *,
    rate: Floats | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """The p-quantile of each of K keys from its sampled rows; `key` gives each row's key, `population` (K,) their N.

    Rows sampled at different rates get weights 1 / `rate` (one a row). The value interpolates linearly between order
    statistics: nearly median-unbiased at n < N; at n = N it is SQL's percentile, its bits too. The interval runs
    between interpolated order statistics (Hettmansperger and Sheather 1986, Nyblom 1992), narrowed by the
    finite-population correction; where weights differ n is Kish's effective size. Guarantee: free of the distribution;
    covers its confidence within a point from n = 10 wherever both ends exist. An end is infinite, too, where the key's
    few rows beyond the quantile may all be missing from the sample (`_too_few`). An end is infinite where the sample is
    too small to have one: n below log((1 - confidence) / 2) / log(max(p, 1 - p)), i.e. 6 rows at p = .5 and 36 at
    p = .9 for 95 %; a sample that lacks one end covers 97.5 %, one that lacks both says nothing. `deviation` is
    half-width over 1.96.
    """
    check_confidence(confidence)
    if not 0 < p < 1:
        raise DataError(f"quantile {p} is not in (0, 1); min and max are computed exactly, never from a sample")
    weights = np.ones(len(values)) if rate is None else np.asarray(rate, dtype=np.float64)
    rows = Ordered.of(values, key, population, weights)
    value, some, exhausted = rows.quantile(p), rows.count > 0, rows.exhausted
    tail = (1 - confidence) / 2
    sizes = np.maximum(rows.effective, 1.0)
    levels = _lower_level(sizes, rows.left, p, tail), 1 - _lower_level(sizes, rows.left, 1 - p, tail)
    low, under, _ = rows.at(levels[0])
    high, _, over = rows.at(levels[1])
    under |= _too_few(rows.count, population, p, tail)
    over |= _too_few(rows.count, population, 1 - p, tail)
    low = np.where(exhausted, value, np.where(some & ~under, np.minimum(low, value), -np.inf))
    high = np.where(exhausted, value, np.where(some & ~over, np.maximum(high, value), np.inf))
    return Estimate(value, low, high, (high - low) / (2 * float(special.ndtri(0.5 + confidence / 2))))


@dataclass(frozen=True, slots=True)
class Ordered:
    """The sampled rows of K keys in order of key and value, with weights 1 / rate.

    Arrays over rows: `data`, `group` (its key), `weight`, `running` (weights up to the row in its key). Arrays (K,):
    `count` n, `total` weight, `effective` (Kish's n) and `left`, the share of the key's rows that was not seen.
    """

    data: Floats
    group: NDArray[np.int64]
    weight: Floats
    running: Floats
    count: Floats
    total: Floats
    effective: Floats
    left: Floats

    @classmethod
    def of(cls, values: Floats, key: NDArray[np.int64], population: Floats, rate: Floats) -> Ordered:
        """From rows in any order; `rate` is the share at which each was drawn."""
        size = len(population)
        order = sorted_by(values, key)
        data, group, weight = values[order], key[order], 1 / rate[order]
        count = np.bincount(group, minlength=size).astype(np.float64)
        total = np.bincount(group, weight, minlength=size).astype(np.float64)
        squares = np.bincount(group, weight**2, minlength=size)
        some = count > 0
        effective = np.where(some, total**2 / np.where(some, squares, 1.0), 0.0)
        left = np.clip(1 - count / np.maximum(population, 1.0), 0.0, 1.0)
        return cls(data, group, weight, _running_sums(weight, group), count, total, effective, left)

    @property
    def exhausted(self) -> NDArray[np.bool_]:
        """Keys of which all rows were seen."""
        return (self.count > 0) & (self.left <= 0)

    def quantile(self, p: float) -> Floats:
        """The p-quantile of each key by linear interpolation; nan without a row, SQL's percentile of all rows."""
        size = len(self.count)
        # (i - a) / (n + 1 - 2 a): a = 1/3 is median-unbiased for a sample, a = 1 is SQL's percentile of all rows
        a = 1 - 2 * self.left / 3
        span = self.total * (1 + (1 - 2 * a) / np.maximum(self.count, 1.0))
        place = (self.running - a[self.group] * self.weight) / np.where(span > 0, span, 1.0)[self.group]
        found = _interpolate(self.data, place, self.group, np.full(size, p), size)[0]
        value = np.where(self.count > 0, found, np.nan)
        value[self.exhausted] = _percentile(self.data, np.cumsum(self.count) - self.count, self.count, p)[
            self.exhausted
        ]
        return value

    def at(self, level: Floats) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
        """The order statistic at each key's `level` of r / (n + 1), and which keys lack a row below or above it."""
        step = (self.running / self.total[self.group]) * (self.effective / (self.effective + 1))[self.group]
        return _interpolate(self.data, step, self.group, level, len(self.count))


def _too_few(count: Floats, population: Floats, p: float, tail: float) -> NDArray[np.bool_]:
    """Keys of which even the lowest sampled row lies above the p-quantile of all N rows with more than `tail`.

    The quantile is at least the row of rank floor((N - 1) p) + 1, of which and of those below it a sample of n rows
    misses all with the hypergeometric chance. Where N p is small the binomial law of `_lower_level` is too sure: the
    99 % quantile of 50 rows lies between the two largest, and a sample of 45 lacks the largest in one case of ten.
    """
    below = np.floor(np.maximum(population - 1, 0.0) * p + 1e-9) + 1
    left = population - count
    none = left >= below
    spare = np.where(none, left - below, 0.0)
    chance = special.gammaln(left + 1) + special.gammaln(population - below + 1)
    chance = chance - special.gammaln(spare + 1) - special.gammaln(population + 1)
    return np.asarray(none & (chance > np.log(tail)))


def _percentile(data: Floats, first: Floats, count: Floats, p: float) -> Floats:
    """SQL's percentile of the sorted rows that begin at `first`, rounded as Spark rounds; any number without rows."""
    if not data.size:
        return np.full(count.shape, np.nan)
    place = np.maximum(count - 1, 0.0) * p
    lower, upper = np.floor(place), np.ceil(place)
    below, above = (data[np.minimum(first + rank, data.size - 1).astype(np.int64)] for rank in (lower, upper))
    return np.where(below == above, below, (upper - place) * below + (place - lower) * above)


def _lower_level(size: Floats, left: Floats, p: float, tail: float) -> Floats:
    """The level l / (n + 1) of the order statistic that exceeds the p-quantile with probability `tail`; 0 if none does.

    a(r) = P(X_(r) > quantile) = P(Binomial(n, p) <= r - 1), continued between whole r by the incomplete beta function;
    between X_(r) and X_(r+1) Nyblom's weight, which linear interpolation of a() would get wrong at small n.
    """
    rank, beyond = np.zeros_like(size), np.floor(size) + 1
    chance = np.full((2, len(size)), np.nan)  # a(rank) and a(beyond), as far as they were asked for
    wide = np.flatnonzero(beyond - rank > 1)
    while wide.size:  # the last whole rank with a(rank) <= tail; most keys are found long before the largest
        middle = np.floor((rank[wide] + beyond[wide]) / 2)
        exceeding = _exceeding(middle, size[wide], left[wide], p)
        below = exceeding <= tail
        rank[wide[below]], beyond[wide[~below]] = middle[below], middle[~below]
        chance[0, wide[below]], chance[1, wide[~below]] = exceeding[below], exceeding[~below]
        wide = wide[beyond[wide] - rank[wide] > 1]
    level, some = np.zeros_like(size), np.flatnonzero(rank >= 1)
    rank, size, left, (first, second) = rank[some], size[some], left[some], chance[:, some]
    last = np.isnan(second)  # the rank after the last row
    second[last] = _exceeding(rank[last] + 1, size[last], left[last], p)
    gain, loss = np.maximum(tail - first, 0.0) * (size - rank) * p, (second - tail) * rank * (1 - p)
    weight = np.where(gain + loss > 0, gain / np.where(gain + loss > 0, gain + loss, 1.0), 0.0)
    level[some] = (rank + np.clip(weight, 0.0, 1.0)) / (size + 1)
    return level


def _exceeding(rank: Floats, size: Floats, left: Floats, p: float) -> Floats:
    """a(rank); sampling without replacement narrows the count's spread, as if n / left rows were drawn."""
    larger = size / np.maximum(left, 1e-9)
    place = 0.5 + larger * p + (rank - 0.5 - size * p) / np.maximum(left, 1e-9)
    inside = np.clip(place, 1e-9, larger + 1 - 1e-9)
    chance = np.asarray(special.betainc(larger - inside + 1, inside, 1 - p), dtype=np.float64)
    return np.where(place <= 0, 0.0, np.where(place >= larger + 1, 1.0, chance))


def _running_sums(weight: Floats, group: NDArray[np.int64]) -> Floats:
    running = np.cumsum(weight)
    first = np.flatnonzero(np.diff(group, prepend=-1))
    before = np.concatenate([[0.0], running])[first]
    sums: Floats = running - np.repeat(before, np.diff(np.append(first, len(weight))))
    return sums


def _interpolate(
    data: Floats, place: Floats, group: NDArray[np.int64], level: Floats, size: int
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """The value at `level` of each key by linear interpolation between its rows' places, and which keys lack a row
    below or above that level (their value is then the nearest row's)."""
    count = np.bincount(group, minlength=size)
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    # place <= 1, so keys two apart never overlap on one common axis
    axis = group * 2.0 + place
    right = np.searchsorted(axis, np.arange(size) * 2.0 + level, side="left")
    inside = np.clip(right, first, np.maximum(first + count - 1, 0))
    before = np.clip(right - 1, first, np.maximum(first + count - 1, 0))
    if len(data) == 0:
        nothing = np.ones(size, dtype=bool)
        return np.full(size, np.nan), nothing, nothing
    inside, before = np.minimum(inside, len(data) - 1), np.minimum(before, len(data) - 1)
    gap = place[inside] - place[before]
    part = np.where(gap > 0, (level - place[before]) / np.where(gap > 0, gap, 1.0), 0.0)
    value = data[before] + np.clip(part, 0.0, 1.0) * (data[inside] - data[before])
    under = level < place[np.minimum(first, len(data) - 1)] - 1e-12
    over = level > place[np.clip(first + count - 1, 0, len(data) - 1)] + 1e-12
    return value, under, over
