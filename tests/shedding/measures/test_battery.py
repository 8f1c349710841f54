"""Laws that every measure keeps, whatever it computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from shedding.keys import Keys
from shedding.measures import MEASURES, measure_of
from shedding.panes.from_scan import Scanned
from shedding.panes.panes import Panes
from shedding.panes.side_scan import empty_panes
from shedding.panes.windows import PaneRun, WindowSample
from shedding.rates import Rates
from shedding.spec.aggregates import AGGREGATES
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec
from shedding.stretches import Stretches
from tests.shedding.rows_in_memory import HOUR, RowsScans, make_rows, side_of

PARTS: dict[str, dict[str, Any]] = {"quantile": {"q": 0.75}, "ratio": {"over": "other"}, "count": {"column": None}}
KEPT = [name for name, traits in AGGREGATES.items() if traits.state is not None]
MERGED = [name for name in KEPT if not AGGREGATES[name].whole]
SAMPLED = [name for name in KEPT if not AGGREGATES[name].exact_only]


def spec_of(agg: str) -> MeasureSpec:
    return MeasureSpec.model_validate({"name": "m", "agg": agg, "column": "value", **PARTS.get(agg, {})})


def query_of(agg: str, pane: str) -> QuerySpec:
    policy = "exact" if AGGREGATES[spec_of(agg).agg].exact_only else "uniform"
    return QuerySpec.model_validate({
        "name": "q", "dataset": "stream", "window": {"size": "1 hour", "slide": pane}, "group_by": ["key"],
        "measures": [spec_of(agg).model_dump(exclude_none=True, exclude_defaults=True)],
        "schedule": {"every": "1 hour"}, "shed": {"policy": policy, "budget": {"fraction": 0.5}},
    })  # fmt: skip


def rows_of(seed: int = 1) -> pd.DataFrame:
    """An hour of 400 rows, one key of a single row, and a key of nulls alone."""
    rows = make_rows(hours=1, seed=seed)
    rows.loc[rows.index[0], "key"] = "lonely"
    rows.loc[rows.index[1:4], ["key", "value"]] = ["nulls", np.nan]
    return rows


def panes_of(rows: pd.DataFrame, agg: str, pane: str, rate: float | None = None) -> Panes:
    """The panes of all rows, or of those sampled at one rate."""
    query = query_of(agg, pane)
    side = side_of(rows, query)
    keys = Keys(("key",), (pa.array(sorted(rows.key.unique())),), rows.key.nunique())
    legs = [] if rate is None else [Rates("uniform", keys, np.full(len(keys), rate), rate)]
    table = RowsScans(query).panes(side, query.measures, Stretches.of((0, HOUR)), legs, exact=rate is None).table
    scanned = Scanned(table, ["key"], None if rate is None else side.counts(Stretches.of((0, HOUR))))
    return scanned.panes(None if rate is None else 0, query.measures, legs[0] if legs else None)


def window_of(panes: Sequence[Panes], more: Sequence[Keys] = ()) -> WindowSample:
    return PaneRun(panes, ["key"], more).window(0, HOUR)


def same(one: np.ndarray, other: np.ndarray) -> None:
    np.testing.assert_array_equal(one, other)


def test_every_aggregate_has_a_measure() -> None:
    assert set(MEASURES) == set(AGGREGATES)


@pytest.mark.parametrize("agg", SAMPLED)
def test_a_sample_of_all_rows_is_exact_to_the_bit(agg: str) -> None:
    measure = measure_of(spec_of(agg))
    rows = rows_of()
    whole = window_of([panes_of(rows, agg, "1 hour", rate=1.0)])
    by_key = rows.dropna(subset="value").groupby("key")
    wanted = {
        "avg": by_key.value.mean(), "sum": by_key.value.sum(), "quantile": by_key.value.quantile(0.75),
        "ratio": by_key.value.sum() / by_key.other.sum(), "stddev": by_key.value.std(), "variance": by_key.value.var(),
    }[agg].reindex(whole.keys.columns[0].to_pylist())  # fmt: skip
    np.testing.assert_allclose(measure.exact(whole), wanted.to_numpy(), rtol=1e-14)
    estimate = measure.plain(whole)
    there = ~np.isnan(wanted.to_numpy())
    np.testing.assert_allclose(estimate.value[there], wanted.to_numpy()[there], rtol=1e-12)
    assert (estimate.deviation[there] <= 1e-9 * np.abs(wanted.to_numpy()[there])).all()


@pytest.mark.parametrize("agg", MERGED)
def test_panes_of_any_width_give_the_same_exact_bits(agg: str) -> None:
    measure, rows = measure_of(spec_of(agg)), rows_of()
    answers = [measure.exact(window_of([panes_of(rows, agg, pane)])) for pane in ("1 hour", "30 minutes", "5 minutes")]
    same(answers[0], answers[1])
    same(answers[0], answers[2])


@pytest.mark.parametrize("agg", MERGED)
def test_slots_merge_in_any_order_to_what_their_union_is(agg: str) -> None:
    measure, rows = measure_of(spec_of(agg)), rows_of()
    halves = [panes_of(part, agg, "5 minutes") for part in (rows.iloc[:150], rows.iloc[150:])]
    union = window_of([panes_of(rows, agg, "5 minutes")])
    for parts in (halves, halves[::-1]):
        same(measure.exact(window_of(parts)), measure.exact(union))


@pytest.mark.parametrize("agg", KEPT)
def test_a_slot_without_rows_changes_nothing(agg: str) -> None:
    measure, rows = measure_of(spec_of(agg)), rows_of()
    rate = 1.0 if agg in SAMPLED else None
    alone = panes_of(rows, agg, "5 minutes", rate)
    query = query_of(agg, "5 minutes")
    side = side_of(rows, query)
    empty = empty_panes(side, query.measures)
    same(measure.exact(window_of([alone, empty])), measure.exact(window_of([alone])))


@pytest.mark.parametrize("agg", KEPT)
def test_what_is_written_and_read_again_has_the_same_bits(agg: str) -> None:
    measure, rows = measure_of(spec_of(agg)), rows_of()
    panes = panes_of(rows, agg, "5 minutes", 1.0 if agg in SAMPLED else None)
    again = Panes.of_table(panes.table({}), ["key"], [measure.spec])
    same(measure.exact(window_of([again])), measure.exact(window_of([panes])))


@pytest.mark.parametrize("agg", KEPT)
def test_a_pane_that_is_read_has_every_bit_of_the_one_written(agg: str) -> None:
    panes = panes_of(rows_of(), agg, "5 minutes", 0.5 if agg in SAMPLED else None)
    again = Panes.of_table(panes.table({}), ["key"], [spec_of(agg)])
    assert again.table({}).to_pylist() == panes.table({}).to_pylist()


@pytest.mark.parametrize("agg", SAMPLED)
def test_samples_merge_alike_in_any_order_and_however_they_are_cut(agg: str) -> None:
    measure, rows = measure_of(spec_of(agg)), rows_of()
    thirds = [panes_of(rows[rows.index % 3 == part], agg, "5 minutes", 0.6) for part in range(3)]
    known = [panes.keys for panes in thirds]
    cuts = [window_of([panes_of(rows, agg, pane, 0.6)]) for pane in ("1 hour", "5 minutes")]
    orders = [window_of([thirds[at] for at in order], known) for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0])]
    for first, *others in (cuts, orders):
        for other in others:
            np.testing.assert_allclose(measure.plain(other).value, measure.plain(first).value, rtol=1e-12)
    deviations = [measure.plain(cut).deviation for cut in cuts]
    np.testing.assert_allclose(deviations[1], deviations[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("agg", SAMPLED)
def test_a_sample_is_the_rows_below_its_rate_and_part_of_every_larger_one(agg: str) -> None:
    rows, measure = rows_of(), measure_of(spec_of(agg))
    small, large = (window_of([panes_of(rows, agg, "5 minutes", rate)]) for rate in (0.2, 0.5))
    assert (small.measures["m"].moments.count <= large.measures["m"].moments.count).all()
    alone = window_of([panes_of(rows[rows.u < 0.2], agg, "5 minutes", 1.0)], [small.keys])
    assert alone.keys.columns[0].equals(small.keys.columns[0])
    same(measure.exact(small), measure.exact(alone))


COLUMNS: dict[str, Callable[[pd.Series], pd.Series]] = {
    "cents": lambda value: value,
    "wholes": lambda value: (value.fillna(0) * 100).astype("int64"),
    "large wholes": lambda value: (value.fillna(0) * 100).astype("int64") + 2**55 + 1,
    "times": lambda value: value / 1000 + 1.7e9,
    "tiny": lambda value: value * 1e-15,
    "nearly nothing": lambda value: value * 1e-300,
    "large": lambda value: value * 1e12,
}
"""Columns that are hard to sum: whole numbers, large beside their spread, too small or too large for the short way."""


@pytest.mark.spark
@pytest.mark.parametrize("kind", COLUMNS)
def test_spark_sums_rows_to_the_same_bits_as_numpy(spark: Any, kind: str) -> None:
    from pyspark.sql import functions as sf

    from shedding.scan.scan import scan

    rows = rows_of().assign(value=lambda frame: COLUMNS[kind](frame.value))
    measures = [spec_of(agg).model_copy(update={"name": agg, "magnitude": 60}) for agg in KEPT]
    query = query_of("avg", "20 minutes")
    keys = Keys(("key",), (pa.array(sorted(rows.key.unique())),), rows.key.nunique())
    legs = [Rates("uniform", keys, np.full(len(keys), 0.4), 0.4)]
    frame = spark.createDataFrame(rows.astype({"time": "int64"})).repartition(3)
    frame = frame.withColumn("event_time", sf.timestamp_micros("time"))
    mine = RowsScans(query).panes(side_of(rows, query), measures, Stretches.of((0, HOUR)), legs, exact=True).table
    for exact, bits in ((True, (None, 0)), (False, (0,))):
        found = scan(spark, frame, timeline=query.timeline, keys=["key"], measures=measures, legs=legs, exact=exact)
        for bit in bits:
            leg = None if bit is None else legs[0]
            tables = [Scanned(table, ["key"], None).panes(bit, measures, leg).table({}) for table in (found, mine)]
            assert repr(tables[0].to_pylist()) == repr(tables[1].to_pylist())


@pytest.mark.parametrize("agg", SAMPLED)
def test_intervals_of_samples_hold_the_truth(agg: str) -> None:
    measure, held = measure_of(spec_of(agg)), []
    rng = np.random.default_rng(5)
    for seed in range(30):
        rows = rows_of(seed).assign(u=rng.random(400))
        truth = measure.exact(window_of([panes_of(rows, agg, "1 hour", rate=1.0)]))
        sample = window_of([panes_of(rows, agg, "1 hour", rate=0.4)])
        estimate = measure.plain(sample)
        tested = (sample.sampled_rows >= 8) & (estimate.deviation > 0)
        held += list(((estimate.low <= truth) & (truth <= estimate.high))[tested])
    assert np.mean(held) > 0.9


@pytest.mark.parametrize("agg", [name for name in AGGREGATES if AGGREGATES[name].exact_only])
def test_what_no_sample_tells_is_refused_with_the_remedy(agg: str) -> None:
    from shedding.errors import DataError

    rows = rows_of()
    window = window_of([panes_of(rows, "avg", "1 hour")])
    with pytest.raises(DataError, match="policy: exact"):
        measure_of(spec_of(agg)).plain(window)
