"""The cost of rows by what they contain, in a table of fixed size (Rivetti, Busnel, Querzoni, Sec. 3.2 and 3.3)."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shedding.errors import DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DEPTH = 4
"""Lines of a sketch: ceil(log2(1 / delta)) at the paper's delta of 0.1."""
WIDTH = 4096
"""Cells of a line. The paper's 55 put 75 of its 4,096 items into a cell, which is blind to all but the mean."""


def depth_for(delta: float) -> int:
    """Lines that make an estimate wrong with probability at most delta: ceil(log2(1 / delta))."""
    return math.ceil(math.log2(1 / delta))


def width_for(epsilon: float) -> int:
    """Cells a line for an additive error of epsilon times all rows: ceil(e / epsilon)."""
    return math.ceil(math.e / epsilon)


def cells_of(items: ArrayLike, depth: int = DEPTH, width: int = WIDTH, seed: int = 0) -> Ints:
    """The cell of each item in each line, (items, depth): a 2-universal family on 64-bit items.

    h(x) = ((a x + b) mod 2^64) >> 32, scaled to the width; a odd and b drawn from the seed. The same item has the same
    cells in every process and on every machine.
    """
    x = np.asarray(items).astype(np.int64).view(np.uint64)
    a, b = np.random.Generator(np.random.PCG64(seed)).integers(0, 2**64, (2, depth), dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed = (_scrambled(x)[:, None] * (a | np.uint64(1)) + b) >> np.uint64(32)
    return np.asarray((mixed * np.uint64(width)) >> np.uint64(32), dtype=np.int64)


def _scrambled(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser: without it the high bits of neighbouring small items hardly differ."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass(frozen=True, slots=True, eq=False)
class CostSketch:
    """Two Count-Min tables with the same hashes: `rows` F and cumulated `cost` W in nanoseconds, (depth, width) each.

    Both are integer sums, so sketches merge by addition, exactly and in any order: parts of a slot give the bits of the
    whole. Guarantee of an estimate: it lies between the least and the largest cost of the rows seen; it is the item's
    own mean where no other item shares its cell in the line of least F.

    >>> sketch = CostSketch.of(cells_of([1, 1, 2]), [10, 20, 700])
    >>> sketch.estimate(cells_of([1, 2, 3]))
    array([ 15.        , 700.        , 243.33333333])
    """

    rows: Ints
    cost: Ints

    @classmethod
    def empty(cls, depth: int = DEPTH, width: int = WIDTH) -> CostSketch:
        """A sketch of no rows."""
        return cls(np.zeros((depth, width), np.int64), np.zeros((depth, width), np.int64))

    @classmethod
    def of(cls, cells: Ints, cost: ArrayLike, width: int = WIDTH) -> CostSketch:
        """The sketch of rows with these cells, (rows, depth), and whole, non-negative costs."""
        spent = np.asarray(cost)
        if spent.size and (spent.dtype.kind not in "iu" or int(spent.min()) < 0):
            raise DataError("costs of rows are whole nanoseconds, none below 0")
        sketch = cls.empty(cells.shape[1], width)
        for line in range(cells.shape[1]):
            np.add.at(sketch.rows[line], cells[:, line], 1)
            np.add.at(sketch.cost[line], cells[:, line], spent.astype(np.int64))
        return sketch

    def merge(self, other: CostSketch) -> CostSketch:
        """The sketch of the rows of both."""
        if self.rows.shape != other.rows.shape:
            raise DataError(f"sketches of {self.rows.shape} and {other.rows.shape} cells do not merge; use one size")
        return CostSketch(self.rows + other.rows, self.cost + other.cost)

    @property
    def total_rows(self) -> int:
        """Rows seen."""
        return int(self.rows[0].sum())

    @property
    def total_cost(self) -> int:
        """Their cost in nanoseconds."""
        return int(self.cost[0].sum())

    @property
    def mean(self) -> float:
        """Mean cost of a row, 0 where none was seen."""
        return self.total_cost / self.total_rows if self.total_rows else 0.0

    def estimate(self, cells: Ints) -> Floats:
        """W / F of each row of cells in the line where F is least; the mean of all rows where that F is 0."""
        lines = np.arange(cells.shape[1])
        seen = self.rows[lines, cells]
        best = np.argmin(seen, axis=1)
        at = np.arange(len(cells))
        rows, cost = seen[at, best], self.cost[lines, cells][at, best]
        return np.where(rows > 0, cost / np.maximum(rows, 1), self.mean)

    def ratios(self) -> Floats:
        """W / F of every cell, nan where no row fell: the snapshot S of Listing 3.1."""
        return np.where(self.rows > 0, self.cost / np.maximum(self.rows, 1), np.nan)

    def digest(self) -> str:
        """A fingerprint of the bits of both tables."""
        content = hashlib.blake2b(repr(self.rows.shape).encode(), digest_size=16)
        content.update(np.ascontiguousarray(self.rows).tobytes())
        content.update(np.ascontiguousarray(self.cost).tobytes())
        return content.hexdigest()


def expected_ratio(costs: ArrayLike, width: int) -> Floats:
    """Theorem 5: the mean of W / F at each item over all hashings of equally frequent items into `width` cells.

    >>> expected_ratio(np.repeat(np.arange(1, 65), 64), 55)[[0, -1]].round(2)
    array([32.08, 32.92])
    """
    w = np.asarray(costs, dtype=np.float64)
    n, total = w.size, float(w.sum())
    alone = 1.0 - (1.0 - 1.0 / width) ** n
    return (total - w) / (n - 1) - width * (total - n * w) / (n * (n - 1)) * alone
