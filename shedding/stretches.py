"""Stretches of time: sorted, disjoint, half-open intervals in whole microseconds, as one value.

What a slot reads, what it counts and what it remembers is a stretch of event time, seldom in one piece: windows
with gaps between them, the end of a slot that the next one's windows reach into, windows that are kept beside others
that are dropped.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # NumPy is imported where arrays are asked about: a specification is read without it
    import numpy as np
    import numpy.typing as npt

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Stretches:
    """A set of instants. Guarantee: equal sets are equal values, whichever intervals they were made of.

    `parts` are sorted, not empty, and neither overlap nor touch: make them by `of`.

    >>> Stretches.of((3, 5), (0, 2), (2, 3), (8, 8), (7, 9))
    Stretches(parts=((0, 5), (7, 9)))
    """

    parts: tuple[Interval, ...] = ()

    @classmethod
    def of(cls, *intervals: Interval) -> Stretches:
        """The instants that lie in one of the half-open intervals, which may overlap and be empty."""
        parts: list[Interval] = []
        for start, end in sorted(interval for interval in intervals if interval[0] < interval[1]):
            if parts and start <= parts[-1][1]:
                parts[-1] = parts[-1][0], max(parts[-1][1], end)
            else:
                parts.append((start, end))
        return cls(tuple(parts))

    @classmethod
    def union(cls, several: Iterable[Stretches]) -> Stretches:
        """The instants that lie in any of them."""
        return cls.of(*chain.from_iterable(one.parts for one in several))

    @classmethod
    def of_text(cls, text: str) -> Stretches:
        """The inverse of `text`."""
        return cls.of(*((int(start), int(end)) for start, end in re.findall(r"(-?\d+)-(-?\d+)", text)))

    def minus(self, other: Stretches) -> Stretches:
        """The instants that do not lie in the other."""
        if not self.parts or not other.parts:
            return self
        edges = [self.start, *chain.from_iterable(other.parts), self.end]
        return self.within(Stretches.of(*zip(edges[::2], edges[1::2], strict=True)))

    def within(self, other: Stretches) -> Stretches:
        """The instants that lie in the other too."""
        if len(other.parts) == 1:
            return self._between(*other.parts[0])
        return Stretches(tuple(_common(iter(self.parts), iter(other.parts))))

    def covers(self, other: Stretches) -> bool:
        """Whether every instant of the other lies here."""
        return other.within(self) == other

    def widened(self, width: int) -> Stretches:
        """The whole multiples of `width` that have an instant here.

        >>> Stretches.of((3, 5), (11, 14)).widened(4)
        Stretches(parts=((0, 16),))
        """
        return Stretches.of(*((start - start % width, end + -end % width) for start, end in self.parts))

    def coarser(self, most: int) -> Stretches:
        """At most so many parts, the smallest gaps between them closed.

        >>> Stretches.of((0, 1), (2, 3), (9, 10)).coarser(2)
        Stretches(parts=((0, 3), (9, 10)))
        """
        gaps = [(after[0] - before[1], before[1], after[0]) for before, after in pairwise(self.parts)]
        closed = sorted(gaps)[: max(0, len(self.parts) - most)]
        return Stretches.of(*self.parts, *((start, end) for _, start, end in closed))

    def multiples(self, width: int) -> list[int]:
        """The starts of the whole multiples of `width` that have an instant here, in order.

        >>> Stretches.of((3, 5), (11, 14)).multiples(4)
        [0, 4, 8, 12]
        """
        return [first for start, end in self.widened(width) for first in range(start, end, width)]

    def hold(self, instants: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Of each instant whether it lies here."""
        import numpy as np

        edges = np.array(self.parts, dtype=np.int64).ravel()
        return np.asarray(np.searchsorted(edges, instants, side="right") % 2 == 1)

    @property
    def start(self) -> int:
        """The first instant; ValueError where there is none."""
        return self._ends[0]

    @property
    def end(self) -> int:
        """The instant after the last; ValueError where there is none."""
        return self._ends[1]

    @property
    def total(self) -> int:
        """How long all parts are together, in microseconds."""
        return sum(end - start for start, end in self.parts)

    @property
    def digest(self) -> str:
        """A short name: equal for equal sets, stable for ever."""
        return hashlib.blake2b(self.text.encode(), digest_size=12).hexdigest()

    @property
    def text(self) -> str:
        """As it stands in a table's column: equal for equal sets, stable for ever."""
        return ";".join(f"{start}-{end}" for start, end in self.parts)

    def __bool__(self) -> bool:
        """Whether there is any instant."""
        return bool(self.parts)

    def __iter__(self) -> Iterator[Interval]:
        """The parts, oldest first."""
        return iter(self.parts)

    def _between(self, start: int, end: int) -> Stretches:
        """The instants of one interval, found without a look at the others."""
        first = bisect_right(self.parts, start, key=lambda part: part[1])
        last = bisect_left(self.parts, end, key=lambda part: part[0])
        return Stretches(tuple((max(low, start), min(high, end)) for low, high in self.parts[first:last]))

    @property
    def _ends(self) -> Interval:
        if not self.parts:
            raise ValueError("no instant: an empty set of stretches has neither start nor end")
        return self.parts[0][0], self.parts[-1][1]


def _common(these: Iterator[Interval], those: Iterator[Interval]) -> Iterator[Interval]:
    """The intervals that two sorted lists of disjoint ones share."""
    this, that = next(these, None), next(those, None)
    while this is not None and that is not None:
        start, end = max(this[0], that[0]), min(this[1], that[1])
        if start < end:
            yield start, end
        if this[1] <= that[1]:
            this = next(these, None)
        else:
            that = next(those, None)
