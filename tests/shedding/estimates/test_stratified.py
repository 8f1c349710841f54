import numpy as np
import pytest

from shedding.errors import DataError
from shedding.estimates import Strata, stratified_mean
from shedding.estimates.moments import Moments

REPETITIONS = 10_000
UNIFORM = np.random.default_rng(1).random(150) * 100
SKEWED = np.random.default_rng(2).exponential(10, 150)


def draws(population, size, seed):
    """REPETITIONS simple random samples without replacement, as moments of one stratum each."""
    order = np.random.default_rng(seed).random((REPETITIONS, population.size)).argpartition(size - 1, axis=1)
    rows = population[order[:, :size]]
    mean = rows.mean(axis=1)
    return np.full(REPETITIONS, float(size)), mean, ((rows - mean[:, None]) ** 2).sum(axis=1)


def strata(*parts):
    """Strata from (population values, sample size, seed) of each."""
    samples = [draws(*part) for part in parts]
    population = np.repeat([[float(part[0].size)] for part in parts], REPETITIONS, axis=1)
    return Strata(population, Moments(*(np.stack(column) for column in zip(*samples, strict=True))))


def coverage(estimate, truth):
    return np.mean((estimate.low <= truth) & (truth <= estimate.high))


def assert_unbiased(estimate, truth):
    error = estimate.value.std() / np.sqrt(REPETITIONS)
    assert abs(estimate.value.mean() - truth) < 4 * error


@pytest.mark.parametrize("size", [10, 20, 60])
def test_one_stratum_is_unbiased_and_covers_95_percent_from_ten_rows(size):
    estimate = stratified_mean(strata((UNIFORM, size, size)))
    assert_unbiased(estimate, UNIFORM.mean())
    assert 0.94 <= coverage(estimate, UNIFORM.mean()) <= 0.96
    assert np.sqrt(np.mean(estimate.deviation**2)) == pytest.approx(estimate.value.std(), rel=0.03)


def test_strata_of_different_rates_and_means_combine_without_bias():
    shifted = UNIFORM[:60] + 300
    estimate = stratified_mean(strata((shifted, 30, 1), (UNIFORM[60:], 10, 2)))
    truth = np.concatenate([shifted, UNIFORM[60:]]).mean()
    assert_unbiased(estimate, truth)
    assert 0.94 <= coverage(estimate, truth) <= 0.96
    naive = (30 * shifted.mean() + 10 * UNIFORM[60:].mean()) / 40  # what adding the samples up would give
    assert abs(naive - truth) > 20 * abs(estimate.value.mean() - truth)


@pytest.mark.parametrize(("size", "least", "most"), [(2, 0.90, 0.95), (5, 0.87, 0.93), (10, 0.88, 0.94)])
def test_small_skewed_samples_stay_unbiased_but_cover_less(size, least, most):
    estimate = stratified_mean(strata((SKEWED, size, size)))
    assert_unbiased(estimate, SKEWED.mean())
    assert least <= coverage(estimate, SKEWED.mean()) <= most


def test_all_rows_give_the_exact_mean_without_an_interval():
    rows = Moments.of([1.0, 2.0, 6.0])
    estimate = stratified_mean(Strata([[3.0]], Moments([[3.0]], [[rows.mean]], [[rows.m2]])))
    assert estimate.value[0] == estimate.low[0] == estimate.high[0] == 3.0
    assert estimate.deviation[0] == 0


def test_one_row_gives_a_value_and_an_infinite_interval():
    estimate = stratified_mean(Strata([[5.0]], Moments([[1.0]], [[7.0]], [[0.0]])))
    assert estimate.value[0] == 7
    assert estimate.low[0] == -np.inf
    assert estimate.high[0] == np.inf


def test_no_row_gives_no_value():
    estimate = stratified_mean(Strata([[5.0, 0.0]], Moments.zeros((1, 2))))
    assert np.isnan(estimate.value).all()
    assert np.isinf(estimate.high).all()


def test_a_stratum_with_one_row_borrows_the_keys_pooled_spread():
    estimate = stratified_mean(Strata([[10.0], [10.0]], Moments([[1.0], [5.0]], [[4.0], [6.0]], [[0.0], [8.0]])))
    assert np.isfinite(estimate.high[0])
    expected = 0.25 * 0.9 * 2.0 / 1 + 0.25 * 0.5 * 2.0 / 5
    assert estimate.deviation[0] ** 2 == pytest.approx(expected)


def test_wider_confidence_gives_wider_intervals_around_the_same_value():
    sample = Strata([[10.0]], Moments([[4.0]], [[2.0]], [[3.0]]))
    narrow, wide = stratified_mean(sample, 0.5), stratified_mean(sample, 0.99)
    assert narrow.value == wide.value
    assert (wide.high - wide.low)[0] > 3 * (narrow.high - narrow.low)[0]


def test_a_confidence_outside_zero_and_one_is_refused():
    with pytest.raises(DataError, match="confidence"):
        stratified_mean(Strata([[10.0]], Moments([[4.0]], [[2.0]], [[3.0]])), 95)
