"""Exact sums of doubles and whole numbers, kept as digits: the same bits however rows were cut, ordered or merged.

A sum of doubles rounds at every step, so it depends on the order. Here nothing is rounded before the end: a sum is a
row of 32-bit digits, digits of several sums add up as whole numbers, and the double nearest to the whole is found once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.scan.double_double import Pair, blocks, two_sum

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

DIGIT_BITS = 32
GRID = 16
"""Digits count powers of two whose exponents are GRID modulo DIGIT_BITS."""
LOWEST = -1104
"""The exponent of the digit that holds the last bit that a double can have."""
_MASK = np.int64((1 << DIGIT_BITS) - 1)
_HALF = np.int64(1 << (DIGIT_BITS - 1))
_MOST_TERMS = 2**21  # sums of so many digits are whole numbers that a double holds
_NEAR_TIE = 0.499
_LEAST_NORMAL = -1022
"""Times powers of two from this exponent on digits are doubles; below it only `ldexp`, which is slow, is safe."""


def grid_below(exponent: int) -> int:
    """The largest exponent of a digit that is not above this one.

    >>> grid_below(0), grid_below(-48)
    (-16, -48)
    """
    return exponent - (exponent - GRID) % DIGIT_BITS


def last_bit(value: float) -> int:
    """An exponent that the last bit of no double of at least this size is below; for 0 the largest there is."""
    return max(math.frexp(value)[1] - 53, LOWEST) if value else 1024


@dataclass(frozen=True, slots=True)
class ExactSums:
    """One exact sum a group: `digits` is (J, K), digit j counts 2**(top - 32 j) and lies in [-2**31, 2**31).

    Guarantee: `rounded` is the double nearest to the exact sum of all that was ever added, ties to even.

    >>> ExactSums.of_doubles(np.array([1e16, 1.0, -1e16, 0.1]), np.array([0, 0, 0, 1]), 2).rounded()
    array([1. , 0.1])
    """

    digits: Integers
    top: int

    def __len__(self) -> int:
        return int(self.digits.shape[1])

    @classmethod
    def of_parts(cls, parts: Sequence[tuple[Integers, int]]) -> ExactSums:
        """The sums of whole numbers, each array times 2**exponent; exponents at most 16 above a digit's."""
        grid = [grid_below(exponent) for _, exponent in parts]
        return cls._carried([*grid, max(grid) + DIGIT_BITS], len(parts[0][0]), lambda part: _levels(parts, part))

    @classmethod
    def of_doubles(cls, values: Floats, place: Integers, size: int) -> ExactSums:
        """The sums by place, in [0, size), of finite doubles."""
        sizes = np.abs(values[values != 0])
        if not sizes.size:
            return cls(np.zeros((1, size), dtype=np.int64), GRID)
        lowest = grid_below(last_bit(float(sizes.min())))
        highest = math.frexp(float(sizes.max()))[1]
        rest = values
        levels: dict[int, Integers] = {}
        for exponent in range(grid_below(highest), lowest - 1, -DIGIT_BITS):
            digit = np.rint(np.ldexp(rest, -exponent))
            rest = rest - np.ldexp(digit, exponent)  # exact: both are multiples of the value's last bit
            levels[exponent] = _added(digit.astype(np.int64), place, size)
        return cls._of_levels(levels, size)

    @classmethod
    def merged(cls, parts: Sequence[tuple[ExactSums, Integers]], size: int) -> ExactSums:
        """The sums by place, in [0, size), of other exact sums, each with its place."""
        levels: dict[int, Integers] = {}
        for sums, place in parts:
            for number, digit in enumerate(sums.digits):
                level = sums.top - DIGIT_BITS * number
                levels[level] = levels.get(level, np.int64(0)) + _added(digit, place, size)
        return cls._of_levels(levels, size)

    @classmethod
    def of_lists(cls, lists: pa.ListArray) -> ExactSums:
        """The inverse of `lists`."""
        lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        values = np.asarray(lists.flatten().to_numpy(zero_copy_only=False), dtype=np.float64)
        return cls.of_doubles(values, np.repeat(np.arange(len(lists)), lengths), len(lists))

    def lists(self) -> pa.ListArray:
        """Each sum as a list of doubles that add up to it, its digits from the highest on; 0 as an empty one."""
        values = self._terms().T
        there = values != 0
        offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values[there], pa.float64()))

    def part(self, chosen: slice | Integers) -> ExactSums:
        """The sums of some of the groups."""
        return ExactSums(self.digits[:, chosen], self.top)

    def times(self, factor: Integers) -> ExactSums:
        """Each sum times a whole number from 0 to 2**46."""
        parts = []
        for number, digit in enumerate(self.digits):
            exponent = self.top - DIGIT_BITS * number
            parts += [(digit * (factor & 0xFFFF), exponent), (digit * (factor >> 16), exponent + 16)]
        return ExactSums.of_parts(parts)

    def fraction(self, at: int) -> Fraction:
        """One of the sums, as it is."""
        exponents = range(self.top, self.top - DIGIT_BITS * len(self.digits), -DIGIT_BITS)
        digits = zip(self.digits[:, at].tolist(), exponents, strict=True)
        return sum((digit * Fraction(2) ** exponent for digit, exponent in digits if digit), Fraction(0))

    def rounded(self) -> Floats:
        """The double nearest to each sum."""
        return self.pair()[0]

    def pair(self) -> Pair:
        """The double nearest to each sum, and what it leaves, to 53 bits."""
        total, low = np.empty(len(self)), np.empty(len(self))
        for part in blocks(len(self)):
            total[part], low[part] = _pair(self.part(part)._terms())
        return total, low

    def _terms(self) -> Floats:
        exponents = self.top - DIGIT_BITS * np.arange(len(self.digits))[:, np.newaxis]
        if int(exponents.min()) < _LEAST_NORMAL:
            return np.ldexp(self.digits.astype(np.float64), exponents)
        return self.digits.astype(np.float64) * np.ldexp(1.0, exponents)

    @classmethod
    def _of_levels(cls, levels: dict[int, Integers], size: int) -> ExactSums:
        """From sums of digits, by exponent."""
        return cls._carried(levels, size, lambda part: {level: digit[part] for level, digit in levels.items()})

    @classmethod
    def _carried(cls, exponents: Iterable[int], size: int, levels: Callable[[slice], dict[int, Integers]]) -> ExactSums:
        """Sums of digits, by exponent, brought back to their range, a digit more in front if one needs it.

        `levels` tells them of a stretch of the sums: intermediate results stay in the cache.
        """
        known = set(exponents)
        if not known:
            return cls(np.zeros((1, size), dtype=np.int64), GRID)
        ladder = range(min(known), max(known) + DIGIT_BITS + 1, DIGIT_BITS)
        digits = np.empty((len(ladder), size), dtype=np.int64)
        for part in blocks(size):
            own, carry = levels(part), np.zeros_like(digits[0, part])
            for digit, exponent in zip(digits[::-1], ladder, strict=True):
                value = own.get(exponent, np.int64(0)) + carry
                carry = (value + _HALF) >> DIGIT_BITS
                digit[part] = value - (carry << DIGIT_BITS)
        first = 0  # digits that are 0 in every sum are left away in front
        while first < len(ladder) - 1 and not digits[first].any():
            first += 1
        return cls(digits[first:], ladder[-1] - DIGIT_BITS * first)


def _levels(parts: Sequence[tuple[Integers, int]], stretch: slice) -> dict[int, Integers]:
    """Whole numbers, each array times 2**exponent, as sums of digits by exponent."""
    levels: dict[int, Integers] = {}
    for numbers, exponent in parts:
        base = grid_below(exponent)
        shift, own = np.int64(exponent - base), numbers[stretch]
        assert shift <= DIGIT_BITS // 2, "there is no room to move digits further"
        for level, digit in ((base + DIGIT_BITS, own >> DIGIT_BITS), (base, own & _MASK)):
            levels[level] = levels.get(level, np.int64(0)) + (digit << shift)
    return levels


def _pair(terms: Floats) -> Pair:
    """The doubles nearest to sums of terms, highest first, each below the last bit of the one before, and the rests."""
    total, low = terms[-1], np.zeros(terms.shape[1])
    cut = np.zeros(terms.shape[1], dtype=bool)  # whether `low` has lost a bit
    for term in terms[-2::-1]:
        total, error = two_sum(term, total)
        low, lost = two_sum(low, error)
        cut |= lost != 0
    gap = np.abs(np.nextafter(total, np.copysign(np.inf, low)) - total)
    near = (low != 0) & (np.abs(low) > _NEAR_TIE * gap)  # near a tie every bit counts
    whole = near & ~cut  # then the two are the sum itself: one more addition rounds it rightly
    total[whole], low[whole] = two_sum(total[whole], low[whole])
    for at in np.flatnonzero(near & cut):
        column = terms[:, at].tolist()
        total[at] = math.fsum(column)
        low[at] = math.fsum([*column, -total[at]])
    return total, low


def _added(digit: Integers, place: Integers, size: int) -> Integers:
    """Digits summed by place."""
    if len(digit) < _MOST_TERMS:
        return np.bincount(place, digit, minlength=size).astype(np.int64)
    found = np.zeros(size, dtype=np.int64)
    np.add.at(found, place, digit)
    return found
