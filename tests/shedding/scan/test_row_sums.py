from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from shedding.scan.double_double import Pair
from shedding.scan.exact_sums import ExactSums
from shedding.scan.fixed_point import QUANTUM_EXPONENT, FixedPoint, total_of_digits, total_of_halves
from shedding.scan.row_sums import row_sums, sorted_lists
from shedding.spec.measure import MeasureSpec

MEAN = MeasureSpec(name="m", agg="avg", column="x")
RATIO = MeasureSpec(name="r", agg="ratio", column="x", over="y")
LEAST = MeasureSpec(name="least", agg="min", column="x")
QUANTUM = Fraction(2) ** QUANTUM_EXPONENT


def total(table: pa.Table, prefix: str, magnitude: int) -> Pair:
    if f"{prefix}_high" in table.column_names:
        return total_of_halves(*(table.column(f"{prefix}_{half}").to_numpy() for half in ("high", "low")))
    exponents = [e for e in FixedPoint(magnitude).exponents if f"{prefix}[{e}]" in table.column_names]
    return total_of_digits([table.column(f"{prefix}[{exponent}]").to_numpy() for exponent in exponents], exponents)


def exact(table: pa.Table, prefix: str) -> list[Fraction]:
    names = [name for name in table.column_names if name.startswith(f"{prefix}[")]
    parts = [(table.column(name).to_numpy(), int(name[len(prefix) + 1 : -1])) for name in names]
    return [sum(map(Fraction, terms), Fraction(0)) for terms in ExactSums.of_parts(parts).lists().to_pylist()]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(-(10**6), 10**6)), max_size=40),
    st.sampled_from([1.0, 2.0**-40, 2.0**26, 2.0**-900]),
)
def test_sums_are_the_exact_sums_of_the_values_that_are_there(given_rows, unit):
    rows = [(k, None if v is None else v * unit) for k, v in given_rows]
    key = pa.array([k for k, _ in rows], pa.int64())
    x = pa.array([None if v is None else v / 100 for _, v in rows], pa.float64())
    found = row_sums(pa.table({"k": key, "x": x}), ["k"], [MEAN, LEAST], {"m": ["x"], "least": ["x"]})
    squares = total(found, "m_q", 2 * MEAN.magnitude)
    assert found["k"].to_pylist() == sorted({k for k, _ in rows})
    for place, k in enumerate(found["k"].to_pylist()):
        mine = [v / 100 for own, v in rows if own == k and v is not None]
        assert found["rows"][place].as_py() == sum(own == k for own, _ in rows)
        assert found["m_n"][place].as_py() == len(mine)
        assert found["least_min"][place].as_py() == min(mine, default=None)
        assert exact(found, "m_s")[place] == sum(map(Fraction, mine))
        rounded = sum((round(Fraction(v**2) / QUANTUM) for v in mine), Fraction(0)) * QUANTUM
        assert sum(Fraction(float(part[place])) for part in squares) == rounded


@given(st.lists(st.tuples(st.integers(0, 2), st.none() | st.integers(-(2**63), 2**63 - 1)), max_size=30))
def test_whole_numbers_stay_whole(rows):
    table = pa.table({"k": [k for k, _ in rows], "x": pa.array([v for _, v in rows], pa.int64())})
    found = row_sums(table.cast(pa.schema([("k", pa.int64()), ("x", pa.int64())])), ["k"], [MEAN, LEAST],
                     {"m": ["x"], "least": ["x"]})  # fmt: skip
    for place, k in enumerate(found["k"].to_pylist()):
        mine = [v for own, v in rows if own == k and v is not None]
        assert exact(found, "m_s")[place] == sum(mine)
        assert found["least_min"][place].as_py() == min(mine, default=None)


def test_a_row_without_both_parts_of_a_ratio_is_a_row_only():
    rows = pa.table({"k": ["a"] * 3, "x": [1.0, None, 4.0], "y": [2.0, 8.0, float("nan")]})
    found = row_sums(rows, ["k"], [RATIO], {"r": ["x", "y"]})
    assert found.select(["rows", "r_n"]).to_pylist() == [{"rows": 3, "r_n": 1}]
    assert total(found, "r_cross", 80)[0].tolist() == [2.0]


def test_the_largest_values_are_told_where_one_is_beyond_the_magnitude():
    rows = pa.table({"k": ["a", "a", "b", "b"], "x": [1.0, -(2.0**41), 3.0, None], "y": [1.0, 2.0, 4.0, 2.0**50]})
    found = row_sums(rows, ["k"], [RATIO], {"r": ["x", "y"]})
    assert found["r_largest"].to_pylist() == [2.0**41, 3.0]
    assert "r_over_largest" not in found.column_names, "the row beyond has no value"


def test_lists_are_sorted_and_have_no_negative_zeros():
    lists = sorted_lists(np.array([3.0, -0.0, 1.0, -2.0]), np.array([2, 0, 2, 0]), 3)
    assert [[str(v) for v in values] for values in lists.to_pylist()] == [["-2.0", "0.0"], [], ["1.0", "3.0"]]
