"""pair: of two columns, over the rows that have both, their moments and exact sums, and the sum of their products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa

from shedding.arrays import Floats
from shedding.estimates.moments import Moments
from shedding.panes.cut import Cut, merged_sums, stack, stacked
from shedding.panes.groups import Summed
from shedding.panes.states.stat import Kept, Stat, WindowStat, merged_moments, moments_of
from shedding.scan.double_double import centred
from shedding.scan.exact_sums import ExactSums


@dataclass(frozen=True, slots=True)
class WindowPair(WindowStat):
    """`over` and `cross` (S, K) of the denominators; `total`, `over_total`: exact sums (K,) of the sampled values."""

    total: ExactSums
    over: Moments
    over_total: ExactSums
    cross: Floats


@dataclass(frozen=True, slots=True)
class Pair(Stat):
    """`total`: the numerators' exact sum; `over`, `over_total` the same of the denominators; `cross`: the centred sum
    of products.
    """

    total: ExactSums
    over: Moments
    over_total: ExactSums
    cross: Floats

    @classmethod
    def of_scan(cls, summed: Summed, population: Floats) -> Self:
        """From the sums of both columns, their squares and their products."""
        total, over_total = summed.exact("s"), summed.exact("over_s")
        first, second = total.pair(), over_total.pair()
        moments = moments_of(summed.count, first, summed.rounded("q"))
        over = moments_of(summed.count, second, summed.rounded("over_q"))
        cross = centred(summed.rounded("cross"), first, second, summed.count)
        return cls(population, moments, total, over, over_total, cross)

    @classmethod
    def of_columns(cls, kept: Kept) -> Self:
        """From the columns of a table of panes."""
        parts = kept.sums("sum"), kept.moments("over_"), kept.sums("over_sum"), kept.floats("cross")
        return cls(kept.floats("population"), kept.moments(), *parts)

    @classmethod
    def empty(cls, *, whole: bool) -> Self:
        """The state of no panes."""
        nothing, moments, total = np.zeros(0), Moments.zeros(0), ExactSums.merged([], 0)
        return cls(nothing, moments, total, moments, total, nothing)

    @classmethod
    def window(cls, cuts: Sequence[Cut], stats: Sequence[Self]) -> WindowPair:
        """The window of the cuts."""
        population, moments = merged_moments(cuts, stats)
        over = stacked([cut.merged(stat.over) for cut, stat in zip(cuts, stats, strict=True)])
        together = zip(cuts, stats, moments.mean, over.mean, strict=True)
        return WindowPair(
            population,
            moments,
            merged_sums(cuts, [stat.total for stat in stats]),
            over,
            merged_sums(cuts, [stat.over_total for stat in stats]),
            stack([stat.merged_cross(cut, mean, below) for cut, stat, mean, below in together]),
        )

    def merged_cross(self, cut: Cut, mean: Floats, over_mean: Floats) -> Floats:
        """The centred sum of products of all panes of a key together, around the key's means."""
        away = self.moments.mean[cut.inside] - mean[cut.key]
        over_away = self.over.mean[cut.inside] - over_mean[cut.key]
        return cut.summed(self.cross) + cut.by_key(self.moments.count[cut.inside] * away * over_away)

    def columns(self) -> dict[str, Any]:
        """The columns of a table of panes."""
        return Stat.columns(self) | {
            "sum": self.total.lists(),
            "over_mean": pa.array(self.over.mean),
            "over_m2": pa.array(self.over.m2),
            "over_sum": self.over_total.lists(),
            "cross": pa.array(self.cross),
        }
