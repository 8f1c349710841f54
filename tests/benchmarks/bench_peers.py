"""Sluice beside what else answers the question from the same Parquet files: DuckDB, Spark's window(), Spark's sample().

Mean, 90th percentile and distinct count of the fare by route and 30-minute window, every 10 minutes. DuckDB's mean is
of panes, as Sluice's is, which is the quickest SQL that we know for it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shedding.config import Settings
from shedding.measures import measure_of
from shedding.panes.from_scan import Scanned
from shedding.spec.measure import MeasureSpec
from tests.benchmarks.trips import ROWS, TIMELINE, rates, windows_of, write_apart

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from tests.benchmarks.trip_legs import TripLegs

P90 = MeasureSpec(name="p90_fare", agg="quantile", q=0.9, column="fare")
DISTINCT = MeasureSpec(name="fares", agg="count_distinct", column="fare")
FRACTION = 0.05
_STEP, _PANES = TIMELINE.slide, TIMELINE.size // TIMELINE.slide
_SLOT = "epoch_us(event_time) // {step}"
_MEAN = f"""
    WITH panes AS (SELECT {_SLOT} AS pane, route, sum(fare) AS total, count(*) AS n FROM trips GROUP BY ALL)
    SELECT pane - back AS start, route, sum(total) / sum(n), sum(n) FROM panes, range({_PANES}) AS copies(back)
    GROUP BY ALL
"""
_COPIED = f"""
    SELECT {_SLOT} - back AS start, route, {{value}} FROM trips, range({_PANES}) AS copies(back) GROUP BY ALL
"""


def run(bench: Any, rows: int = ROWS, repetitions: int = 3) -> None:
    """Seconds of each way and question; ratios of each over Sluice's sample, above 1 where the sample is quicker."""
    from shedding.spark.session import start_session
    from tests.benchmarks.trip_legs import TripLegs

    with tempfile.TemporaryDirectory() as directory:
        write_apart(directory, rows)
        spark = start_session(Settings(), "bench peers")
        legs = TripLegs(spark, directory)
        for _ in range(3):
            legs.ranked_leg()
        means = _means(legs, directory)
        times = bench.measure(means, repetitions=repetitions)
        rest = {**_percentiles(legs, directory), **_distinct(legs, directory)}
        times |= bench.measure(rest, repetitions=1, warmup=0)
        for question in ("mean", "p90"):
            sample = times[f"{question}_sluice_5"]
            for label in (label for label in times if label.startswith(question) and not label.endswith("sluice_5")):
                bench.ratio(f"{label}_over_sluice_5", times[label] / sample)
        bench.note(f"{rows:,} rows; percentiles and distinct counts once each; no sample tells a distinct count")
        spark.stop()


def _means(legs: TripLegs, directory: str) -> dict[str, Callable[[], object]]:
    from pyspark.sql import functions as sf

    return {
        "mean_duckdb": lambda: _duckdb(_MEAN, directory),
        "mean_window": legs.window,
        "mean_sample_window": lambda: _windowed(legs.plain.sample(FRACTION, 1), sf.avg("fare")),
        "mean_sluice_exact": legs.exact_by_panes,
        "mean_sluice_5": legs.ranked_leg,
    }


def _percentiles(legs: TripLegs, directory: str) -> dict[str, Callable[[], object]]:
    from pyspark.sql import functions as sf

    p90 = sf.percentile("fare", sf.lit(0.9))
    return {
        "p90_duckdb": lambda: _duckdb(_COPIED.replace("{value}", "quantile_cont(fare, 0.9)"), directory),
        "p90_window": lambda: _windowed(legs.plain, p90),
        "p90_sample_window": lambda: _windowed(legs.plain.sample(FRACTION, 1), p90),
        "p90_sluice_exact": lambda: _whole(legs, P90),
        "p90_sluice_5": lambda: _sampled_p90(legs),
    }


def _distinct(legs: TripLegs, directory: str) -> dict[str, Callable[[], object]]:
    from pyspark.sql import functions as sf

    return {
        "distinct_duckdb": lambda: _duckdb(_COPIED.replace("{value}", "count(DISTINCT fare)"), directory),
        "distinct_window": lambda: _windowed(legs.plain, sf.count_distinct("fare")),
        "distinct_sluice_exact": lambda: _whole(legs, DISTINCT),
    }


def _duckdb(question: str, directory: str) -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE VIEW trips AS SELECT * FROM read_parquet('{Path(directory) / 'plain'}/*.parquet')")
        connection.execute(question.replace("{step}", str(_STEP))).to_arrow_table()


def _windowed(trips: DataFrame, value: Column) -> None:
    from pyspark.sql import functions as sf

    trips.groupBy(sf.window("event_time", "30 minutes", "10 minutes"), "route").agg(value).toArrow()


def _whole(legs: TripLegs, measure: MeasureSpec) -> None:
    from shedding.scan.whole_windows import whole_windows

    whole_windows(legs.plain, TIMELINE.windows(0), TIMELINE, ["route"], [measure])


def _sampled_p90(legs: TripLegs) -> None:
    from shedding.scan.scan import scan

    leg = rates("uniform", legs.keys, legs.population, FRACTION)
    rows = legs.sampled_rows([leg])
    table = scan(legs.spark, rows, timeline=TIMELINE, keys=["route"], measures=[P90], legs=[leg], exact=False)
    for window in windows_of(Scanned(table, ["route"], legs.counted), 0, [P90], leg):
        measure_of(P90).plain(window)
