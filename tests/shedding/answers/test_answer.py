"""Answers of one window where values are null: what was not there is not guessed, and what was seen whole is exact."""

import numpy as np
import pyarrow as pa
import pytest

from shedding.answers.answer import exact_answer, plain_answer
from shedding.estimates.moments import Moments
from shedding.keys import Keys
from shedding.panes.states import WindowPair, WindowSums
from shedding.panes.windows import WindowSample
from shedding.scan.exact_sums import ExactSums
from shedding.spec.measure import MeasureSpec

KEYS = Keys(("key",), (pa.array(["a"]),), 1)


def column(*values):
    return np.array(values, dtype=np.float64)[:, None]


def window(population, sampled, stat):
    """A window of one key; a stratum for each number."""
    rate = column(*sampled) / column(*population)
    return WindowSample(0, 1, KEYS, True, column(*population), column(*sampled), rate, {"m": stat})


def moments(*parts):
    return Moments(
        *(np.stack([getattr(Moments.of(part), name)[None] for part in parts]) for name in ("count", "mean", "m2"))
    )


def total(*parts):
    values = np.concatenate(parts)
    return ExactSums.of_doubles(values, np.zeros(len(values), dtype=np.int64), 1)


def ratio_of(rng, rates):
    """Two strata of 200 rows, all of the first and a quarter of the second with both parts; (estimate, truth)."""
    tops, overs, cross, sampled, truth = [], [], [], [], [0.0, 0.0]
    for rate, level, share in zip(rates, (2.0, 8.0), (1.0, 0.25), strict=True):
        over = 5 + rng.normal(0, 0.5, 200)
        top = level * over + rng.normal(0, 0.5, 200)
        whole, kept = np.arange(200) < 200 * share, rng.random(200) < rate
        truth = [truth[0] + top[whole].sum(), truth[1] + over[whole].sum()]
        x, y = top[whole & kept], over[whole & kept]
        tops.append(x)
        overs.append(y)
        cross.append(((x - x.mean()) * (y - y.mean())).sum())
        sampled.append(kept.sum())
    sums = [total(*tops), total(*overs)]
    stat = WindowPair(column(200, 200), moments(*tops), sums[0], moments(*overs), sums[1], column(*cross))
    measure = MeasureSpec(name="m", agg="ratio", column="top", over="over")
    return plain_answer(window((200, 200), sampled, stat), [measure]).estimates["m"], truth[0] / truth[1]


def test_a_ratio_weighs_strata_by_the_rows_that_have_both_parts():
    rng = np.random.default_rng(4)
    errors = []
    for _ in range(400):
        found, truth = ratio_of(rng, (0.3, 0.6))
        errors.append(found.value[0] / truth - 1)
    assert abs(np.mean(errors)) < 0.01


def test_a_ratio_of_all_rows_is_exact_where_some_lack_a_part():
    found, truth = ratio_of(np.random.default_rng(4), (1.0, 1.0))
    assert found.value[0] == pytest.approx(truth, rel=1e-12)
    assert found.low[0] == found.high[0] == found.value[0]


@pytest.mark.parametrize("agg", ["sum", "avg"])
def test_the_exact_sum_and_mean_of_nothing_but_nulls_are_null_as_in_sql(agg):
    stat = WindowSums(column(0), moments([]), total([]))
    answer = exact_answer(window((3,), (3,), stat), [MeasureSpec(name="m", agg=agg, column="x")], {})
    assert np.isnan(answer.estimates["m"].value).all()
    assert answer.shown.all()
