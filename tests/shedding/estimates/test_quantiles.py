import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shedding.estimates
from shedding.errors import DataError
from shedding.estimates import sampled_quantile

REPETITIONS = 10_000
POPULATION = np.random.default_rng(1).gamma(3, 10, 200)


def drawn(size, p, seed):
    order = np.random.default_rng(seed).random((REPETITIONS, 200)).argpartition(size - 1, axis=1)[:, :size]
    key = np.repeat(np.arange(REPETITIONS), size)
    return sampled_quantile(POPULATION[order].ravel(), key, p, np.full(REPETITIONS, 200.0))


@pytest.mark.parametrize(("size", "p"), [(10, 0.5), (15, 0.5), (40, 0.5), (20, 0.25), (40, 0.9), (80, 0.9)])
def test_quantiles_are_nearly_unbiased_and_cover_95_percent_from_ten_rows(size, p):
    estimate = drawn(size, p, size)
    truth = np.quantile(POPULATION, p)
    assert abs(np.median(estimate.value) - truth) < 0.2 * estimate.value.std()
    assert 0.94 <= np.mean((estimate.low <= truth) & (truth <= estimate.high)) <= 0.96


@pytest.mark.parametrize(("size", "p"), [(5, 0.5), (20, 0.9)])
def test_samples_too_small_for_an_end_say_so(size, p):
    estimate = drawn(size, p, size)
    assert np.isinf(estimate.high).all()
    truth = np.quantile(POPULATION, p)
    assert np.mean(estimate.low <= truth) > 0.96


def test_weights_undo_rates_that_depend_on_the_value():
    rng = np.random.default_rng(5)
    rates = np.where(np.quantile(POPULATION, 0.6) < POPULATION, 0.6, 0.15)
    kept = rng.random((REPETITIONS, 200)) < rates
    key, row = np.nonzero(kept)
    estimate = sampled_quantile(POPULATION[row], key, 0.5, np.full(REPETITIONS, 200.0), rate=rates[row])
    truth = np.quantile(POPULATION, 0.5)
    assert abs(np.median(estimate.value) - truth) < 0.3 * estimate.value.std()
    naive = sampled_quantile(POPULATION[row], key, 0.5, np.full(REPETITIONS, 200.0))
    assert np.median(naive.value) - truth > 2 * abs(np.median(estimate.value) - truth)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0.01, 0.99))
def test_all_rows_give_the_percentile_of_sql(values, p):
    rows = np.array(values)
    estimate = sampled_quantile(rows, np.zeros(rows.size, dtype=np.int64), p, np.array([float(rows.size)]))
    assert estimate.value[0] == pytest.approx(np.quantile(rows, p), rel=1e-9, abs=1e-6)
    assert estimate.low[0] == estimate.value[0] == estimate.high[0]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 4), st.floats(-100, 100)), max_size=60), st.floats(0.05, 0.95))
def test_each_key_is_estimated_as_if_alone(rows, p):
    key = np.array([k for k, _ in rows], dtype=np.int64)
    values = np.array([v for _, v in rows], dtype=np.float64)
    together = sampled_quantile(values, key, p, np.full(5, 100.0))
    for k in range(5):
        mine = values[key == k]
        alone = sampled_quantile(mine, np.zeros(mine.size, dtype=np.int64), p, np.array([100.0]))
        for name in ("value", "low", "high"):
            np.testing.assert_allclose(getattr(together, name)[k], getattr(alone, name)[0], rtol=1e-9, atol=1e-9)


def test_keys_without_rows_have_no_value():
    estimate = sampled_quantile(np.empty(0), np.empty(0, dtype=np.int64), 0.5, np.array([3.0]))
    assert np.isnan(estimate.value[0])
    assert np.isinf(estimate.high[0])


@pytest.mark.parametrize("p", [0.0, 1.0, -0.5])
def test_minimum_and_maximum_get_no_interval(p):
    with pytest.raises(DataError, match="min and max"):
        sampled_quantile(np.ones(3), np.zeros(3, dtype=np.int64), p, np.array([3.0]))
    assert not [name for name in shedding.estimates.__all__ if "min" in name or "max" in name]


@pytest.mark.parametrize(("rows", "size", "p"), [(50, 45, 0.99), (80, 60, 0.99), (30, 25, 0.95), (50, 40, 0.02)])
def test_an_extreme_quantile_of_few_rows_has_no_end_that_it_may_lie_beyond(rows, size, p):
    rng = np.random.default_rng(1)
    held = []
    for _ in range(400):
        values = rng.lognormal(0, 1, rows)
        drawn = rng.permutation(values)[:size]
        found = sampled_quantile(drawn, np.zeros(size, dtype=np.int64), p, np.array([float(rows)]))
        held.append(found.low[0] <= np.quantile(values, p) <= found.high[0])
    assert np.mean(held) >= 0.94
