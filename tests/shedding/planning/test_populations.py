"""What a concept holds of each measure and key: units of absolute errors, the doubt of uncounted rows, weights."""

import numpy as np
import pyarrow as pa
import pytest

from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept
from shedding.estimates.moments import Moments
from shedding.estimates.shrinkage import History
from shedding.keys import Keys
from shedding.planning.populations import Populations, _counted_spread, _spread, key_weights
from shedding.policies import get_policy
from shedding.spec.measure import MeasureSpec
from shedding.spec.weights import WeightsSpec
from tests.oracles.coefficients import count_relative, sum_variance

ROWS = np.array([10.0, 1000.0])


def prior(mean, near_zero=False):
    """Two keys of 10 and 1,000 rows with a deviation of 2 and a known mean, seen by one audit."""
    moments = Moments(ROWS[None], np.full((1, 2), mean), 4 * (ROWS - 1)[None])
    return History.of(moments, near_zero=near_zero).prior(ROWS)


def concept(agg, of=None, known=True, **options):
    measure = MeasureSpec(name="m", agg=agg, column="x")
    found = _spread(measure, of or prior(10.0), ROWS, known)
    return Concept.grouped(ROWS, known=known, cv=found.cv, scale=found.scale, **options)


def test_the_variance_of_a_total_asks_for_rows_by_the_keys_sizes():
    got = get_policy("optimal", goal="variance").allocate(concept("sum"), Budget(rows=60))
    assert (got.rates * ROWS).tolist() == pytest.approx([0.6, 59.4], rel=0.02)
    spent = sum(sum_variance(n, 10.0, 2.0) * (1 / r - 1) for n, r in zip(ROWS, got.rates, strict=True))
    assert spent == pytest.approx(63_967, rel=0.01)


def test_the_variance_of_a_mean_does_not():
    got = get_policy("optimal", goal="variance").allocate(concept("avg"), Budget(rows=12))
    assert (got.rates * ROWS).tolist() == pytest.approx([6, 6], rel=0.02)


@pytest.mark.parametrize("mean", [0.0, 0.3, 10.0])
def test_absolute_errors_near_zero_are_relative_to_what_cv_is(mean):
    found = _spread(MeasureSpec(name="m", agg="avg", column="x"), prior(mean, near_zero=True), ROWS, True)
    np.testing.assert_allclose(found.cv * found.scale, 2.0, rtol=0.02)


def test_a_total_of_rows_that_nobody_counted_also_varies_by_their_number():
    found = _spread(MeasureSpec(name="m", agg="sum", column="x"), prior(10.0), ROWS, False)
    b = np.square(found.cv * found.scale) / ROWS
    np.testing.assert_allclose(b, sum_variance(ROWS, 10.0, 2.0, known=False), rtol=0.02)


def test_a_count_that_nobody_made_has_the_error_of_eq_3():
    found = _counted_spread(ROWS)
    np.testing.assert_allclose(np.square(found.cv * found.scale) / ROWS / ROWS, count_relative(ROWS))


def populations(windows=(1.0, 1.0, 4.0)):
    keys = Keys(("zone", "kind"), (pa.array([7, 132, 132]), pa.array(["a", "a", None])), 3)
    rows = np.array([4.0, 100.0, 400.0])
    return Populations(keys, rows, np.array(windows), float(rows.sum()), 0.0, np.full(3, np.nan)), rows / windows


@pytest.mark.parametrize(
    ("weights", "wanted"),
    [
        ({}, [1, 1, 4]),
        ({"size": 0.5}, [2, 10, 40]),
        ({"keys": [{"zone": 132, "weight": 10}]}, [1, 10, 40]),
        ({"default": 2, "keys": [{"zone": "132", "kind": "a", "weight": 10}, {"kind": None, "weight": 0}]}, [2, 10, 0]),
        ({"default": 0, "keys": [{"zone": 9, "weight": 1}]}, [1, 1, 4]),
    ],
    ids=["alike", "by size", "a zone", "two columns", "none of them here"],
)
def test_a_key_counts_once_a_window_by_its_own_weight_and_its_size(weights, wanted):
    here, rows = populations()
    assert key_weights(WeightsSpec.model_validate(weights), here, rows).tolist() == pytest.approx(wanted)
