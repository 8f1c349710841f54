"""Laws of merged, subtracted and decayed moments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.errors import DataError
from shedding.estimates.moments import Moments

LAWS = settings(max_examples=100, deadline=None, derandomize=True)
values = st.lists(st.floats(-1e6, 1e6), max_size=30)


def close(a: Moments, b: Moments) -> None:
    np.testing.assert_allclose(a.count, b.count)
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(a.m2, b.m2, rtol=1e-9, atol=1e-2)


@LAWS
@given(values, values)
def test_merging_parts_gives_the_moments_of_the_whole(first: list[float], second: list[float]) -> None:
    close(Moments.of(first).merge(Moments.of(second)), Moments.of(first + second))


@LAWS
@given(values, values)
def test_subtracting_undoes_merging(first: list[float], second: list[float]) -> None:
    part = Moments.of(first)
    close(part.merge(Moments.of(second)).subtract(Moments.of(second)), part)


@LAWS
@given(values, values, values)
def test_merging_is_associative_and_commutative(a: list[float], b: list[float], c: list[float]) -> None:
    x, y, z = Moments.of(a), Moments.of(b), Moments.of(c)
    close(x.merge(y).merge(z), x.merge(z.merge(y)))


@LAWS
@given(values)
def test_groups_without_rows_are_neutral(rows: list[float]) -> None:
    own = Moments.of(rows)
    for merged in (own.merge(Moments.zeros()), Moments.zeros().merge(own)):
        assert (float(merged.count), float(merged.mean), float(merged.m2)) == (
            float(own.count),
            float(own.mean),
            float(own.m2),
        )


@LAWS
@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(0, 4)), max_size=60))
def test_grouped_moments_are_those_of_each_group(rows: list[tuple[float, int]]) -> None:
    got = Moments.grouped([v for v, _ in rows], [g for _, g in rows], 5)
    for group in range(5):
        one = Moments.of([v for v, g in rows if g == group])
        close(Moments(got.count[group], got.mean[group], got.m2[group]), one)


def test_a_large_offset_and_ten_million_rows_keep_the_variance() -> None:
    rows = np.tile(np.arange(10.0), 1_000_000) + 1e9  # exactly representable, population variance 8.25
    exact = 8.25 * rows.size / (rows.size - 1)
    whole = Moments.of(rows)
    assert abs(float(whole.variance()) / exact - 1) < 1e-9
    grouped = Moments.grouped(rows, np.zeros(rows.size, dtype=np.int64), 1)
    assert abs(float(grouped.variance()[0]) / exact - 1) < 1e-9
    pieces = Moments.zeros()
    for piece in np.array_split(rows, 100):
        pieces = pieces.merge(Moments.of(piece))
    assert abs(float(pieces.variance()) / exact - 1) < 1e-9
    left = whole.subtract(Moments.of(rows[: rows.size // 2]))
    assert abs(float(left.variance(ddof=0)) / 8.25 - 1) < 1e-9


def test_decay_keeps_mean_and_spread_and_lightens_the_rows() -> None:
    old = Moments.of([1.0, 2.0, 6.0])
    aged = old.decay(0.5)
    assert float(aged.count) == 1.5
    assert float(aged.mean) == float(old.mean)
    assert float(aged.variance(ddof=0)) == pytest.approx(float(old.variance(ddof=0)))


def test_a_variance_needs_more_rows_than_degrees_taken() -> None:
    assert np.isnan(Moments.of([3.0]).variance())
    assert float(Moments.of([3.0]).variance(ddof=0)) == 0.0


def test_exact_sums_give_the_same_moments() -> None:
    got = Moments.from_sums([2, 0], [6.0, 0.0], [2.0, 5.0])
    assert got.mean.tolist() == [3.0, 0.0]
    assert got.m2.tolist() == [2.0, 0.0]


@pytest.mark.parametrize("weight", [0.0, -1.0, 1.5, float("nan")])
def test_a_decay_outside_its_range_is_refused(weight: float) -> None:
    with pytest.raises(DataError, match="decay"):
        Moments.of([1.0]).decay(weight)


def test_contradictory_arguments_are_refused() -> None:
    with pytest.raises(DataError, match="shape"):
        Moments(np.zeros(2), np.zeros(3), np.zeros(2))
    with pytest.raises(DataError, match="more rows"):
        Moments.of([1.0]).subtract(Moments.of([1.0, 2.0]))
    with pytest.raises(DataError, match=r"\[0, 2\)"):
        Moments.grouped([1.0], [2], 2)
    with pytest.raises(DataError, match="index"):
        Moments.grouped([1.0], [0, 1], 2)
