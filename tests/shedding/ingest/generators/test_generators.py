"""Generated rows: a function of specification and interval, with the knobs doing what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from shedding.errors import SourceError
from shedding.ingest.generators import generate
from shedding.spec import load_catalog
from shedding.spec.dataset import GeneratorSource
from shedding.spec.times import format_instant, parse_instant

pytestmark = pytest.mark.spark

MINUTE = 60_000_000
START = parse_instant("2024-03-04T00:00:00Z")  # a Monday
KEYS = {"taxi": "route", "cluster": "user_id", "packets": "size", "transactions": "item", "reviews": "product"}


def made(generator: str = "taxi", rows: int = 6000, **knobs: Any) -> GeneratorSource:
    return GeneratorSource(kind="generator", generator=generator, rows_per_hour=rows, seed=3, parameters=knobs)  # type: ignore[arg-type]


def digest(spark: SparkSession, source: GeneratorSource, *intervals: tuple[int, int]) -> tuple[int, int]:
    """Rows, and a sum of their hashes that does not depend on their order."""
    count, total = 0, 0
    for start, end in intervals:
        rows = generate(spark, source, start, end)
        hashed = rows.select(fn.xxhash64(*rows.columns).cast("decimal(38,0)").alias("h"))
        row = hashed.agg(fn.count("*").alias("n"), fn.coalesce(fn.sum("h"), fn.lit(0)).alias("h")).collect()[0]
        count, total = count + row["n"], total + int(row["h"])
    return count, total


@pytest.mark.parametrize("generator", sorted(KEYS))
def test_the_rows_of_two_intervals_are_the_rows_of_their_union(spark: SparkSession, generator: str) -> None:
    source = made(generator, churn=0.3, lifetime="7 minutes")
    end, middle = START + 20 * MINUTE, START + 7 * MINUTE
    whole = digest(spark, source, (START, end))
    assert whole == digest(spark, source, (START, middle), (middle, end))
    assert whole[0] == pytest.approx(2000, rel=0.15)
    made_columns = [name for name in generate(spark, source, START, end).columns if not name.startswith("_")]
    assert tuple(made_columns) == source.made
    assert whole != digest(spark, source.model_copy(update={"seed": 4}), (START, end))


def test_parts_of_minutes_are_refused(spark: SparkSession) -> None:
    with pytest.raises(SourceError, match="whole minutes"):
        generate(spark, made(), START, START + 1)


def test_bursts_shifts_and_churn_change_rows_values_and_keys(spark: SparkSession) -> None:
    burst = {"at": format_instant(START + 10 * MINUTE), "lasts": "5 minutes", "factor": 4, "key": 7}
    shift = {"at": format_instant(START + 30 * MINUTE), "factor": 3.0, "rotate": 10}
    source = made(keys=50, noise=0.0, bursts=[burst], shifts=[shift], churn=1.0, lifetime="40 minutes")
    rows = generate(spark, source, START, START + 60 * MINUTE)
    minute = (fn.col("_minute") - START // MINUTE).alias("minute")
    found = rows.select(minute, "route", "fare_amount").toPandas()
    per_minute = found.groupby("minute").size()
    assert per_minute.loc[10:14].mean() == pytest.approx(4 * per_minute.loc[0:9].mean(), rel=0.05)
    busy = found[found.minute.between(10, 14)].route.value_counts(normalize=True)
    assert busy.iloc[0] > 0.7
    early, late = found[found.minute < 10], found[found.minute >= 30]
    assert late.fare_amount.mean() == pytest.approx(3 * early.fare_amount.mean(), rel=0.25)
    born = set(found[found.minute >= 50].route) - set(early.route)
    assert len(born) > 5
    assert len(set(early.route) - set(found[found.minute >= 50].route)) > 5


def test_day_and_week_have_their_rhythm(spark: SparkSession) -> None:
    hours = [0.0] * 12 + [2.0] * 12
    days = [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0]
    day = 24 * 60 * MINUTE
    rows = generate(spark, made(rows=600, hours=hours, days=days), START, START + 7 * day)
    hour = fn.floor(fn.col("_minute") / 60).alias("hour")
    counts = rows.groupBy(hour).count().toPandas().set_index("hour")["count"]
    counts.index -= START // MINUTE // 60
    assert counts.reindex(range(1, 11)).isna().all()
    monday, saturday = counts.loc[12:23].sum(), counts.loc[5 * 24 + 12 : 5 * 24 + 23].sum()
    assert saturday == pytest.approx(2 * monday, rel=0.1)


def real_counts(data: Path) -> dict[str, tuple[pd.Series, float]]:
    """Rows per key of the real slices, and their rows an hour."""
    import gzip

    google = pd.read_csv(data / "google2011_task_events_part-00000-of-00500.csv.gz", header=None)
    google = google[google[0] > 0]
    packets = pd.read_csv(data / "bellcore_BC-pAug89_packets_000001-070000.TL.gz", header=None, sep=r"\s+")
    items = gzip.decompress((data / "kosarak_tx000001-024000.dat.gz").read_bytes()).decode().split()
    trips = pd.read_parquet(data / "nyc_taxi_trips_2013-02-01_to_02-04.parquet")
    cells = [
        np.floor((trips[f"{end}_longitude"] + 74.916578) / 0.005986) * 300
        + np.floor((41.47718278 - trips[f"{end}_latitude"]) / 0.004491556)
        for end in ("pickup", "dropoff")
    ]
    inside = pd.concat([cell.between(0, 90_000) for cell in cells], axis=1).all(axis=1)
    span = pd.to_datetime(trips.pickup_datetime)
    hours = (span.max() - span.min()).total_seconds() / 3600
    return {
        "cluster_tasks": (google[6].value_counts(), len(google) / ((google[0].max() - 600e6) / 3600e6)),
        "network_packets": (packets[1].value_counts(), len(packets) / (packets[0].max() / 3600)),
        "baskets": (pd.Series(items).value_counts(), 8 * 3600.0),
        "taxi_overload": ((cells[0] * 90_000 + cells[1])[inside].value_counts(), inside.sum() / hours),
    }


@pytest.mark.data
def test_generators_have_the_skew_and_rate_of_the_real_slices(spark: SparkSession, data_dir: Path) -> None:
    """Tolerance: top-1 share 0.05, top-10 share 0.04, keys seen 15 %, share of keys seen once 0.15, rate 10 %."""
    datasets = load_catalog(Path("jobs")).datasets
    for name, (real, rate) in real_counts(data_dir).items():
        source = datasets[name].source
        assert isinstance(source, GeneratorSource)
        calm = source.model_copy(update={"parameters": source.parameters | {"bursts": []}})
        hours = real.sum() / source.rows_per_hour
        end = START + round(hours * 60) * MINUTE
        key = KEYS[source.generator]
        found = generate(spark, calm, START, end).groupBy(key).count().toPandas()["count"].sort_values(ascending=False)
        rows = found.sum()
        assert source.rows_per_hour == pytest.approx(rate, rel=0.1), name
        assert rows == pytest.approx(real.sum(), rel=0.1), name
        assert found.iloc[0] / rows == pytest.approx(real.iloc[0] / real.sum(), abs=0.05), name
        assert found.iloc[:10].sum() / rows == pytest.approx(real.iloc[:10].sum() / real.sum(), abs=0.04), name
        assert len(found) == pytest.approx(len(real), rel=0.15), name
        assert (found == 1).mean() == pytest.approx((real == 1).mean(), abs=0.15), name
