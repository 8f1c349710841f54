"""Item sets counted by ANDing bitmaps down a tree of prefixes, each over a share of the transactions of its own.

Transactions are sorted by `u`, so the first part of every bitmap is a sample, and shorter parts are nested in longer
ones: a pattern is counted at its own rate by ANDing only the words that its rate covers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Pattern = tuple[int, ...]
Words = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bitmaps:
    """One bit a transaction, in the order of `u`, for each item; `size` transactions."""

    size: int
    items: Mapping[int, Words]

    @classmethod
    def of(cls, transaction: Index, item: Index, u: Floats, least: int = 1) -> Bitmaps:
        """From pairs of a transaction's number and an item, `u` one a transaction; without items rarer than `least`.

        An item that a transaction has twice counts once. The order of the pairs does not matter; transactions of equal
        `u` stand in the order of their numbers.
        """
        rank = np.empty(len(u), dtype=np.int64)
        rank[np.argsort(u, kind="stable")] = np.arange(len(u))
        pairs = np.unique(np.stack([item, rank[transaction]]), axis=1)
        names, first, count = np.unique(pairs[0], return_index=True, return_counts=True)
        found = {}
        for name, start, times in zip(names.tolist(), first.tolist(), count.tolist(), strict=True):
            if times >= least:
                bits = np.zeros(len(u), dtype=np.bool_)
                bits[pairs[1, start : start + times]] = True
                found[name] = np.packbits(bits)
        return cls(len(u), found)

    def frequent(self, least: int, longest: int) -> dict[Pattern, int]:
        """Every item set of at most `longest` items that is in at least `least` transactions, and in how many.

        Guarantee: complete and exact. A set is only grown from a frequent one (Agrawal and Srikant 1994), so none is
        missed; what FPGrowth finds, in another way.
        """
        found: dict[Pattern, int] = {}
        singles = [((name,), bits) for name, bits in sorted(self.items.items()) if _ones(bits) >= max(least, 1)]
        _grow(singles, max(least, 1), longest, found)
        return found

    def counts(self, patterns: Sequence[Pattern], rates: Floats) -> tuple[Index, Index]:
        """Of each pattern the transactions that hold it among the first rate * size, and how many those are.

        Patterns are sorted tuples of items. The work of a pattern is proportional to its rate and its length; a rate of
        1 gives its exact count, and a smaller rate looks at a part of the transactions that a larger one looks at.
        """
        looked = np.ceil(np.clip(rates, 0.0, 1.0) * self.size).astype(np.int64)
        held = [self._held(pattern, int(first)) for pattern, first in zip(patterns, looked, strict=True)]
        return np.array(held, dtype=np.int64), looked

    def _held(self, pattern: Pattern, first: int) -> int:
        if not first or any(name not in self.items for name in pattern):
            return 0
        words = -(-first // 8)
        bits = self.items[pattern[0]][:words].copy()
        for name in pattern[1:]:
            bits &= self.items[name][:words]
        bits[-1] &= (0xFF << (words * 8 - first)) & 0xFF  # bits beyond the share, of the last word
        return _ones(bits)


def _grow(siblings: Sequence[tuple[Pattern, Words]], least: int, longest: int, found: dict[Pattern, int]) -> None:
    """Note the sets of one prefix, and grow each by the items of those after it."""
    for place, (pattern, bits) in enumerate(siblings):
        found[pattern] = _ones(bits)
        if len(pattern) < longest:
            grown = (((*pattern, other[-1]), bits & more) for other, more in siblings[place + 1 :])
            _grow([(name, both) for name, both in grown if _ones(both) >= least], least, longest, found)


def _ones(bits: Words) -> int:
    return int(np.bitwise_count(bits).sum(dtype=np.int64))
