"""The streams of the measures' table: window, key, value and a second value of each row of the real slices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Columns = tuple[pd.Series, pd.Series, pd.Series, pd.Series]


@dataclass(frozen=True)
class MeasureStream:
    """Consecutive windows of rows, sorted by window; `over` is the denominator of ratios."""

    name: str
    window: NDArray[np.int64]
    key: NDArray[np.int64]
    value: NDArray[np.float64]
    over: NDArray[np.float64]


def measure_stream(name: str, data: Path) -> MeasureStream:
    """One stream of the table."""
    window, key, value, over = MEASURE_STREAMS[name](data)
    windows = pd.factorize(window, sort=True)[0].astype(np.int64)
    keys = pd.factorize(key, sort=True)[0].astype(np.int64)
    order = np.argsort(windows, kind="stable")
    parts = (value.to_numpy(np.float64), over.to_numpy(np.float64))
    return MeasureStream(name, windows[order], keys[order], *(part[order] for part in parts))


def _flights(key: str, width: str) -> Callable[[Path], Columns]:
    def load(data: Path) -> Columns:
        rows = pd.read_parquet(data / "us_flights_2001-01-02.parquet")
        return rows["date"].dt.floor(width), rows[key], rows["delay"] + 60.0, rows["distance"].astype(float)

    return load


def _taxi(key: str, width: str) -> Callable[[Path], Columns]:
    def load(data: Path) -> Columns:
        columns = ["pickup_datetime", "trip_time_in_secs", "trip_distance", "pickup_longitude", "pickup_latitude"]
        rows = pd.read_parquet(data / "nyc_taxi_trips_2013-02-01_to_02-04.parquet", columns=[*columns, "vendor_id"])
        east = np.floor((rows["pickup_longitude"] + 74.916578) / 0.005986)
        south = np.floor((41.47718278 - rows["pickup_latitude"]) / 0.004491556)
        kept = east.between(0, 299) & south.between(0, 299) & (rows["trip_time_in_secs"] > 0)
        rows = rows.assign(cell=east * 300 + south)[kept]
        window = pd.to_datetime(rows["pickup_datetime"]).dt.floor(width)
        return window, rows[key], rows["trip_time_in_secs"], rows["trip_distance"] + 0.1

    return load


def _fares(key: str, width: str) -> Callable[[Path], Columns]:
    def load(data: Path) -> Columns:
        columns = ["pickup_datetime", "medallion", "vendor_id", "payment_type", "fare_amount", "tip_amount"]
        rows = pd.read_parquet(data / "nyc_taxi_fares_2013-01-01_to_01-04.parquet", columns=columns)
        rows = rows.assign(kind=rows["vendor_id"] + rows["payment_type"])
        window = pd.to_datetime(rows["pickup_datetime"]).dt.floor(width)
        return window, rows[key], rows["fare_amount"], rows["tip_amount"] + 1.0

    return load


def _green(width: str) -> Callable[[Path], Columns]:
    def load(data: Path) -> Columns:
        columns = ["lpep_pickup_datetime", "PULocationID", "fare_amount", "trip_distance"]
        months = [pd.read_parquet(data / f"green_tripdata_2022-0{m}.parquet", columns=columns) for m in (1, 2, 3)]
        rows = pd.concat(months, ignore_index=True)
        time = rows["lpep_pickup_datetime"]
        rows = rows[(time >= "2022-01-01") & (time < "2022-04-01") & (rows["fare_amount"] > 0)]
        return (rows["lpep_pickup_datetime"].dt.floor(width), rows["PULocationID"], rows["fare_amount"],
                rows["trip_distance"].clip(0.1, 100.0))  # fmt: skip

    return load


def _yellow(data: Path) -> Columns:
    rows = pd.read_csv(data / "yellow_tripdata_sample_2019.csv.gz")
    time = pd.to_datetime(rows["pickup_datetime"])
    kept = (time >= "2019-01-01") & (time < "2020-01-01") & (rows["fare_amount"] > 0)
    rows = rows[kept]
    return time[kept].dt.floor("7D"), rows["pickup_location_id"], rows["tip_amount"].clip(0.0), rows["fare_amount"]


def _google(part: str, seconds: int) -> Callable[[Path], Columns]:
    def load(data: Path) -> Columns:
        file = data / f"google2011_task_events_part-{part}-of-00500.csv.gz"
        names = ["time", "user", "class", "cpu", "ram"]
        rows = pd.read_csv(file, header=None, usecols=[0, 6, 7, 9, 10], names=names)
        rows = rows[(rows["time"] > 0) & (rows["cpu"] > 0) & (rows["ram"] > 0)]
        key = rows["user"] + rows["class"].astype(str)
        return rows["time"] // (seconds * 1_000_000), key, rows["cpu"], rows["ram"]

    return load


def _web(key: str, minutes: int) -> Callable[[Path], Columns]:
    def load(data: Path) -> Columns:
        rows = pd.read_csv(data / "nasa_http_1995-07-01.tsv.gz", sep="\t", index_col=False, encoding="latin-1")
        rows = rows[pd.to_numeric(rows["bytes"], errors="coerce") > 0]
        path = rows["url"].astype(str)
        rows = rows.assign(kind=path.str.split("/").str[1], ending=path.str.rsplit(".", n=1).str[-1].str[:5])
        bytes_ = rows["bytes"].astype(float)
        return rows["time"] // (60 * minutes), rows[key], bytes_, pd.Series(1.0, rows.index) + path.str.len()

    return load


def _packets(data: Path) -> Columns:
    file = data / "bellcore_BC-pAug89_packets_000001-070000.TL.gz"
    rows = pd.read_csv(file, sep=r"\s+", header=None, names=["time", "size"]).dropna()
    gap = rows["time"].diff().fillna(0.001).clip(1e-5)
    return (rows["time"] // 2).astype(int), (rows["size"] // 100).astype(int), gap, rows["size"].astype(float)


MEASURE_STREAMS: dict[str, Callable[[Path], Columns]] = {
    "flights day origin": _flights("origin", "D"),
    "taxi 30 min cell": _taxi("cell", "30min"),
    "taxi 30 min vendor": _taxi("vendor_id", "30min"),
    "green day zone": _green("D"),
    "fares hour kind": _fares("kind", "1h"),
    "fares 2 h medallion": _fares("medallion", "2h"),
    "yellow week zone": _yellow,
    "google 1 min": _google("00235", 60),
    "google first 1 min": _google("00000", 60),
    "web 5 min host": _web("host", 5),
    "web 5 min class": _web("kind", 5),
    "web 5 min ending": _web("ending", 5),
    "packets 2 s": _packets,
}
