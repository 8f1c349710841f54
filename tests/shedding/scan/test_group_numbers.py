import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as sf

from shedding.keys import Keys, align
from shedding.panes.from_scan import Scanned
from shedding.rates import Rates
from shedding.scan import group_numbers as groups
from shedding.scan import scan as scan_module
from shedding.scan.rate_table import NUMBER, rate_table
from shedding.scan.scan import scan
from shedding.spec.measure import MeasureSpec
from shedding.spec.timeline import Timeline

NAMES = ("word", "day", "number")
HOUR = 3_600_000_000
MEAN = [MeasureSpec(name="mean", agg="avg", column="value")]
TOUCHES = [MeasureSpec(name="middle", agg="quantile", q=0.5, column="value")]


@pytest.fixture(scope="module")
def rows(spark):
    """Rows on both sides of 1970, over keys of three types with nulls among them."""
    place = sf.col("id")
    return spark.range(0, 3000, 1, 3).select(
        sf.timestamp_micros(place * 7_000_000 - 10_000_000_000).alias("event_time"),
        (sf.pmod(sf.xxhash64("id"), sf.lit(1 << 20)) / float(1 << 20)).alias("u"),
        sf.when(place % 5 != 0, sf.concat(sf.lit("w"), place % 5)).alias("word"),
        sf.when(place % 7 != 0, sf.date_add(sf.lit(dt.date(2024, 1, 1)), (place % 7).cast("int"))).alias("day"),
        (place % 2).cast("int").alias("number"),
        (place % 11).cast("double").alias("value"),
    )


@pytest.fixture(scope="module")
def legs(rows):
    """Two legs with rates for half of the keys, so that the others are unknown."""
    every, _ = align([rows.select(*NAMES).distinct().toArrow()], NAMES)
    half = np.arange(0, len(every), 2)
    known = Keys(NAMES, tuple(every.take(half)[name] for name in NAMES), len(half))
    return [Rates(name, known, np.linspace(low, high, len(half))) for name, low, high in (("a", 0.1, 0.6), ("b", 0, 1))]


@pytest.mark.spark
@pytest.mark.parametrize("measures", [MEAN, TOUCHES], ids=["sums", "values"])
@pytest.mark.parametrize("exact", [True, False])
def test_numbered_groups_are_the_groups_of_pane_key_and_class(spark, rows, legs, measures, exact, monkeypatch):
    def taken() -> list[dict]:
        table = scan(
            spark, rows, timeline=Timeline(HOUR, HOUR, HOUR), keys=NAMES, measures=measures, legs=legs, exact=exact
        )
        return sorted(table.to_pylist(), key=str)

    numbered = taken()
    monkeypatch.setattr(groups, "_LAST_INSTANT", 2**63)  # no numbers fit
    assert taken() == numbered
    assert {row["pane_start"] < 0 for row in numbered} == {True, False}


@pytest.mark.spark
@pytest.mark.parametrize(("share", "scans"), [(1, 1), (2, 2)], ids=["all keys known", "half of them known"])
def test_a_scan_that_takes_all_keys_for_known_finds_the_others_too(spark, rows, share, scans, monkeypatch):
    every, _ = align([rows.select(*NAMES).distinct().toArrow()], NAMES)
    known = every.only(np.arange(len(every)) % share == 0)
    legs = [Rates("leg", known, np.linspace(0.1, 0.9, len(known)))]
    jobs = []
    grouped = scan_module._grouped
    monkeypatch.setattr(scan_module, "_grouped", lambda *given: jobs.append(given) or grouped(*given))

    def taken(counted: bool) -> list[dict]:
        table = scan(
            spark, rows, timeline=Timeline(HOUR, HOUR, HOUR), keys=NAMES, measures=MEAN, legs=legs, exact=True,
            counted=counted,
        )  # fmt: skip
        return sorted(table.to_pylist(), key=str)

    found = taken(counted=True)
    assert len(jobs) == scans
    assert found == taken(counted=False) != []


@pytest.mark.spark
def test_the_driver_sums_few_rows_as_spark_sums_many(spark, rows, legs):
    def panes(few: bool) -> list[dict]:
        table = scan(
            spark, rows, timeline=Timeline(HOUR, HOUR, HOUR), keys=NAMES, measures=MEAN, legs=legs, exact=False, few=few
        )
        made = Scanned(table, NAMES, None).panes(1, MEAN, legs[1])
        return made.table({}).to_pylist()

    assert panes(few=True) == panes(few=False) != []


@pytest.mark.spark
def test_a_key_that_has_no_number_keeps_its_columns(spark, rows, legs):
    found = scan(spark, rows, timeline=Timeline(HOUR, HOUR, HOUR), keys=NAMES, measures=MEAN, legs=legs, exact=True)
    assert len(align([found], NAMES)[0]) == rows.select(*NAMES).distinct().count() > len(legs[0].keys)
    assert sum(found["rows"].to_pylist()) == rows.count()


@pytest.mark.spark
def test_keys_that_have_the_same_values_beside_nulls_have_numbers_of_their_own(spark):
    texts = [("a", None), (None, "a"), (None, None), ("a", "a")]
    rows = spark.createDataFrame([(dt.datetime(2024, 1, 1), 0.5, *pair, 1.0) for pair in texts for _ in range(3)],
                                 "event_time timestamp, u double, one string, two string, value double")  # fmt: skip
    every, _ = align([rows.select("one", "two").distinct().toArrow()], ["one", "two"])
    for known in (every, every.only(np.array([True, True, False, False]))):  # in the order of keys, nulls last
        table = scan(
            spark, rows, timeline=Timeline(HOUR, HOUR, HOUR), keys=["one", "two"], measures=MEAN, exact=True,
            legs=[Rates("leg", known, np.linspace(0.1, 0.9, len(known)))],
        )  # fmt: skip
        found = [((row["one"], row["two"]), row["rows"]) for row in table.select(["one", "two", "rows"]).to_pylist()]
        assert sorted(found, key=str) == sorted([(pair, 3) for pair in texts], key=str)


def test_two_keys_with_one_hash_share_the_larger_rate_and_have_no_number():
    keys = Keys(("key",), (pa.array(["a", "b", "c"]),), 3)
    table = rate_table(np.array([5, 7, 5]), [Rates("leg", keys, np.array([0.1, 0.2, 0.3]))])
    assert table.to_pylist() == [
        {"_hash": 5, NUMBER: None, "_rate0": 0.3},
        {"_hash": 7, NUMBER: 1, "_rate0": 0.2},
    ]
