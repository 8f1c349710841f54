"""Every real slice, ingested as it is, against counts that pandas makes on its own."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pandas.core.groupby import DataFrameGroupBy
from pyspark.sql import SparkSession

from jobs.ingest import ingest
from shedding.answers.slot import answer_slot
from shedding.config import Settings
from shedding.ingest.arrivals import Arrivals
from shedding.planning.slot_plan import by_calendar
from shedding.scan.spark_scans import SlotScan
from shedding.spec import QuerySpec, load_catalog
from shedding.spec.measure import MeasureSpec
from shedding.spec.times import parse_instant
from shedding.tables import Table
from tests.jobs.real_rows import QUERIES, cell

pytestmark = [pytest.mark.spark, pytest.mark.data]

Counts = tuple[int, int, int, int]  # read, kept, excluded, quarantined


def _outside_grid(longitude: pd.Series, latitude: pd.Series) -> int:
    return int(cell(longitude, latitude).isna().sum())


def _debs(files: list[Path]) -> Counts:
    rows = pd.concat(pd.read_csv(file, header=None) for file in files)
    outside = _outside_grid(rows[6], rows[7])
    return len(rows), len(rows) - outside, outside, 0


def _trips(files: list[Path]) -> Counts:
    rows = pd.concat(pd.read_parquet(file) for file in files)
    outside = _outside_grid(rows["pickup_longitude"], rows["pickup_latitude"])
    return len(rows), len(rows) - outside, outside, 0


def _dated(reader: Callable[[Path], pd.DataFrame], column: str, since: str) -> Callable[[list[Path]], Counts]:
    def count(files: list[Path]) -> Counts:
        rows = pd.concat(reader(file) for file in files)
        stray = int((pd.to_datetime(rows[column]) < since).sum())
        return len(rows), len(rows) - stray, 0, stray

    return count


def _google(files: list[Path]) -> Counts:
    rows = pd.concat(pd.read_csv(file, header=None) for file in files)
    before = int((rows[0] == 0).sum())
    return len(rows), len(rows) - before, before, 0


def _text(file: Path) -> str:
    return gzip.decompress(file.read_bytes()).decode()


def _lines(header: int) -> Callable[[list[Path]], Counts]:
    def count(files: list[Path]) -> Counts:
        total = sum(len(_text(file).splitlines()) - header for file in files)
        return total, total, 0, 0

    return count


def _items(files: list[Path]) -> Counts:
    total = sum(len(_text(file).replace(",", " ").split()) for file in files)
    return total, total, 0, 0


def _parquet(files: list[Path]) -> Counts:
    total = sum(len(pd.read_parquet(file)) for file in files)
    return total, total, 0, 0


REAL: dict[str, tuple[str, Callable[[list[Path]], Counts]]] = {
    "debs2015": ("debs2015_*.csv.gz", _debs),
    "flights": ("us_flights_*.parquet", _parquet),
    "google_task_events": ("google2011_*.csv.gz", _google),
    "higgs_activity": ("higgs_*.txt.gz", _lines(0)),
    "packets": ("bellcore_*.TL.gz", _lines(0)),
    "taxi_fares_2013": ("nyc_taxi_fares_*.parquet", _parquet),
    "taxi_trips_2013": ("nyc_taxi_trips_*.parquet", _trips),
    "tlc_green": ("green_*.parquet", _dated(pd.read_parquet, "lpep_pickup_datetime", "2013-08-01")),
    "tlc_yellow": ("yellow_*.csv.gz", _dated(pd.read_csv, "pickup_datetime", "2009-01-01")),
    "transactions": ("*.dat.gz", _items),
    "web_requests": ("nasa_*.tsv.gz", _lines(1)),
}


def test_every_real_file_belongs_to_a_dataset(data_dir: Path) -> None:
    covered = {file for pattern, _ in REAL.values() for file in data_dir.glob(pattern)}
    assert covered == {file for file in data_dir.iterdir() if file.name != "README.md"}


@pytest.mark.parametrize("dataset", sorted(REAL))
def test_real_rows_are_all_accounted_for_and_answered_exactly(
    dataset: str, spark: SparkSession, settings: Settings, data_dir: Path
) -> None:
    pattern, count = REAL[dataset]
    files = sorted(data_dir.glob(pattern))
    catalog = load_catalog(settings.specs)
    settings = settings.model_copy(update={"landing": data_dir})

    report = ingest(spark, settings, catalog, dataset)

    assert (report.read, report.kept, report.excluded, report.quarantined) == count(files)
    assert len(report.sources) == len(files)
    arrivals = Arrivals.load(settings, dataset)
    assert sum(source.kept for source in arrivals.visible) == report.kept
    raw = spark.read.format("delta").load(settings.table("raw", dataset))
    wrong = "u < 0 OR u >= 1 OR u IS NULL OR event_time IS NULL"
    assert tuple(raw.selectExpr("count(*)", f"count_if({wrong})").first() or ()) == (report.kept, 0)

    name, start, rows_of = QUERIES[dataset]
    query, slot = catalog.query(name), parse_instant(start)
    exact = query.model_copy(update={"shed": query.shed.model_copy(update={"policy": "exact", "compare": []})})
    plan, scans = by_calendar(exact, slot), SlotScan(spark, settings, exact)
    answer_slot(settings, catalog, exact, plan, scans).write(settings, "run", 0.0)
    answered = Table(settings.table("results", name)).read().to_pandas()
    rows = pd.concat([rows_of(file) for file in files], ignore_index=True)
    windows = exact.timeline.windows(slot)
    assert sum(_agree(exact, answered, rows, window) for window in windows) == len(answered) > 0


def _agree(query: QuerySpec, answered: pd.DataFrame, rows: pd.DataFrame, window: tuple[int, int]) -> int:
    """Compare one window's answers with a plain group by, to 1e-9; how many keys it has."""
    inside = rows[(rows["time"] >= window[0]) & (rows["time"] < window[1])]
    groups = inside.groupby(_names(query, inside), sort=False)
    mine = answered[answered["window_start"] == pd.Timestamp(window[0] * 1000, tz="UTC")]
    mine = mine.set_index(_names(query, mine))
    assert len(mine) == groups.ngroups
    for measure in query.measures:
        truth = _truth(measure, groups)
        np.testing.assert_allclose(mine[measure.name].reindex(truth.index), truth, rtol=1e-9, err_msg=measure.name)
    return groups.ngroups


def _names(query: QuerySpec, rows: pd.DataFrame) -> pd.Series:
    """Each row's key as one text, a missing part of it empty."""
    names = pd.Series("", index=rows.index, name="key")
    for column in query.group_by:
        names = names + "|" + rows[column].astype(object).where(rows[column].notna(), "").astype(str)
    return names


def _truth(measure: MeasureSpec, groups: DataFrameGroupBy) -> pd.Series:
    if measure.agg == "count":
        return groups.size()
    if measure.agg == "ratio":
        return groups[measure.column].sum() / groups[measure.over].sum()
    return groups[measure.column].agg({"avg": "mean", "sum": "sum"}[measure.agg])
