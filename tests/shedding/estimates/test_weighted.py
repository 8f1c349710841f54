from dataclasses import replace

import numpy as np
import pytest

from shedding.errors import DataError
from shedding.estimates import hajek_mean, horvitz_thompson_count, horvitz_thompson_sum
from shedding.estimates.moments import Moments

REPETITIONS = 10_000
VALUES = np.random.default_rng(1).random(200) * 100


def bernoulli(rates, seed, values=VALUES):
    """REPETITIONS samples of the values at the rows' rates, as moments of one stratum a rate."""
    kept = np.random.default_rng(seed).random((REPETITIONS, values.size)) < rates
    columns = []
    for rate in np.unique(rates):
        here = kept & (rates == rate)
        count = here.sum(axis=1).astype(float)
        mean = (here * values).sum(axis=1) / np.maximum(count, 1)
        columns.append((count, mean, (here * (values - mean[:, None]) ** 2).sum(axis=1)))
    sample = Moments(*(np.stack(column) for column in zip(*columns, strict=True)))
    return sample, np.repeat(np.unique(rates)[:, None], REPETITIONS, axis=1)


def coverage(estimate, truth):
    return np.mean((estimate.low <= truth) & (truth <= estimate.high))


def assert_unbiased(estimate, truth):
    some = np.isfinite(estimate.value)
    error = estimate.value[some].std() / np.sqrt(some.sum())
    assert abs(estimate.value[some].mean() - truth) < 4 * error


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.25])
def test_horvitz_thompson_sums_are_unbiased_and_cover_95_percent_from_ten_rows(rate):
    estimate = horvitz_thompson_sum(*bernoulli(np.full(200, rate), 3))
    assert_unbiased(estimate, VALUES.sum())
    assert 0.94 <= coverage(estimate, VALUES.sum()) <= 0.96
    variance = np.where(np.isfinite(estimate.deviation), estimate.deviation, 0.0) ** 2  # no row: none was estimated
    assert variance.mean() == pytest.approx(estimate.value.var(), rel=0.05)


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.25])
def test_hajek_means_are_unbiased_and_cover_95_percent_from_ten_rows(rate):
    estimate = hajek_mean(*bernoulli(np.full(200, rate), 4))
    assert_unbiased(estimate, VALUES.mean())
    assert 0.94 <= coverage(estimate, VALUES.mean()) <= 0.96


def test_two_rates_combine_to_unbiased_sums_and_nearly_unbiased_means():
    rates = np.where(VALUES > 60, 0.4, 0.1)  # the rate depends on the value: a plain mean would be far off
    sample, rate = bernoulli(rates, 5)
    total, mean = horvitz_thompson_sum(sample, rate), hajek_mean(sample, rate)
    assert_unbiased(total, VALUES.sum())
    assert 0.93 <= coverage(total, VALUES.sum()) <= 0.97
    assert abs(mean.value.mean() - VALUES.mean()) < 0.15 * mean.value.std()
    assert 0.93 <= coverage(mean, VALUES.mean()) <= 0.97
    pooled = (sample.count * sample.mean).sum(axis=0) / sample.count.sum(axis=0)
    assert abs(pooled.mean() - VALUES.mean()) > 10


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.4])
def test_horvitz_thompson_counts_are_unbiased_and_cover_95_percent_from_ten_rows(rate):
    rng = np.random.default_rng(6)
    rows = rng.integers(10 / rate, 40 / rate, REPETITIONS)  # of one N alone the coverage moves in steps: counts do
    kept = rng.binomial(rows, rate).astype(float)[None, :]
    estimate = horvitz_thompson_count(kept, np.full(kept.shape, rate))
    assert_unbiased(replace(estimate, value=estimate.value - rows), 0.0)
    assert 0.94 <= coverage(estimate, rows) <= 0.96
    assert np.all(estimate.low >= kept[0])


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.4])
def test_the_coverage_of_a_single_count_is_within_a_step_of_the_nominal(rate):
    kept = np.random.default_rng(6).binomial(200, rate, REPETITIONS).astype(float)[None, :]
    assert 0.935 <= coverage(horvitz_thompson_count(kept, np.full(kept.shape, rate)), 200) <= 0.965


def test_below_ten_rows_sums_cover_more_than_they_say():
    estimate = horvitz_thompson_sum(*bernoulli(np.full(200, 0.025), 7))
    assert_unbiased(estimate, VALUES.sum())
    assert coverage(estimate, VALUES.sum()) > 0.96


def test_rows_kept_whole_give_exact_numbers():
    rows = Moments.of([1.0, 2.0, 6.0])
    sample = Moments([[3.0]], [[rows.mean]], [[rows.m2]])
    whole = np.ones((1, 1))
    for estimate, truth in (
        (horvitz_thompson_sum(sample, whole), 9.0),
        (hajek_mean(sample, whole), 3.0),
        (horvitz_thompson_count(sample.count, whole), 3.0),
    ):
        assert estimate.value[0] == pytest.approx(truth)
        assert estimate.low[0] == pytest.approx(truth)
        assert estimate.high[0] == pytest.approx(truth)


def test_no_row_is_no_proof_that_nothing_is_there():
    estimate = horvitz_thompson_sum(Moments.zeros((1, 1)), np.full((1, 1), 0.1))
    assert estimate.value[0] == 0
    assert np.isinf(estimate.high[0])
    assert np.isinf(horvitz_thompson_count(np.zeros((1, 1)), np.full((1, 1), 0.1)).high[0])
    assert np.isnan(hajek_mean(Moments.zeros((1, 1)), np.full((1, 1), 0.1)).value[0])


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5, np.nan])
def test_a_rate_outside_zero_and_one_is_refused(rate):
    with pytest.raises(DataError, match="rate"):
        hajek_mean(Moments.zeros((1, 1)), np.full((1, 1), rate))
