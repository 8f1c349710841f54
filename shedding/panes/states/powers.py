"""powers: of a measure's values their moments up to the fourth, and the exact sums of them and of their squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa

from shedding.arrays import Floats, quotient
from shedding.estimates.moments import Moments
from shedding.estimates.spread import Powers
from shedding.panes.cut import Cut, merged_sums, stack
from shedding.panes.groups import Summed
from shedding.panes.states.stat import Kept, Stat, WindowStat, merged_moments
from shedding.scan.double_double import Pair, centred, centred_powers
from shedding.scan.exact_sums import ExactSums
from shedding.scan.fixed_point import CUBE_EXPONENT, FOURTH_EXPONENT

_ROUNDING = 2.0**-49
"""What the rounding of fourth powers, and of cubes times the mean, may add up to, relative to their sum."""
_SOUND = 256.0
"""A fourth moment is believed from this many times its rounding on."""


@dataclass(frozen=True, slots=True)
class WindowPowers(WindowStat):
    """`m3` and `m4` (S, K); `total` and `squares` the exact sums (K,) of all sampled values and of their squares."""

    m3: Floats
    m4: Floats
    total: ExactSums
    squares: ExactSums

    @property
    def powers(self) -> Powers:
        """The moments as the estimates take them."""
        return Powers(self.moments, self.m3, self.m4)


@dataclass(frozen=True, slots=True)
class PanePowers(Stat):
    """`m3`, `m4`: centred sums of third and fourth powers; `total`, `squares`: exact sums of values and squares."""

    m3: Floats
    m4: Floats
    total: ExactSums
    squares: ExactSums

    @classmethod
    def of_scan(cls, summed: Summed, population: Floats) -> Self:
        """From the sums of the first four powers.

        Cubes and fourth powers are rounded: where what is left of them around the mean is within that, as of times
        since 1970, they are taken to be those of a normal law with the same variance.
        """
        count, total, squares = summed.count, summed.exact("s"), summed.exact("squares")
        sums = total.pair(), squares.pair(), summed.rounded("cubes"), summed.rounded("fourths")
        m2 = np.maximum(centred(sums[1], sums[0], sums[0], count), 0.0)
        moments = Moments.from_sums(count, sums[0][0], m2)
        m3, m4 = centred_powers(sums, count)
        sound = (m2 == 0) | (m4 > _SOUND * _noise(moments, sums))
        normal = 3 * quotient(m2**2, count, 0.0)
        return cls(population, moments, np.where(sound, m3, 0.0), np.where(sound, m4, normal), total, squares)

    @classmethod
    def of_columns(cls, kept: Kept) -> Self:
        """From the columns of a table of panes."""
        parts = kept.floats("m3"), kept.floats("m4"), kept.sums("sum"), kept.sums("squares")
        return cls(kept.floats("population"), kept.moments(), *parts)

    @classmethod
    def empty(cls, *, whole: bool) -> Self:
        """The state of no panes."""
        nothing, total = np.zeros(0), ExactSums.merged([], 0)
        return cls(nothing, Moments.zeros(0), nothing, nothing, total, total)

    @classmethod
    def window(cls, cuts: Sequence[Cut], stats: Sequence[Self]) -> WindowPowers:
        """The window of the cuts."""
        population, moments = merged_moments(cuts, stats)
        pairs = zip(cuts, stats, moments.mean, strict=True)
        higher = [stat.merged_powers(cut, mean) for cut, stat, mean in pairs]
        m3, m4 = (stack([powers[at] for powers in higher]) for at in (0, 1))
        total, squares = (merged_sums(cuts, [getattr(s, part) for s in stats]) for part in ("total", "squares"))
        return WindowPowers(population, moments, m3, m4, total, squares)

    def merged_powers(self, cut: Cut, mean: Floats) -> tuple[Floats, Floats]:
        """m3 and m4 of all panes of a key together, around the key's mean (Pebay 2008, Eq. 2.1)."""
        count, m2 = self.moments.count[cut.inside], self.moments.m2[cut.inside]
        m3, m4 = self.m3[cut.inside], self.m4[cut.inside]
        away = self.moments.mean[cut.inside] - mean[cut.key]
        return (
            cut.by_key(m3 + away * (3 * m2 + count * away**2)),
            cut.by_key(m4 + away * (4 * m3 + away * (6 * m2 + count * away**2))),
        )

    def columns(self) -> dict[str, Any]:
        """The columns of a table of panes."""
        return Stat.columns(self) | {
            "m3": pa.array(self.m3),
            "m4": pa.array(self.m4),
            "sum": self.total.lists(),
            "squares": self.squares.lists(),
        }


def _noise(moments: Moments, sums: tuple[Pair, Pair, Pair, Pair]) -> Floats:
    """What rounding may have added to a fourth moment."""
    rounded = _ROUNDING * sums[3][0]
    quanta = 2.0**FOURTH_EXPONENT + 4 * np.abs(moments.mean) * 2.0**CUBE_EXPONENT
    return np.asarray(rounded + moments.count * quanta)
