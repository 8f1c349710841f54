import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shedding.errors import DataError
from shedding.estimates import Estimate, gamma_poisson_count

REPETITIONS = 10_000


@pytest.mark.parametrize("expected", [2.0, 20.0, 400.0])
@pytest.mark.parametrize("rate", [0.02, 0.2])
def test_with_a_true_prior_the_interval_covers_its_confidence_and_the_value_is_unbiased(expected, rate):
    rng = np.random.default_rng(1)
    weight = 3.0
    mean = rng.gamma(weight * expected, 1 / weight, REPETITIONS)
    rows = rng.poisson(mean)
    kept = rng.binomial(rows, rate).astype(float)
    estimate = gamma_poisson_count(
        kept, np.full(REPETITIONS, rate), prior_mean=np.full(REPETITIONS, expected), prior_weight=weight
    )
    assert np.mean((estimate.low <= rows) & (rows <= estimate.high)) >= 0.945
    error = (estimate.value - rows).std() / np.sqrt(REPETITIONS)
    assert abs((estimate.value - rows).mean()) < 4 * error
    assert np.mean(estimate.deviation**2) == pytest.approx((estimate.value - rows).var(), rel=0.06)


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_without_a_prior_it_covers_95_percent_from_ten_rows(rate):
    kept = np.random.default_rng(2).binomial(400, rate, REPETITIONS).astype(float)
    estimate = gamma_poisson_count(kept, np.full(REPETITIONS, rate))
    assert 0.94 <= np.mean((estimate.low <= 400) & (estimate.high >= 400)) <= 0.97


def test_a_prior_helps_where_rows_are_few():
    rng = np.random.default_rng(3)
    rows = rng.poisson(50, REPETITIONS)
    kept, rate = rng.binomial(rows, 0.02).astype(float), np.full(REPETITIONS, 0.02)
    alone = gamma_poisson_count(kept, rate)
    steadied = gamma_poisson_count(kept, rate, prior_mean=np.full(REPETITIONS, 50.0), prior_weight=3.0)
    assert np.abs(steadied.value - rows).mean() < 0.4 * np.abs(alone.value - rows).mean()


def test_no_row_has_a_bounded_interval_from_zero():
    estimate = gamma_poisson_count(np.zeros(1), np.full(1, 0.1))
    assert estimate.low[0] == 0
    assert 0 < estimate.high[0] < 100


def test_a_whole_sample_counts_exactly():
    estimate = gamma_poisson_count(np.array([7.0]), np.ones(1), prior_mean=np.array([100.0]), prior_weight=5.0)
    assert (estimate.low[0], estimate.value[0], estimate.high[0], estimate.deviation[0]) == (7, 7, 7, 0)


def test_a_rate_of_zero_is_refused():
    with pytest.raises(DataError, match="rate"):
        gamma_poisson_count(np.zeros(1), np.zeros(1))


@given(
    sampled=st.integers(0, 50),
    rate=st.floats(1e-6, 1.0),
    prior=st.floats(1e-9, 1e6),
    mean=st.floats(-1e9, 1e9),
    half=st.floats(0, 1e9),
)
def test_a_sum_of_uncounted_rows_lies_inside_its_interval(
    sampled: int, rate: float, prior: float, mean: float, half: float
) -> None:
    one = np.ones(1)
    rows = gamma_poisson_count(sampled * one, rate * one, prior_mean=prior * one, prior_weight=0.5 * one)
    value = Estimate(mean * one, (mean - half) * one, (mean + half) * one, half / 2 * one)
    for estimate in (rows, value.times(rows, 0.95)):
        assert estimate.low[0] <= estimate.value[0] <= estimate.high[0]
