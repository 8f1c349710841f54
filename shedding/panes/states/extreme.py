"""extreme: the least or the largest of a measure's values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa

from shedding.arrays import Floats
from shedding.estimates.moments import Moments
from shedding.panes.cut import Cut
from shedding.panes.groups import Numbers, Summed
from shedding.panes.states.stat import Kept, Stat, WindowStat, merged_moments


@dataclass(frozen=True, slots=True)
class WindowExtreme(WindowStat):
    """`extreme` (2, K): the least and the largest of the panes' extremes; the measure takes the one it is about."""

    extreme: Numbers


@dataclass(frozen=True, slots=True)
class Extreme(Stat):
    """`extreme`: whole numbers where the column has such; of no meaning where no row has a value."""

    extreme: Numbers

    @classmethod
    def of_scan(cls, summed: Summed, population: Floats) -> Self:
        """From the extremes of the groups."""
        zeros = np.zeros(summed.size)
        return cls(population, Moments(summed.count, zeros, zeros), summed.extreme())

    @classmethod
    def of_columns(cls, kept: Kept) -> Self:
        """From the columns, of the type that has any values where the column has changed its type."""
        names = [f"{kind}_extreme" for kind in ("int64", "float64")]
        columns = sorted((kept.column(name) for name in names if kept.has(name)), key=lambda one: one.null_count)
        extreme = np.asarray(columns[0].fill_null(0).to_numpy())
        return cls(kept.floats("population"), kept.moments(), extreme)

    @classmethod
    def empty(cls, *, whole: bool) -> Self:
        """The state of no panes."""
        return cls(np.zeros(0), Moments.zeros(0), np.zeros(0, dtype=np.int64 if whole else np.float64))

    @classmethod
    def window(cls, cuts: Sequence[Cut], stats: Sequence[Self]) -> WindowExtreme:
        """The window of the cuts."""
        valid = [stat.moments.count[cut.inside] > 0 for cut, stat in zip(cuts, stats, strict=True)]
        key = np.concatenate([cut.key[some] for cut, some in zip(cuts, valid, strict=True)])
        together = zip(cuts, stats, valid, strict=True)
        value = np.concatenate([stat.extreme[cut.inside][some] for cut, stat, some in together])
        both = np.zeros((2, cuts[0].size), dtype=value.dtype)
        both[:, key] = value
        np.minimum.at(both[0], key, value)
        np.maximum.at(both[1], key, value)
        return WindowExtreme(*merged_moments(cuts, stats), both)

    def columns(self) -> dict[str, Any]:
        """The columns of a table of panes."""
        name = f"{self.extreme.dtype}_extreme"
        return Stat.columns(self) | {name: pa.array(self.extreme, mask=self.moments.count == 0)}
