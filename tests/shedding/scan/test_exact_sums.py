"""Exact sums against rational numbers: every double, every cut, every order."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shedding.scan.exact_sums import ExactSums, grid_below, last_bit

DOUBLES = st.floats(allow_nan=False, allow_infinity=False, width=64, min_value=-(2.0**900), max_value=2.0**900)
ROWS = st.lists(st.tuples(DOUBLES, st.integers(0, 2)), max_size=30)
WHOLE = st.integers(-(2**63), 2**63 - 1)


def sums(rows: list[tuple[float, int]], size: int = 3) -> ExactSums:
    values, place = np.array([v for v, _ in rows], dtype=float), np.array([p for _, p in rows], dtype=np.int64)
    return ExactSums.of_doubles(values, place, size)


def same(one: ExactSums, other: ExactSums) -> bool:
    return one.lists().to_pylist() == other.lists().to_pylist()


@given(ROWS)
@example([(2.0**53, 0), (1.0, 0), (2.0**-60, 0)])  # beyond a tie by a bit that is far away
@example([(2.0**53, 0), (-0.5, 0), (-(2.0**-900), 0)])  # the same below a power of two
@example([(5e-324, 0), (-5e-324, 1), (1e270, 2)])
def test_the_double_is_the_nearest_to_the_exact_sum(rows):
    high, low = sums(rows).pair()
    for at in range(3):
        mine = [v for v, place in rows if place == at]
        assert high[at] == math.fsum(mine)
        rest = sum(map(Fraction, mine), Fraction(0)) - Fraction(high[at])
        assert low[at] == pytest.approx(float(rest), rel=1e-12, abs=0)


@given(ROWS, st.integers(0, 30), st.randoms(use_true_random=False))
def test_cuts_and_orders_leave_no_trace(rows, cut, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    parts = [(sums(part), np.arange(3)) for part in (shuffled[:cut], shuffled[cut:])]
    assert same(ExactSums.merged(parts, 3), sums(rows))
    assert same(ExactSums.of_lists(sums(rows).lists()), sums(rows))


@given(st.lists(WHOLE, min_size=1, max_size=20), st.integers(0, 2**46))
def test_whole_numbers_are_exact_beyond_what_doubles_and_64_bits_hold(numbers, factor):
    values = np.array(numbers, dtype=np.int64)
    halves = [(values >> 32, 32), (values & 0xFFFFFFFF, 0)]
    for parts in ([(values, 0)], halves):
        found = ExactSums.of_parts(parts)
        assert [sum(map(Fraction, terms)) for terms in found.lists().to_pylist()] == numbers
    total = ExactSums.merged([(ExactSums.of_parts(halves), np.zeros(len(values), dtype=np.int64))], 1)
    scaled = total.times(np.array([factor]))
    assert sum(map(Fraction, scaled.lists().to_pylist()[0])) == sum(numbers) * factor
    assert scaled.rounded()[0] == float(sum(numbers) * factor)


@given(DOUBLES.filter(bool))
def test_no_bit_is_below_the_last(value):
    exponent = last_bit(abs(value))
    assert (Fraction(value) / Fraction(2) ** exponent).denominator == 1
    assert grid_below(exponent) <= exponent < grid_below(exponent) + 32


def test_many_terms_add_up_as_few_do():
    values = np.full(2**21 + 1, 2.0**31 - 1)
    assert sums([(0.0, 0)], 1).rounded() == 0
    total = ExactSums.of_doubles(values, np.zeros(len(values), dtype=np.int64), 1)
    assert total.rounded()[0] == (2**31 - 1) * (2**21 + 1)
