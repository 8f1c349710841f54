"""Every real slice, ingested as it is, against counts that pandas makes on its own."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from jobs.ingest import ingest
from shedding.arrivals import Arrivals
from shedding.config import Settings
from shedding.spec import load_catalog

pytestmark = [pytest.mark.spark, pytest.mark.data]

Counts = tuple[int, int, int, int]  # read, kept, excluded, quarantined


def _outside_grid(longitude: pd.Series, latitude: pd.Series) -> int:
    east = np.floor((longitude + 74.916578) / 0.005986)
    south = np.floor((41.47718278 - latitude) / 0.004491556)
    return int((~(east.between(0, 299) & south.between(0, 299))).sum())


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
def test_real_rows_are_all_accounted_for(dataset: str, spark: SparkSession, settings: Settings, data_dir: Path) -> None:
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
    assert raw.count() == report.kept
    assert raw.where("u < 0 OR u >= 1 OR u IS NULL OR event_time IS NULL").count() == 0
