import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shedding.estimates import Estimate, gamma_poisson_count

ANY = st.floats(width=32)
ESTIMATES = st.tuples(ANY, ANY, ANY, ANY.map(abs)).map(lambda parts: Estimate(*(np.array([x]) for x in parts)))


def holds_its_value(estimate):
    low, value, high = estimate.low[0], estimate.value[0], estimate.high[0]
    return np.isnan(value) or (low <= value <= high and estimate.deviation[0] >= 0)


@given(ESTIMATES, ESTIMATES, ANY.filter(np.isfinite))
def test_an_interval_holds_its_value_whatever_was_known_of_its_parts(one, other, factor):
    with np.errstate(all="ignore"):
        assert all(map(holds_its_value, (one, one.scaled(factor), one.times(other))))


@given(st.integers(0, 3), st.floats(0.01, 1.0), st.floats(0.0, 1e4), st.sampled_from([0.0, 0.5]))
def test_the_interval_of_a_count_of_rows_that_few_of_were_kept_holds_it(count, rate, expected, weight):
    rows = gamma_poisson_count(np.array([float(count)]), np.array([rate]), prior_mean=np.array([expected]),
                               prior_weight=weight)  # fmt: skip
    assert holds_its_value(rows)
    assert holds_its_value(rows.times(Estimate.exact(np.array([21.0]))))


def test_an_interval_that_nothing_tells_is_no_sum_without_doubt():
    mean = Estimate(np.array([0.546]), np.array([np.nan]), np.array([np.nan]), np.array([np.nan]))
    total = mean.scaled(np.array([3.0]))
    assert (total.low[0], total.high[0], total.deviation[0]) == (-np.inf, np.inf, np.inf)


def test_scaling_turns_a_mean_into_a_sum_with_the_same_relative_width():
    mean = Estimate(np.array([2.0]), np.array([1.0]), np.array([3.0]), np.array([0.5]))
    total = mean.scaled(np.array([10.0]))
    assert (total.value[0], total.low[0], total.high[0], total.deviation[0]) == (20, 10, 30, 5)


def test_a_negative_scale_keeps_low_below_high():
    total = Estimate(np.array([2.0]), np.array([1.0]), np.array([3.0]), np.array([0.5])).scaled(-1.0)
    assert (total.low[0], total.high[0], total.deviation[0]) == (-3, -1, 0.5)


def test_no_rows_times_an_unknown_mean_is_a_sum_without_doubt():
    unknown = Estimate(np.array([np.nan]), np.array([-np.inf]), np.array([np.inf]), np.array([np.inf]))
    assert unknown.scaled(np.array([0.0])).high[0] == 0


def test_an_exact_factor_changes_nothing_but_the_scale():
    mean = Estimate.student(np.array([2.0]), np.array([0.25]), np.array([9.0]), 0.95)
    product = mean.times(Estimate.exact(np.array([10.0])))
    assert product.value[0] == 20
    assert product.deviation[0] == pytest.approx(5)
    assert product.high[0] - 20 == pytest.approx(10 * (mean.high[0] - 2))


def test_a_product_covers_the_product_of_two_independent_means():
    rng = np.random.default_rng(3)
    one, other = rng.normal(10, 1, 10_000), rng.normal(50, 4, 10_000)
    freedom = np.full(10_000, np.inf)
    product = Estimate.student(one, np.ones(10_000), freedom, 0.95).times(
        Estimate.student(other, np.full(10_000, 16.0), freedom, 0.95)
    )
    assert 0.94 <= np.mean((product.low <= 500) & (product.high >= 500)) <= 0.96


def test_an_exact_number_is_its_own_interval():
    count = Estimate.exact(np.array([3.0]))
    assert count.low[0] == count.value[0] == count.high[0] == 3
