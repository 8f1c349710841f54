"""values: the sampled values themselves, beside their moments; of all rows, exact values of blocks instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.arrays import Floats
from shedding.estimates.moments import Moments
from shedding.panes.cut import Cut
from shedding.panes.groups import Summed
from shedding.panes.states.stat import Kept, Stat, WindowStat, merged_moments, moments_of, nullable

LEVELS = ("below", "at", "above")
"""Columns of a quantile's exact values in a block: at a level below it, at its own, at one above it."""


@dataclass(frozen=True, slots=True)
class SampledValues:
    """Values of a window's sample: each with its key's number and its stratum's."""

    value: Floats
    key: npt.NDArray[np.int64]
    stratum: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WindowValues(WindowStat):
    """`values` of a sample; `levels` (3, K): exact quantiles at `blocks.levels_of`, where the window is a block of an
    audited slot.
    """

    values: SampledValues | None = None
    levels: Floats | None = None


@dataclass(frozen=True, slots=True)
class Values(Stat):
    """`values`: the sampled values, sorted, as an Arrow list array, None for the exact leg; `levels` (3, panes): exact
    quantiles of the blocks that begin with these panes, nan elsewhere (see `blocks`).
    """

    values: Any = None
    levels: Floats | None = None

    @classmethod
    def of_scan(cls, summed: Summed, population: Floats) -> Self:
        """From the sums, and the values that a sample has."""
        moments = moments_of(summed.count, summed.exact("s").pair(), summed.rounded("q"))
        return cls(population, moments, summed.values() if summed.sampled else None)

    @classmethod
    def of_columns(cls, kept: Kept) -> Self:
        """From the columns of a table of panes."""
        lists = kept.column("values").combine_chunks() if kept.has("values") else None
        exact = lists is None or lists.null_count  # the exact leg keeps none
        return cls(kept.floats("population"), kept.moments(), None if exact else lists, _levels_of(kept))

    @classmethod
    def empty(cls, *, whole: bool) -> Self:
        """The state of no panes."""
        return cls(np.zeros(0), Moments.zeros(0), pa.array([], pa.list_(pa.float64())))

    @classmethod
    def window(cls, cuts: Sequence[Cut], stats: Sequence[Self]) -> WindowValues:
        """The window of the cuts."""
        pairs = list(zip(cuts, stats, strict=True))
        values = levels = None
        if all(stat.values is not None for stat in stats):
            parts = [stat.sampled_values(cut, stratum) for stratum, (cut, stat) in enumerate(pairs)]
            names = [field.name for field in fields(SampledValues)]
            values = SampledValues(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
        if all(stat.levels is not None for stat in stats):
            levels = np.full((len(LEVELS), cuts[0].size), np.nan)
            for cut, stat in pairs:
                stat.lay_levels(cut, levels)
        return WindowValues(*merged_moments(cuts, stats), values, levels)

    def sampled_values(self, cut: Cut, stratum: int) -> SampledValues:
        """The values of the panes inside."""
        assert isinstance(cut.inside, slice), "quantiles have no cost classes"
        lists = self.values.slice(cut.inside.start, cut.inside.stop - cut.inside.start)
        lengths = lists.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
        value = lists.flatten().to_numpy(zero_copy_only=False).astype(np.float64)
        key = np.repeat(cut.key, lengths)
        return SampledValues(value, key, np.full(len(key), stratum, dtype=np.int64))

    def lay_levels(self, cut: Cut, levels: Floats) -> None:
        """Put the remembered quantiles of the panes inside into `levels` (3, K)."""
        assert self.levels is not None
        inside = self.levels[:, cut.inside]
        known = ~np.isnan(inside).all(axis=0)
        levels[:, cut.key[known]] = inside[:, known]

    def columns(self) -> dict[str, Any]:
        """The columns of a table of panes."""
        columns = Stat.columns(self)
        if self.values is not None:
            columns["values"] = self.values
        if self.levels is not None:
            columns |= {part: nullable(level) for part, level in zip(LEVELS, self.levels, strict=True)}
        return columns


def _levels_of(kept: Kept) -> Floats | None:
    """Exact quantiles by level; None where the leg keeps none."""
    if not kept.has(LEVELS[0]):
        return None
    levels = np.stack([kept.floats(part) for part in LEVELS])
    return None if np.isnan(levels).all() else levels
