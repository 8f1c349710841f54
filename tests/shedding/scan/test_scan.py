import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import functions as sf

from shedding.errors import DataError
from shedding.panes.from_scan import Scanned
from shedding.spec.measure import MeasureSpec
from tests.shedding.scan.scanned_rows import MEASURES, TIMELINE, digest, raw_rows, scanned

pytestmark = pytest.mark.spark
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def panes(spark):
    return scanned(spark, 4)


def test_panes_are_the_same_bits_on_any_partitioning(spark, panes):
    assert digest(scanned(spark, 1)) == digest(panes)
    assert digest(scanned(spark, 9)) == digest(panes)


def test_panes_are_the_same_bits_on_one_core(panes):
    command = [sys.executable, "-m", "tests.shedding.scan.scanned_rows", "local[1]", "3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip().splitlines()[-1] == digest(panes)


def test_a_leg_alone_is_the_leg_beside_others(spark, panes):
    from shedding.keys import align
    from shedding.scan.scan import scan
    from tests.shedding.scan.scanned_rows import rates

    names = ("key", "zone")
    rows = raw_rows(spark, 2)
    keys, _ = align([rows.select(*names).distinct().toArrow()], names)
    leg = rates(keys, names, 0.2)[1]
    table = scan(spark, rows, timeline=TIMELINE, keys=names, measures=MEASURES, legs=[leg], exact=False)
    alone = Scanned(table, names, None).panes(0, MEASURES, leg).table({"slot": "s"})
    assert digest({"leg": alone}) == digest({"leg": panes["varying"]})


def test_a_smaller_budget_keeps_a_part_of_what_a_larger_one_keeps(spark, panes):
    small = scanned(spark, 4, fraction=0.1)
    for leg in ("uniform", "varying"):
        few, many = small[leg].to_pandas(), panes[leg].to_pandas()
        both = few.merge(many, on=["pane_start", "key", "zone"], how="left", suffixes=("", "_more"))
        assert (both.sampled <= both.sampled_more).all()
        for fewer, more in zip(both.middle_values, both.middle_values_more, strict=True):
            assert set(fewer) <= set(more)
        assert few.sampled.sum() < many.sampled.sum()


def test_the_exact_leg_is_sparks_own_group_by(spark, panes):
    pane = sf.unix_micros("event_time") - sf.pmod(sf.unix_micros("event_time"), sf.lit(TIMELINE.pane))
    native = (
        raw_rows(spark, 3)
        .groupBy(pane.alias("pane"), "key", "zone")
        .agg(sf.count("*").alias("rows"), sf.count("fare").alias("n"), sf.avg("fare").alias("mean"),
             sf.var_pop("fare").alias("variance"))
        .toPandas()
    )  # fmt: skip
    mine = panes["exact"].to_pandas()
    mine["pane"] = mine.pane_start.astype("int64") // (1000 if mine.pane_start.dtype.unit == "ns" else 1)
    both = mine.merge(native, on=["pane", "key", "zone"], how="outer")
    assert len(both) == len(mine) == len(native)
    assert (both.sampled == both.rows).all()
    assert (both.mean_n == both.n).all()
    some = both[both.n > 0]
    np.testing.assert_allclose(some.mean_mean, some["mean"], rtol=1e-12)
    np.testing.assert_allclose(some.mean_m2 / some.n, some.variance, rtol=1e-9, atol=1e-9)


def test_a_value_beyond_the_declared_magnitude_is_refused_with_the_remedy(spark):
    from shedding.scan.scan import scan

    small = [MeasureSpec(name="mean", agg="avg", column="fare", magnitude=3)]
    with pytest.raises(DataError, match=r"fare holds .*magnitude"):
        scan(spark, raw_rows(spark, 1), timeline=TIMELINE, keys=["key"], measures=small, legs=[], exact=True)


def test_the_long_way_of_summing_gives_the_same_bits(spark, panes, monkeypatch):
    from shedding.scan import scan as module

    monkeypatch.setattr(module, "fits", lambda *_: False)
    assert digest(scanned(spark, 2)) == digest(panes)


@pytest.mark.parametrize(
    ("offset", "scale"), [(0.0, 0.003), (1e6, 1.0), (1e9, 1.0), (-3e11, 7.0), (0.0, 1e-15), (0.0, -1e-306)]
)
def test_small_and_large_values_are_summed_to_the_nearest_double(spark, offset, scale):
    from shedding.scan.scan import scan

    rows = raw_rows(spark, 3).withColumn("fare", sf.col("fare") * sf.lit(scale) + sf.lit(offset))
    mean = [MeasureSpec(name="mean", agg="avg", column="fare")]
    table = scan(spark, rows, timeline=TIMELINE, keys=["zone"], measures=mean, legs=[], exact=True)
    found = Scanned(table, ["zone"], None).panes(None, mean, None)
    truth = rows.toPandas().dropna(subset="fare")
    micros = truth.event_time.astype("datetime64[us]").astype("int64")
    groups = truth.fare.groupby([micros // TIMELINE.pane * TIMELINE.pane, truth.zone])
    moments = found.measures["mean"].moments
    assert moments.count.tolist() == groups.size().tolist()
    assert found.measures["mean"].total.rounded().tolist() == groups.agg(math.fsum).tolist()
    if offset < 1e9 and offset >= 0 and abs(scale) > 1e-6:  # beyond, a square's own rounding is larger than the spread
        np.testing.assert_allclose(moments.m2, groups.var(ddof=0) * groups.size(), rtol=1e-9 if not offset else 1e-4)


@pytest.mark.parametrize("offset", [0, 2**50, -(2**61)])
def test_whole_numbers_are_summed_and_compared_as_such(spark, offset):
    from shedding.scan.scan import scan

    number = sf.when(sf.col("id") % 7 != 0, sf.col("id") * 3 + sf.lit(offset))
    rows = spark.range(1000).select(
        sf.timestamp_micros(sf.col("id") % 20).alias("event_time"), sf.lit(0.5).alias("u"), number.alias("n"),
        (sf.col("id") % 4).alias("key"),
    )  # fmt: skip
    measures = [MeasureSpec(name=agg, agg=agg, column="n", magnitude=62) for agg in ("sum", "min", "max")]
    table = scan(spark, rows, timeline=TIMELINE, keys=["key"], measures=measures, legs=[], exact=True)
    found = Scanned(table, ["key"], None).panes(None, measures, None)
    mine = {(pane, key): [i * 3 + offset for i in range(1000) if i % 20 // 10 == pane and i % 4 == key and i % 7]
            for pane in (0, 1) for key in range(4)}  # fmt: skip
    sums = [sum(map(int, terms)) for terms in found.measures["sum"].total.lists().to_pylist()]
    assert sums == [sum(numbers) for numbers in mine.values()]
    assert found.measures["min"].extreme.tolist() == [min(numbers) for numbers in mine.values()]
    assert found.measures["max"].extreme.tolist() == [max(numbers) for numbers in mine.values()]


def test_extremes_may_be_infinite_and_are_never_nan(spark):
    from shedding.scan.scan import scan

    values = [(0, -0.0), (0, 0.0), (1, float("inf")), (1, 1.0), (2, float("nan")), (2, float("-inf")), (3, None)]
    rows = spark.createDataFrame(values, "key int, x double").select(
        "key", "x", sf.timestamp_micros(sf.lit(0)).alias("event_time"), sf.lit(0.5).alias("u")
    )
    measures = [MeasureSpec(name=agg, agg=agg, column="x") for agg in ("min", "max")]
    table = scan(spark, rows, timeline=TIMELINE, keys=["key"], measures=measures, legs=[], exact=True)
    found = Scanned(table, ["key"], None).panes(None, measures, None).table({})
    assert repr(found["min_float64_extreme"].to_pylist()) == "[0.0, 1.0, -inf, None]"
    assert repr(found["max_float64_extreme"].to_pylist()) == "[0.0, inf, -inf, None]"


def test_an_infinite_value_is_refused(spark):
    from shedding.scan.scan import scan

    rows = raw_rows(spark, 1).withColumn("fare", sf.when(sf.col("fare") > 50, float("inf")).otherwise(sf.col("fare")))
    mean = [MeasureSpec(name="mean", agg="avg", column="fare")]
    with pytest.raises(DataError, match="fare holds inf"):
        scan(spark, rows, timeline=TIMELINE, keys=["key"], measures=mean, legs=[], exact=True)


def test_whole_windows_are_sparks_sliding_window(spark):
    from shedding.scan.whole_windows import whole_windows

    measures = [
        MeasureSpec(name="middle", agg="quantile", q=0.5, column="fare"),
        MeasureSpec(name="zones", agg="count_distinct", column="zone"),
    ]
    windows = [(0, 30), (10, 40), (20, 50)]
    mine = whole_windows(raw_rows(spark, 2), windows, TIMELINE, ["key"], measures).to_pandas()
    sliding = sf.window("event_time", "30 microseconds", "10 microseconds")
    native = (
        raw_rows(spark, 2)
        .groupBy(sliding, "key")
        .agg(sf.percentile("fare", sf.lit(0.5)).alias("expected"), sf.count_distinct("zone").alias("expected_zones"))
        .select(sf.unix_micros("window.start").alias("window_start"), "key", "expected", "expected_zones")
        .where(sf.col("window_start").isin([0, 10, 20]))
        .toPandas()
    )
    both = mine.merge(native, on=["window_start", "key"], how="outer")
    assert len(both) == len(mine) == len(native)
    np.testing.assert_allclose(both.middle, both.expected)
    np.testing.assert_array_equal(both.zones, both.expected_zones)


def test_a_ratio_and_a_column_of_a_like_name_are_two_things(spark):
    from shedding.scan.scan import scan

    rows = spark.createDataFrame([(0, 0.5, 8.0, 2.0, 3.0)], "at long, u double, a double, b double, a_over_b double")
    rows = rows.select(sf.timestamp_micros("at").alias("event_time"), "u", "a", "b", "a_over_b")
    measures = [
        MeasureSpec(name="share", agg="ratio", column="a", over="b"),
        MeasureSpec(name="mean", agg="avg", column="a_over_b"),
    ]
    table = scan(spark, rows, timeline=TIMELINE, keys=[], measures=measures, legs=[], exact=True)
    stats = Scanned(table, [], None).panes(None, measures, None).measures
    assert stats["share"].moments.mean.tolist() == [8.0]
    assert stats["mean"].moments.mean.tolist() == [3.0]
