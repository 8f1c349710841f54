"""The streams of the accuracy table: window, key and value of each row of the real slices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Rows = tuple[pd.Series, pd.Series, pd.Series]


@dataclass(frozen=True)
class Stream:
    """Consecutive windows of rows."""

    name: str
    window: NDArray[np.int64]
    key: NDArray[np.int64]
    value: NDArray[np.float64]


def load_streams(data: Path) -> list[Stream]:
    """Every stream of the table, in its order; values are positive (delays by a shift of an hour, others by filter)."""
    return [stream_of(name, load(data)) for name, load in STREAMS.items()]


def stream_of(name: str, rows: Rows) -> Stream:
    """Windows and keys numbered from 0 in their own order."""
    window, key, value = rows
    windows = pd.factorize(window, sort=True)[0].astype(np.int64)
    keys = pd.factorize(key, sort=True)[0].astype(np.int64)
    return Stream(name, windows, keys, value.to_numpy(np.float64))


def _flights(width: str) -> Callable[[Path], Rows]:
    def load(data: Path) -> Rows:
        rows = pd.read_parquet(data / "us_flights_2001-01-02.parquet")
        return rows["date"].dt.floor(width), rows["origin"] + rows["destination"], rows["delay"] + 60.0

    return load


def _taxi(data: Path) -> Rows:
    columns = ["pickup_datetime", "trip_time_in_secs", "pickup_longitude", "pickup_latitude"]
    rows = pd.read_parquet(data / "nyc_taxi_trips_2013-02-01_to_02-04.parquet", columns=columns)
    east = np.floor((rows["pickup_longitude"] + 74.916578) / 0.005986)
    south = np.floor((41.47718278 - rows["pickup_latitude"]) / 0.004491556)
    kept = east.between(0, 299) & south.between(0, 299) & (rows["trip_time_in_secs"] > 0)
    window = pd.to_datetime(rows["pickup_datetime"][kept]).dt.floor("30min")
    return window, (east * 300 + south)[kept], rows["trip_time_in_secs"][kept]


def _fares(data: Path) -> Rows:
    columns = ["pickup_datetime", "medallion", "fare_amount"]
    rows = pd.read_parquet(data / "nyc_taxi_fares_2013-01-01_to_01-04.parquet", columns=columns)
    return pd.to_datetime(rows["pickup_datetime"]).dt.floor("6h"), rows["medallion"], rows["fare_amount"]


def _green(width: str) -> Callable[[Path], Rows]:
    def load(data: Path) -> Rows:
        columns = ["lpep_pickup_datetime", "PULocationID", "fare_amount"]
        months = [
            pd.read_parquet(data / f"green_tripdata_2022-0{month}.parquet", columns=columns) for month in (1, 2, 3)
        ]
        rows = pd.concat(months, ignore_index=True)
        time = rows["lpep_pickup_datetime"]
        rows = rows[(time >= "2022-01-01") & (time < "2022-04-01") & (rows["fare_amount"] > 0)]
        return rows["lpep_pickup_datetime"].dt.floor(width), rows["PULocationID"], rows["fare_amount"]

    return load


def _google(part: str) -> Callable[[Path], Rows]:
    def load(data: Path) -> Rows:
        file = data / f"google2011_task_events_part-{part}-of-00500.csv.gz"
        rows = pd.read_csv(file, header=None, usecols=[0, 6, 7, 9], names=["time", "user", "class", "cpu"])
        rows = rows[(rows["time"] > 0) & (rows["cpu"] > 0)]
        return rows["time"] // 900_000_000, rows["user"] + rows["class"].astype(str), rows["cpu"]

    return load


STREAMS: dict[str, Callable[[Path], Rows]] = {
    "flights day": _flights("D"),
    "flights week": _flights("7D"),
    "taxi 30 min": _taxi,
    "fares 6 h": _fares,
    "green week": _green("7D"),
    "green day": _green("D"),
    "google 15 min": _google("00235"),
    "google, first part": _google("00000"),
}
