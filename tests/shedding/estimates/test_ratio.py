import numpy as np
import pytest

from shedding.errors import DataError
from shedding.estimates import Strata, ratio_of_sums
from shedding.estimates.moments import Moments

REPETITIONS = 10_000


def sampled(a, b, size, seed):
    order = np.random.default_rng(seed).random((REPETITIONS, a.size)).argpartition(size - 1, axis=1)[:, :size]
    x, y = a[order], b[order]
    dx, dy = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    count = np.full(REPETITIONS, float(size))
    return (
        (count, x.mean(axis=1), (dx**2).sum(axis=1)),
        (count, y.mean(axis=1), (dy**2).sum(axis=1)),
        (dx * dy).sum(axis=1),
    )


def test_a_ratio_of_two_strata_is_nearly_unbiased_and_covers_95_percent():
    rng = np.random.default_rng(1)
    distance = 5 + rng.random(300) * 10
    fare = 3 + 2 * distance + rng.normal(0, 3, 300)
    parts = [sampled(fare[:100], distance[:100], 25, 1), sampled(fare[100:], distance[100:], 15, 2)]
    population = np.repeat([[100.0], [200.0]], REPETITIONS, axis=1)
    top, bottom = (
        Strata(population, Moments(*(np.stack([part[i][j] for part in parts]) for j in range(3)))) for i in (0, 1)
    )
    estimate = ratio_of_sums(top, bottom, np.stack([part[2] for part in parts]))
    truth = fare.sum() / distance.sum()
    assert abs(estimate.value.mean() - truth) < 0.1 * estimate.value.std()
    assert 0.94 <= np.mean((estimate.low <= truth) & (truth <= estimate.high)) <= 0.96


def strata(count, mean, m2, population=10.0):
    return Strata([[population]], Moments([[count]], [[mean]], [[m2]]))


def test_all_rows_give_the_exact_ratio():
    estimate = ratio_of_sums(strata(10.0, 6.0, 5.0), strata(10.0, 3.0, 5.0), np.array([[4.0]]))
    assert estimate.low[0] == estimate.value[0] == estimate.high[0] == 2.0


def test_a_denominator_of_zero_has_no_ratio():
    estimate = ratio_of_sums(strata(5.0, 6.0, 5.0), strata(5.0, 0.0, 0.0), np.array([[0.0]]))
    assert np.isnan(estimate.value[0])
    assert np.isinf(estimate.high[0])


def test_a_column_over_itself_is_one_without_doubt():
    estimate = ratio_of_sums(strata(5.0, 6.0, 5.0), strata(5.0, 6.0, 5.0), np.array([[5.0]]))
    assert estimate.value[0] == 1
    assert estimate.deviation[0] == pytest.approx(0, abs=1e-12)


def test_different_rows_above_and_below_are_refused():
    with pytest.raises(DataError, match="same sample"):
        ratio_of_sums(strata(5.0, 6.0, 5.0), strata(4.0, 6.0, 5.0), np.array([[5.0]]))


def test_a_key_whose_sampled_rows_are_all_equal_is_not_sure_of_itself():
    rng = np.random.default_rng(1)
    top, bottom = rng.gamma(2, 1, (6, 5)), np.full((6, 5), 10.0)
    top[0] = 0.7  # five rows alike, and fifteen not seen
    parts = [[Moments.of(rows) for rows in side] for side in (top, bottom)]
    stacked = [
        Moments(*(np.array([[float(getattr(p, n)) for p in side]]) for n in ("count", "mean", "m2"))) for side in parts
    ]
    cross = np.array([[float(np.sum((a - a.mean()) * (b - b.mean()))) for a, b in zip(top, bottom, strict=True)]])
    rows = np.full((1, 6), 20.0)
    found = ratio_of_sums(Strata(rows, stacked[0]), Strata(rows, stacked[1]), cross)
    assert (found.high - found.low > 0.1 * found.value).all()
