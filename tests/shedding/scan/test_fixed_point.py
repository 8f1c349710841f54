import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.scan.exact_sums import LOWEST
from shedding.scan.fixed_point import (
    FINE_EXPONENT,
    HIGH_UNIT,
    LEAST,
    QUANTUM,
    FixedPoint,
    high_half,
    low_half,
    tail,
    total_of_halves,
)

grids = st.integers(min_value=-(2**40), max_value=2**40).map(lambda whole: whole / 2**20)
doubles = st.floats(min_value=-1e6, max_value=1e6, allow_nan=False)


def total(unit: FixedPoint, values: list[float]) -> float:
    return float(unit.total([digits.sum(keepdims=True) for digits in unit.split(np.array(values))])[0][0])


@given(st.lists(grids, min_size=1, max_size=60))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_sum_of_representable_values_is_the_correctly_rounded_one(values):
    assert total(FixedPoint(21), values) == math.fsum(values)
    assert total(FixedPoint(62), values) == math.fsum(values)


@given(st.lists(doubles, min_size=1, max_size=60), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_any_order_and_any_split_give_the_same_bits(values, random):
    unit = FixedPoint(40)
    shuffled = list(values)
    random.shuffle(shuffled)
    cut = random.randint(0, len(values))
    parts = [unit.split(np.array(part)) for part in (shuffled[:cut], shuffled[cut:])]
    digits = [left.sum(keepdims=True) + right.sum(keepdims=True) for left, right in zip(*parts, strict=True)]
    assert float(unit.total(digits)[0][0]) == total(unit, values)


@given(st.lists(doubles, min_size=1, max_size=60))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_a_value_is_kept_to_half_a_quantum(values):
    unit = FixedPoint(20)
    exact = math.fsum(values)
    assert abs(total(unit, values) - exact) <= len(values) * QUANTUM / 2 + abs(exact) * 2.0**-52


def test_carries_survive_a_billion_of_the_largest_value():
    unit = FixedPoint(40)
    digits = [sums * 2**30 for sums in unit.split(np.array([2.0**40 - 2.0**-13]))]
    assert unit.total(digits)[0][0] == (2.0**40 - 2.0**-13) * 2**30


def halves(values: list[float]) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.array(values)
    high = np.rint(numbers / HIGH_UNIT)
    return high.astype(np.int64), np.rint((numbers - high * HIGH_UNIT) / QUANTUM).astype(np.int64)


@given(st.lists(st.one_of(doubles, st.floats(-1e-6, 1e-6)), min_size=1, max_size=60))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_halves_and_digits_of_any_magnitude_give_the_same_bits(values):
    mine = total_of_halves(*[half.sum(keepdims=True) for half in halves(values)])
    for magnitude in (20, 40, 62):
        digits = [one.sum(keepdims=True) for one in FixedPoint(magnitude).split(np.array(values))]
        assert FixedPoint(magnitude).total(digits) == mine


VALUES = [0.0, -0.0, 1.0, -1.0, 0.1, -1e-9, 1e11, -3.7e10, 2.0**-60, 12345.678]


@pytest.mark.spark
@pytest.mark.parametrize("unit", [FixedPoint(40), FixedPoint(62, FINE_EXPONENT), FixedPoint(62, LOWEST)])
def test_spark_cuts_the_same_digits_as_numpy(spark, unit):
    from pyspark.sql import functions as sf

    values = [*VALUES, 5e-324, -1e-300, 2.0**-36, 2.0**61 + 2**20]
    frame = spark.createDataFrame([(value,) for value in values], "x double")
    rows = frame.select(*[d.alias(f"d{i}") for i, d in enumerate(unit.digits(sf.col("x")))]).collect()
    assert [tuple(row) for row in rows] == list(zip(*[d.tolist() for d in unit.split(np.array(values))], strict=True))


@pytest.mark.spark
def test_spark_cuts_the_same_halves_as_numpy_and_the_tail_is_the_rest(spark):
    from pyspark.sql import functions as sf

    frame = spark.createDataFrame([(value,) for value in VALUES], "x double")
    high, low = high_half(sf.col("x")), low_half(sf.col("x"), high_half(sf.col("x")))
    rows = frame.select(high, low, tail(sf.col("x"), high, low)).collect()
    assert [tuple(row)[:2] for row in rows] == list(zip(*[half.tolist() for half in halves(VALUES)], strict=True))
    for value, row in zip(VALUES, rows, strict=True):
        if 0 < abs(value) < LEAST:
            assert math.isnan(row[2])
        else:
            assert (
                Fraction(row[0]) * Fraction(HIGH_UNIT) + Fraction(row[1]) * Fraction(QUANTUM) + Fraction(row[2])
                == value
            )
            assert (Fraction(row[2]) / Fraction(2) ** FINE_EXPONENT).denominator == 1
