"""Every measure that is estimated behaves, to first order, like a mean over rows of the variance that it states."""

import numpy as np
import pytest

from shedding.estimates.moments import Moments
from shedding.measures import learnable
from shedding.panes.blocks import levels_of
from shedding.panes.states import SampledValues, WindowPair, WindowValues
from shedding.scan.exact_sums import ExactSums
from shedding.spec.measure import MeasureSpec

RATIO = MeasureSpec(name="r", agg="ratio", column="a", over="b")


def quantile(q):
    return MeasureSpec(name="p", agg="quantile", column="a", q=q)


def stat_of(rows, over=None, levels=None, values=None):
    moments = Moments.of(rows)
    parts = Moments(*(np.array([[float(x)]]) for x in (moments.count, moments.mean, moments.m2)))
    size = np.array([[float(len(rows))]])
    if over is None:
        return WindowValues(size, parts, values, levels)
    other = Moments.of(over)
    bottom = Moments(*(np.array([[float(x)]]) for x in (other.count, other.mean, other.m2)))
    cross = np.array([[float(np.sum((rows - rows.mean()) * (over - over.mean())))]])
    totals = [ExactSums.of_doubles(part, np.zeros(len(part), dtype=np.int64), 1) for part in (rows, over)]
    return WindowPair(size, parts, totals[0], bottom, totals[1], cross)


def row_variance(moments):
    return float(moments.m2[0, 0] / (moments.count[0, 0] - 1))


def samples_of(draw, statistic, size, times=4000):
    rng = np.random.default_rng(3)
    return np.array([statistic(draw(rng, size)) for _ in range(times)])


def test_the_effective_row_variance_of_a_ratio_is_what_its_samples_show():
    rng = np.random.default_rng(1)
    over = rng.gamma(4, 1, 20_000)
    rows = 2 * over + rng.normal(0, 1, 20_000)
    found = learnable(RATIO).row_moments(stat_of(rows, over))
    assert found.mean[0, 0] == pytest.approx(rows.sum() / over.sum())
    pick = samples_of(lambda r, n: r.integers(0, 20_000, n), lambda i: rows[i].sum() / over[i].sum(), 50)
    assert row_variance(found) == pytest.approx(50 * pick.var(), rel=0.1)


@pytest.mark.parametrize("q", [0.5, 0.9])
@pytest.mark.parametrize("law", ["exponential", "normal"])
def test_the_effective_row_variance_of_a_quantile_is_what_its_samples_show(q, law):
    rows = getattr(np.random.default_rng(1), law)(size=20_000) + 10
    levels = np.quantile(rows, levels_of(q))[:, None]
    found = learnable(quantile(q)).row_moments(stat_of(rows, levels=levels))
    pick = samples_of(lambda r, n: r.choice(rows, n), lambda x: np.quantile(x, q), 40, 3000)
    assert row_variance(found) == pytest.approx(40 * pick.var(), rel=0.5)


def test_a_sample_of_a_quantile_says_its_value_and_from_eight_rows_on_its_spread():
    rows = np.random.default_rng(1).normal(100, 10, 400)
    for size, spread in ((5, False), (200, True)):
        values = SampledValues(rows[:size], np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64))
        stat = stat_of(rows[:size], values=values)
        found = learnable(quantile(0.5)).sampled_rows(stat, np.array([[400.0]]), np.array([[size / 400]]))
        assert found.rest[0] == pytest.approx(np.median(rows[:size]), rel=0.02)
        assert (found.freedom[0] > 0) == spread
    assert found.m2[0] / found.freedom[0] == pytest.approx(100 * np.pi / 2, rel=0.4)


def test_a_ratio_without_a_denominator_is_no_value():
    stat = stat_of(np.ones(5), np.zeros(5))
    assert learnable(RATIO).row_moments(stat).count[0, 0] == 0
    assert learnable(RATIO).sampled_rows(stat, np.array([[9.0]]), np.ones((1, 1))).count[0] == 0
