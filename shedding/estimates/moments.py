"""Count, mean and M2: the three numbers from which a pane's mean and variance are kept, merged and aged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shedding.errors import DataError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Moments:
    """Moments of one or many groups: float64 arrays of equal shape, `m2` the sum of squared deviations.

    Guarantee: no operation subtracts squares of large numbers, so the variance of 1e7 rows with an offset of 1e9 keeps
    a relative error below 1e-9. A group without rows has count, mean and m2 of 0 and is neutral in `merge`.

    >>> Moments.of([1, 2, 3, 4]).variance()
    array(1.66666667)
    """

    count: Floats
    mean: Floats
    m2: Floats

    def __post_init__(self) -> None:
        for name in ("count", "mean", "m2"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        if not self.count.shape == self.mean.shape == self.m2.shape:
            raise DataError(
                f"moments need arrays of one shape, got count {self.count.shape}, mean {self.mean.shape}, "
                f"m2 {self.m2.shape}; align them over the keys first"
            )

    @staticmethod
    def zeros(shape: int | tuple[int, ...] = ()) -> Moments:
        """The moments of groups without rows."""
        return Moments(np.zeros(shape), np.zeros(shape), np.zeros(shape))

    @classmethod
    def of(cls, values: ArrayLike) -> Moments:
        """The moments of all values as one group, by the corrected two-pass formula."""
        data = np.asarray(values, dtype=np.float64).ravel()
        if data.size == 0:
            return cls.zeros()
        mean = data[0] + np.mean(data - data[0])
        deviations = data - mean
        rest = deviations.sum()  # what rounding left in the mean; taking it out is the correction
        m2 = np.square(deviations, out=deviations).sum() - rest * rest / data.size
        return cls(np.asarray(data.size), np.asarray(mean + rest / data.size), np.asarray(max(float(m2), 0.0)))

    @classmethod
    def grouped(cls, values: ArrayLike, index: ArrayLike, size: int) -> Moments:
        """The moments of each of `size` groups; `index` gives the group of each value, in [0, size)."""
        data = np.asarray(values, dtype=np.float64).ravel()
        group = np.asarray(index, dtype=np.int64).ravel()
        if data.size != group.size:
            raise DataError(f"{data.size} values but {group.size} group indexes; give one index for each value")
        if group.size and (group.min() < 0 or group.max() >= size):
            raise DataError(f"group indexes must lie in [0, {size}), got {group.min()}..{group.max()}")
        count = np.bincount(group, minlength=size).astype(np.float64)
        rows = np.maximum(count, 1.0)
        shift = np.zeros(size)
        shift[group] = data  # any value of the group removes its offset
        mean = shift + np.bincount(group, data - shift[group], minlength=size) / rows
        deviations = data - mean[group]
        rest = np.bincount(group, deviations, minlength=size)
        m2 = np.bincount(group, np.square(deviations), minlength=size) - rest * rest / rows
        return cls(count, mean + rest / rows, np.maximum(m2, 0.0))

    @classmethod
    def from_sums(cls, count: ArrayLike, total: ArrayLike, m2: ArrayLike) -> Moments:
        """Moments from count, sum and M2, where the caller has summed exactly."""
        rows = np.asarray(count, dtype=np.float64)
        mean = np.divide(total, rows, out=np.zeros_like(rows), where=rows > 0)
        return cls(rows, mean, np.where(rows > 0, m2, 0.0))

    def merge(self, other: Moments) -> Moments:
        """The moments of both sets of rows together; associative and commutative up to rounding."""
        count = self.count + other.count
        share = np.divide(other.count, count, out=np.zeros_like(count), where=count > 0)
        delta = other.mean - self.mean
        mean = np.where(self.count > 0, self.mean + delta * share, other.mean)
        return Moments(count, np.where(count > 0, mean, 0.0), self.m2 + other.m2 + delta * delta * self.count * share)

    def subtract(self, other: Moments) -> Moments:
        """The inverse of `merge`: what remains when `other`'s rows, which must be part of these, are taken away."""
        count = self.count - other.count
        if np.any(count < -1e-9 * np.maximum(self.count, 1.0)):
            raise DataError("cannot take away more rows than there are; subtract only a part that was merged before")
        left = count > 1e-9 * np.maximum(self.count, 1.0)  # decayed counts are no whole numbers
        rows = np.where(left, count, 1.0)
        delta = other.mean - self.mean
        mean = self.mean - delta * other.count / rows
        m2 = self.m2 - other.m2 - delta * delta * self.count * other.count / rows
        return Moments(np.where(left, count, 0.0), np.where(left, mean, 0.0), np.where(left, np.maximum(m2, 0.0), 0.0))

    def decay(self, weight: float) -> Moments:
        """The same mean and spread with `weight` times the rows: older panes speak more softly (0 < weight <= 1)."""
        if not 0 < weight <= 1:
            raise DataError(f"a decay weight lies in (0, 1], got {weight}")
        return Moments(self.count * weight, self.mean, self.m2 * weight)

    def variance(self, ddof: float = 1) -> Floats:
        """M2 / (count - ddof); nan where there are not more than `ddof` rows."""
        rows = self.count - ddof
        return np.divide(self.m2, rows, out=np.full_like(rows, np.nan), where=rows > 0)
