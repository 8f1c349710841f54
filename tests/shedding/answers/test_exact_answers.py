"""An exact measure is what its rows add up to: no cut into panes and no order of rows shows in it."""

import math

import numpy as np
import pandas as pd
import pytest

from shedding.errors import DataError
from tests.shedding.answers.test_slot import make_query, run
from tests.shedding.rows_in_memory import HOUR, MINUTE

EXACT = {"policy": "exact", "budget": {"fraction": 1.0}}
VALUES = {
    "a one among zeros": [0.0] * 48 + [1.0],
    "tiny": [1e-15, 2e-15, 1e-300, 5e-324],
    "of many sizes": [1e9, 1e-9, -1e9, 0.1, 0.2, 3e-20] * 7,
    "cents": [round(0.01 * i, 2) for i in range(200)],
    "whole": [2**51 + i for i in range(2)] + [3, 4],
}


def rows_of(values, seed=0):
    rng = np.random.default_rng(seed)
    time = np.sort(rng.integers(0, HOUR, len(values)))
    column = np.array(values) if isinstance(values[0], int) else np.array(values, dtype=np.float64)
    order = rng.permutation(len(values))
    return pd.DataFrame({"time": time, "u": rng.random(len(values)), "key": "k", "value": column[order], "other": 0.5})


@pytest.mark.parametrize("slide", [60, 30, 5])
@pytest.mark.parametrize("name", VALUES)
def test_sum_mean_and_ratio_are_the_nearest_doubles_however_the_window_is_cut(settings, name, slide):
    values = VALUES[name]
    measures = [
        {"name": "total", "agg": "sum", "column": "value", "magnitude": 60},
        {"name": "mean", "agg": "avg", "column": "value", "magnitude": 60},
        {"name": "share", "agg": "ratio", "column": "value", "over": "other", "magnitude": 60},
    ]
    window = {"size": "1 hour", "slide": f"{slide} minutes"}
    found, _ = run(settings, make_query(shed=EXACT, measures=measures, window=window), [0], rows_of(values, slide))
    row = found[found.window_start.astype("int64") == 0].iloc[0]
    total = math.fsum(values)
    assert row.total == row.total_low == row.total_high == total
    assert row["mean"] == total / len(values)
    assert row.share == total / (len(values) / 2)


def test_a_budget_of_all_rows_is_the_exact_leg_to_the_bit(settings):
    measures = [{"name": "total", "agg": "sum", "column": "value"}, {"name": "mean", "agg": "avg", "column": "value"}]
    shed = {"policy": "uniform", "budget": {"fraction": 1.0}}
    rows = rows_of(VALUES["of many sizes"])
    found, _ = run(settings, make_query(shed=shed, measures=measures, audit={"one_in": 1}), [0], rows)
    legs = [found[found.leg == leg][["window_start", "total", "mean"]].to_numpy() for leg in ("uniform", "exact")]
    assert len(legs[0])
    np.testing.assert_array_equal(*legs)


@pytest.mark.parametrize(("agg", "wanted"), [("min", -(2**62) - 1), ("max", 2**53 + 1)])
def test_extremes_of_whole_numbers_are_whole_numbers(settings, agg, wanted):
    measures = [{"name": "m", "agg": agg, "column": "value"}]
    rows = rows_of([2**53 + 1, 2**53, -(2**62) - 1, -(2**62)])
    found, _ = run(settings, make_query(shed=EXACT, measures=measures, window={"size": "1 hour"}), [0], rows)
    assert found[["m", "m_low", "m_high"]].to_numpy().tolist() == [[wanted] * 3]
    assert found.m.dtype == np.int64


@pytest.mark.parametrize(("agg", "wanted"), [("min", -np.inf), ("max", np.inf)])
def test_extremes_may_be_infinite_and_have_no_error(settings, agg, wanted):
    measures = [{"name": "m", "agg": agg, "column": "value"}]
    rows = rows_of([1.0, np.inf, -np.inf, np.nan])
    found, _ = run(settings, make_query(shed=EXACT, measures=measures, window={"size": "1 hour"}), [0], rows)
    assert found[["m", "m_low", "m_high", "m_error"]].to_numpy().tolist() == [[wanted, wanted, wanted, 0.0]]


def test_a_whole_sum_that_no_double_is_is_refused_with_the_remedy(settings):
    measures = [{"name": "total", "agg": "sum", "column": "value", "magnitude": 60}]
    rows = rows_of([2**53, 1])
    with pytest.raises(DataError, match=r"a sum of value is 9007199254740993, .* CAST\(value AS DOUBLE\)"):
        run(settings, make_query(shed=EXACT, measures=measures), [0], rows)
    shed = {"policy": "uniform", "budget": {"fraction": 1.0}}
    found, _ = run(settings, make_query(shed=shed, measures=measures, window={"size": "1 hour"}), [0], rows)
    assert set(found.total) == {2.0**53}  # a sum beside estimates is the nearest double


def test_a_minute_without_rows_says_nothing_of_the_type(settings):
    measures = [{"name": "m", "agg": "max", "column": "value"}]
    rows = rows_of([2**53 + 1, 7]).assign(time=[2 * HOUR, 2 * HOUR + MINUTE])
    query = make_query(shed=EXACT, measures=measures, window={"size": "1 hour"})
    found, _ = run(settings, query, [HOUR, 2 * HOUR], rows)
    assert found.m.tolist() == [2**53 + 1]
