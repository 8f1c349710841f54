import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.errors import DataError
from shedding.estimates import Strata
from shedding.estimates.moments import Moments

stratum = st.tuples(st.integers(1, 50), st.integers(0, 50), st.floats(-100, 100), st.floats(0, 100))


def build(parts):
    population = np.array([[float(max(n, size))] for n, size, _, _ in parts])
    count = np.array([[float(size)] for _, size, _, _ in parts])
    mean = np.array([[mean if size else 0.0] for _, size, mean, _ in parts])
    m2 = np.array([[m2 if size > 1 else 0.0] for _, size, _, m2 in parts])
    return Strata(population, Moments(count, mean, m2))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(stratum, min_size=1, max_size=5))
def test_where_every_stratum_is_sampled_the_value_is_the_stratified_mean(parts):
    parts = [(n, max(size, 1), mean, m2) for n, size, mean, m2 in parts]
    sample = build(parts)
    combined = sample.combine()
    expected = (sample.population * sample.moments.mean).sum() / sample.population.sum()
    assert combined.value[0] == pytest.approx(expected, abs=1e-9)
    assert 0 < combined.effective[0] <= combined.count[0] * (1 + 1e-9) or combined.share[0] == 1


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(stratum, min_size=2, max_size=5))
def test_the_order_of_the_strata_does_not_matter(parts):
    forth, back = build(parts).combine(), build(parts[::-1]).combine()
    for name in ("value", "rest", "effective", "m2", "freedom", "count"):
        np.testing.assert_allclose(getattr(forth, name), getattr(back, name), rtol=1e-9, atol=1e-9)


def test_one_stratum_combines_to_itself():
    combined = Strata([[20.0]], Moments([[5.0]], [[3.0]], [[8.0]])).combine()
    assert (combined.rest[0], combined.mean[0], combined.effective[0], combined.freedom[0]) == (3, 3, 5, 4)
    assert combined.share[0] == 0.25


def test_an_unsampled_stratum_is_filled_from_the_keys_other_strata():
    combined = Strata([[10.0], [30.0]], Moments([[4.0], [0.0]], [[7.0], [0.0]], [[3.0], [0.0]])).combine()
    assert combined.value[0] == pytest.approx(7)
    assert combined.population[0] == 40


def test_an_unsampled_stratum_beside_an_exhausted_one_is_filled_from_it():
    combined = Strata([[4.0], [30.0]], Moments([[4.0], [0.0]], [[7.0], [0.0]], [[3.0], [0.0]])).combine()
    assert combined.value[0] == pytest.approx(7)
    assert combined.effective[0] == 4


def test_more_sampled_rows_than_rows_are_refused():
    with pytest.raises(DataError, match="more sampled rows"):
        Strata([[3.0]], Moments([[4.0]], [[7.0]], [[3.0]]))


def test_populations_and_samples_of_different_keys_are_refused():
    with pytest.raises(DataError, match="align"):
        Strata([[3.0, 4.0]], Moments([[1.0]], [[7.0]], [[3.0]]))
