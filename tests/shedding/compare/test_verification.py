"""Published rows against the exact answer: the numbers of one window and measure, by hand and by law."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shedding.answers.answer import Answer
from shedding.compare.verification import SCHEMA, published_answer, stated_limits, verified_window
from shedding.estimates import Estimate
from shedding.estimates.moments import Moments
from shedding.keys import align
from shedding.panes.states import WindowStat
from shedding.panes.windows import WindowSample
from shedding.spec.gate import GateSpec
from shedding.spec.measure import MeasureSpec

FARE = MeasureSpec(name="fare", agg="avg", column="x")
NEAR_ZERO = MeasureSpec(name="fare", agg="avg", column="x", near_zero=True)
Key = str | None


def exact_of(truth: Mapping[Key, tuple[float, float]]) -> Answer:
    """The exact answer of keys with a value and a number of rows; each row's deviation is 2."""
    keys = align([pa.table({"route": pa.array(list(truth), pa.string())})], ["route"])[0]
    order = keys.table()["route"].to_pylist()
    value = np.array([truth[key][0] for key in order])
    rows = np.array([truth[key][1] for key in order])
    moments = Moments(rows[None], value[None], 4.0 * np.maximum(rows - 1, 0)[None])
    stat = WindowStat(population=rows[None], moments=moments)
    sample = WindowSample(0, 60, keys, True, rows[None], rows[None], np.ones((1, len(rows))), {"fare": stat})
    there, nothing = rows > 0, np.zeros(len(rows), dtype=bool)
    return Answer(sample, {"fare": Estimate.exact(value)}, there, there, nothing, there)


def rows_of(published: Mapping[Key, tuple[float | None, float]]) -> pa.Table:
    """Published rows of keys with a value and the half-width of its interval."""
    value = [v for v, _ in published.values()]
    ends = {
        name: [None if v is None else v + sign * half for v, half in published.values()]
        for name, sign in (("fare_low", -1), ("fare_high", 1))
    }
    columns = {"fare": value, **ends}
    return pa.table({
        "route": pa.array(list(published), pa.string()),
        **{name: pa.array(values, pa.float64()) for name, values in columns.items()},
    })  # fmt: skip


def verified(
    published: Mapping[Key, tuple[float | None, float]], truth: Mapping[Key, tuple[float, float]],
    limits: Mapping[str, float] | None = None, judged: Mapping[str, Any] | None = None, measure: MeasureSpec = FARE,
) -> dict[str, Any]:  # fmt: skip
    exact = exact_of(truth)
    answer = published_answer(rows_of(published), exact, [measure])
    row = verified_window(answer, exact, measure, limits or {}, judged or {})
    assert row is not None
    return row


def test_errors_are_relative_to_the_truth_and_a_missing_key_is_an_error_of_one() -> None:
    row = verified({"a": (11.0, 2.0), None: (20.0, 1.0)}, {"a": (10.0, 5), "b": (4.0, 2), None: (20.0, 1)})
    assert row["mean_truth"] == pytest.approx((0.1 + 1 + 0) / 3)
    assert row["worst_truth"] == 1
    assert row["p95_truth"] == pytest.approx(np.quantile([0.1, 1, 0], 0.95))
    assert (row["keys"], row["missing_keys"], row["is_exact"]) == (3, 1, False)
    assert (row["estimates"], row["covered"]) == (2, 2)


def test_only_estimates_count_in_coverage_and_an_exact_claim_that_is_wrong_is_a_miss() -> None:
    truth = {"a": (10.0, 5.0), "b": (4.0, 2.0), "c": (7.0, 2.0), "d": (3.0, 9.0)}
    row = verified({"a": (11.0, 2.0), "b": (4.0, 0.0), "c": (9.0, 0.0), "d": (5.0, 1.0)}, truth)
    assert (row["estimates"], row["covered"]) == (3, 1)


def test_values_near_zero_are_judged_by_the_spread_of_the_rows() -> None:
    truth = {"a": (1e-9, 50.0), "b": (40.0, 50.0)}
    published = {"a": (0.5, 1.0), "b": (40.0, 1.0)}
    assert verified(published, truth)["worst_truth"] > 1e6
    assert verified(published, truth, measure=NEAR_ZERO)["worst_truth"] == pytest.approx(0.25)


def test_the_gates_estimates_bounds_and_limits_stand_beside_the_truth() -> None:
    judged = {"fare_mean_error": 0.2, "fare_mean_bound": 0.3, "fare_worst_error": np.inf}
    row = verified({"a": (12.0, 1.0)}, {"a": (10.0, 5)}, {"mean": 0.1, "worst": 0.2}, judged)
    assert (row["mean_estimate"], row["mean_bound"], row["mean_limit"], row["mean_over"]) == (0.2, 0.3, 0.1, True)
    assert (row["worst_bound"], row["worst_over"]) == (None, False)  # 0.2 is at its limit, not over it
    assert (row["p95_estimate"], row["p95_limit"], row["p95_over"]) == (None, None, None)


def test_a_limit_that_only_warns_promises_nothing() -> None:
    gate = GateSpec(mean_relative_error=0.1, p95_relative_error=0.2, warn=["p95_relative_error"])
    assert stated_limits(gate) == {"mean": 0.1}


def test_a_window_without_true_keys_has_no_row() -> None:
    exact = exact_of({"a": (1.0, 0.0)})
    assert verified_window(published_answer(rows_of({}), exact, [FARE]), exact, FARE, {}, {}) is None


def test_a_query_without_keys_is_one_row() -> None:
    exact = exact_of({"a": (10.0, 5.0)})
    sample = exact.sample
    single = Answer(
        WindowSample(0, 60, align([], [])[0], True, sample.population, sample.sampled, sample.rate, sample.measures),
        exact.estimates, exact.present, exact.shown, exact.imputed, exact.exact,
    )  # fmt: skip
    row = verified_window(published_answer(rows_of({"x": (11.0, 2.0)}), single, [FARE]), single, FARE, {}, {})
    assert row is not None
    assert (row["mean_truth"], row["missing_keys"]) == (pytest.approx(0.1), 0)


VALUE = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))
TRUTH = st.dictionaries(
    st.sampled_from([*"abcdefgh", None]), st.tuples(VALUE, st.integers(1, 300).map(float)), min_size=1
)
PUBLISHED = st.dictionaries(
    st.sampled_from([*"abcdefghxy", None]), st.tuples(VALUE, st.sampled_from([0.0, 0.5, 100.0]))
)


@given(TRUTH, PUBLISHED, st.randoms())
def test_the_numbers_are_those_of_a_plain_loop_in_any_order_of_rows(
    truth: dict[Key, tuple[float, float]], published: dict[Key, tuple[float, float]], random: Any
) -> None:
    errors, estimates, covered = [], 0, 0
    for key, (true, _) in truth.items():
        if key not in published:
            errors.append(1.0)
            continue
        value, half = published[key]
        errors.append(abs(value - true) / abs(true) if true else float(value != true))
        inside = abs(value - true) <= half + 1e-9 * abs(true)
        estimates += half > 0 or not inside
        covered += inside and half > 0
    row = verified(published, truth, {"mean": 0.1})
    assert row["mean_truth"] == pytest.approx(np.mean(errors))
    assert row["worst_truth"] == pytest.approx(max(errors))
    assert row["p95_truth"] == pytest.approx(np.quantile(errors, 0.95))
    assert row["mean_over"] == (row["mean_truth"] > 0.1)
    assert (row["estimates"], row["missing_keys"]) == (estimates, len(set(truth) - set(published)))
    assert row["covered"] == pytest.approx(covered, abs=0)
    assert row["mean_truth"] <= row["worst_truth"] + 1e-12
    shuffled = dict(random.sample(sorted(published.items(), key=str), len(published)))
    assert verified(shuffled, truth, {"mean": 0.1}) == row


@given(TRUTH, PUBLISHED)
def test_size_classes_add_up_to_the_whole_and_hold_the_keys_of_their_size(
    truth: dict[Key, tuple[float, float]], published: dict[Key, tuple[float, float]]
) -> None:
    row = verified(published, truth)
    keys = np.array(row["size_keys"])
    assert keys.sum() == row["keys"]
    assert sum(row["size_estimates"]) == row["estimates"]
    assert sum(row["size_covered"]) == row["covered"]
    assert np.average(row["size_truth"], weights=keys) == pytest.approx(row["mean_truth"])
    assert np.average(row["size_interval_error"], weights=keys) == pytest.approx(row["interval_error"])
    wanted = sorted({int(np.floor(np.log2(rows))) for _, rows in truth.values()})
    assert row["size_class"] == wanted


@given(TRUTH)
def test_what_is_published_exactly_is_exact_and_over_no_limit(truth: dict[Key, tuple[float, float]]) -> None:
    row = verified({key: (value, 0.0) for key, (value, _) in truth.items()}, truth, {"mean": 1e-9, "worst": 1e-9})
    assert row["is_exact"]
    assert not row["mean_over"]
    assert not row["worst_over"]
    assert row["estimates"] == 0
    assert set(row) <= set(SCHEMA.names)
