"""What every state of a measure can do: come from a scan, be a table's columns, be empty, merge into a window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa

from shedding.arrays import Floats
from shedding.estimates.moments import Moments
from shedding.panes.cut import Cut, stack, stacked
from shedding.panes.groups import Summed
from shedding.scan.double_double import Pair, centred
from shedding.scan.exact_sums import ExactSums

_ROUNDING = 2.0**-52


class Kept:
    """The columns of `panes/<query>` that belong to one measure."""

    def __init__(self, rows: pa.Table, measure: str) -> None:
        self._rows, self._measure = rows, measure

    def has(self, part: str) -> bool:
        """Whether the table has the column."""
        return f"{self._measure}_{part}" in self._rows.column_names

    def column(self, part: str) -> pa.ChunkedArray:
        """The column as it is."""
        return self._rows.column(f"{self._measure}_{part}")

    def floats(self, part: str) -> Floats:
        """The column as doubles, null as nan."""
        return np.asarray(self.column(part).cast(pa.float64()).to_numpy(), dtype=np.float64)

    def sums(self, part: str) -> ExactSums:
        """The column as exact sums."""
        return ExactSums.of_lists(self.column(part).combine_chunks())

    def moments(self, prefix: str = "") -> Moments:
        """Moments from the columns n, `<prefix>mean` and `<prefix>m2`."""
        return Moments(self.floats("n"), self.floats(f"{prefix}mean"), self.floats(f"{prefix}m2"))


@dataclass(frozen=True, slots=True)
class WindowStat:
    """One measure in one window, arrays (S, K) over strata and keys; each state adds its own."""

    population: Floats
    moments: Moments


@dataclass(frozen=True, slots=True)
class Stat(ABC):
    """One measure over many panes.

    population: rows that have a value, nan where only estimated populations exist; moments: of the sampled values.
    Laws of every state: panes of any width, slots in any order and classes of legs merge into what their union is;
    `empty` is neutral; `of_columns(columns())` has the same bits.
    """

    population: Floats
    moments: Moments

    @classmethod
    @abstractmethod
    def of_scan(cls, summed: Summed, population: Floats) -> Self:
        """The state of the groups of a scan."""

    @classmethod
    @abstractmethod
    def of_columns(cls, kept: Kept) -> Self:
        """The inverse of `columns`."""

    @classmethod
    @abstractmethod
    def empty(cls, *, whole: bool) -> Self:
        """The state of no panes, of a column of whole numbers or of others."""

    @classmethod
    @abstractmethod
    def window(cls, cuts: Sequence[Cut], stats: Sequence[Self]) -> WindowStat:
        """The window that the cuts of consecutive slots make, one stratum a slot."""

    def columns(self) -> dict[str, Any]:
        """The columns of a table of panes."""
        return {
            "population": nullable(self.population),
            "n": pa.array(self.moments.count.astype(np.int64)),
            "mean": pa.array(self.moments.mean),
            "m2": pa.array(self.moments.m2),
        }


def merged_moments(cuts: Sequence[Cut], stats: Sequence[Stat]) -> tuple[Floats, Moments]:
    """Populations and moments (S, K) of a window."""
    pairs = list(zip(cuts, stats, strict=True))
    moments = stacked([cut.merged(stat.moments) for cut, stat in pairs])
    return stack([cut.summed(stat.population) for cut, stat in pairs]), moments


def moments_of(count: Floats, total: Pair, squares: Pair) -> Moments:
    """Moments from exact sums, and sums of squares of which each was rounded to a double once."""
    m2 = centred(squares, total, total, count)
    noise = np.abs(squares[0]) * _ROUNDING  # what is within that rounding is no spread
    return Moments.from_sums(count, total[0], np.where(m2 > noise, m2, 0.0))


def nullable(values: Floats) -> pa.Array:
    """Doubles, nan as null."""
    return pa.array(values, pa.float64(), mask=np.isnan(values))
