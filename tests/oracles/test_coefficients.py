"""Each coefficient against the variance that sampling really gives, errata applied."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from shedding.errors import BudgetError
from tests.oracles.coefficients import (
    count_relative,
    count_variance,
    mean_relative,
    mean_variance,
    quantile_variance,
    sum_variance,
)

RATE, ROWS, REPEATS = 0.2, 500, 4000


@pytest.fixture(scope="module")
def values() -> NDArray[np.float64]:
    return np.random.default_rng(3).gamma(4.0, 2.0, ROWS)


@pytest.fixture(scope="module")
def kept() -> NDArray[np.bool_]:
    return np.random.default_rng(4).random((REPEATS, ROWS)) < RATE


def expected(b: NDArray[np.float64]) -> float:
    """b / r - a, with a = b."""
    return float(b) * (1 / RATE - 1)


def test_count_varies_as_eq_3_says(kept: NDArray[np.bool_]) -> None:
    estimates = kept.sum(axis=1) / RATE
    assert estimates.var() == pytest.approx(expected(count_variance(ROWS)), rel=0.07)


def test_an_estimated_sum_varies_as_eq_5_says(values: NDArray[np.float64], kept: NDArray[np.bool_]) -> None:
    estimates = kept @ values / RATE
    b = sum_variance(ROWS, values.mean(), values.std(), known=False)
    assert estimates.var() == pytest.approx(expected(b), rel=0.07)


def test_with_known_rows_the_mean_and_sum_vary_less_than_eq_6_says(
    values: NDArray[np.float64], kept: NDArray[np.bool_]
) -> None:
    means = kept @ values / kept.sum(axis=1)
    assert means.var() == pytest.approx(expected(mean_variance(ROWS, values.std())), rel=0.07)
    assert (ROWS * means).var() == pytest.approx(expected(sum_variance(ROWS, values.mean(), values.std())), rel=0.07)
    relative = mean_relative(ROWS, values.mean(), values.std())
    assert (means / values.mean()).var() == pytest.approx(expected(relative), rel=0.07)


def test_a_quantile_varies_as_one_over_the_sampled_rows() -> None:
    rng = np.random.default_rng(5)
    rows, p = 20_000, 0.9
    population = -np.log1p(-(np.arange(rows) + 0.5) / rows)  # exponential, evenly filled: density 1 - p at the quantile
    quantiles = [np.quantile(population[rng.random(rows) < RATE], p) for _ in range(1500)]
    assert np.var(quantiles) == pytest.approx(expected(quantile_variance(rows, p, 1 - p)), rel=0.12)


def test_count_under_relative_error_is_alike_for_every_key() -> None:
    assert count_relative([1, 50, 3000]).tolist() == [1, 1, 1]


def test_a_zero_mean_has_an_infinite_relative_coefficient() -> None:
    assert np.isinf(mean_relative(10, 0.0, 1.0))


@pytest.mark.parametrize("p", [0.0, 1.0, -0.5])
def test_min_and_max_have_no_coefficient(p: float) -> None:
    with pytest.raises(BudgetError, match="min and max"):
        quantile_variance(10, p, 1.0)
