"""sums: of a measure's values their moments, and their exact sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from shedding.arrays import Floats
from shedding.estimates.moments import Moments
from shedding.panes.cut import Cut, merged_sums
from shedding.panes.groups import Summed
from shedding.panes.states.stat import Kept, Stat, WindowStat, merged_moments, moments_of
from shedding.scan.exact_sums import ExactSums


@dataclass(frozen=True, slots=True)
class WindowSums(WindowStat):
    """`total` is the exact sum of all sampled values of a key, (K,)."""

    total: ExactSums


@dataclass(frozen=True, slots=True)
class Sums(Stat):
    """`total`: the exact sum of the sampled values."""

    total: ExactSums

    @classmethod
    def of_scan(cls, summed: Summed, population: Floats) -> Self:
        """From the sums of values and of their squares."""
        total = summed.exact("s")
        return cls(population, moments_of(summed.count, total.pair(), summed.rounded("q")), total)

    @classmethod
    def of_columns(cls, kept: Kept) -> Self:
        """From the columns of a table of panes."""
        return cls(kept.floats("population"), kept.moments(), kept.sums("sum"))

    @classmethod
    def empty(cls, *, whole: bool) -> Self:
        """The state of no panes."""
        return cls(np.zeros(0), Moments.zeros(0), ExactSums.merged([], 0))

    @classmethod
    def window(cls, cuts: Sequence[Cut], stats: Sequence[Self]) -> WindowSums:
        """The window of the cuts."""
        return WindowSums(*merged_moments(cuts, stats), merged_sums(cuts, [stat.total for stat in stats]))

    def columns(self) -> dict[str, Any]:
        """The columns of a table of panes."""
        return Stat.columns(self) | {"sum": self.total.lists()}
