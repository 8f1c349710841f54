"""The real slices as pandas reads them: event time (microseconds) and the columns that a query of each uses."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd


def _micros(moments: pd.Series) -> pd.Series:
    return pd.to_datetime(moments).astype("datetime64[us]").astype("int64")


def cell(longitude: pd.Series, latitude: pd.Series) -> pd.Series:
    """The cell of the 500 m grid, missing outside it."""
    east = np.floor((longitude + 74.916578) / 0.005986) + 1
    south = np.floor((41.47718278 - latitude) / 0.004491556) + 1
    inside = east.between(1, 300) & south.between(1, 300)
    names = east[inside].astype(int).astype(str) + "." + south[inside].astype(int).astype(str)
    return names.reindex(longitude.index)


def _debs(file: Path) -> pd.DataFrame:
    rows = pd.read_csv(file, header=None)
    start, end = cell(rows[6], rows[7]), cell(rows[8], rows[9])
    made = pd.DataFrame({"time": _micros(rows[3]), "route": start + "-" + end, "fare_amount": rows[11]})
    return made[start.notna()]


def _flights(file: Path) -> pd.DataFrame:
    rows = pd.read_parquet(file)
    route = rows["origin"] + "-" + rows["destination"]
    return pd.DataFrame({"time": _micros(rows["date"]), "route": route, "delay": rows["delay"]})


def _google(file: Path) -> pd.DataFrame:
    rows = pd.read_csv(file, header=None)
    rows = rows[rows[0] > 0]
    start = pd.Timestamp("2011-05-01T23:00:00").value // 1000
    return pd.DataFrame({"time": rows[0] + start, "scheduling_class": rows[7], "cpu_request": rows[9]})


def _higgs(file: Path) -> pd.DataFrame:
    rows = pd.read_csv(file, header=None, sep=" ")
    rows = rows[rows[3] == "MT"]
    return pd.DataFrame({"time": rows[2] * 1_000_000, "target": rows[1]})


def _packets(file: Path) -> pd.DataFrame:
    rows = pd.read_csv(file, header=None, sep=r"\s+")
    start = pd.Timestamp("1989-08-29T15:25:00").value // 1000
    return pd.DataFrame({"time": (rows[0] * 1e6).round().astype("int64") + start, "size": rows[1]})


def _fares(file: Path) -> pd.DataFrame:
    rows = pd.read_parquet(file)
    return rows[["medallion", "fare_amount", "total_amount"]].assign(time=_micros(rows["pickup_datetime"]))


def _trips(file: Path) -> pd.DataFrame:
    rows = pd.read_parquet(file)
    places = cell(rows["pickup_longitude"], rows["pickup_latitude"])
    made = rows[["trip_time_in_secs"]].assign(time=_micros(rows["pickup_datetime"]), pickup_cell=places)
    return made[places.notna()]


def _green(file: Path) -> pd.DataFrame:
    rows = pd.read_parquet(file)
    made = rows[["fare_amount"]].assign(time=_micros(rows["lpep_pickup_datetime"]), pickup_zone=rows["PULocationID"])
    return made[rows["lpep_pickup_datetime"] >= "2013-08-01"]


def _yellow(file: Path) -> pd.DataFrame:
    rows = pd.read_csv(file)
    made = rows[["tip_amount", "fare_amount"]].assign(time=_micros(rows["pickup_datetime"]))
    return made.assign(pickup_zone=rows["pickup_location_id"])[rows["pickup_datetime"] >= "2009"]


def _items(file: Path) -> pd.DataFrame:
    start = pd.Timestamp("2000-01-01T01:26:40").value // 1000
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    pairs = [(start + n * 1_000_000, item) for n, line in enumerate(lines) for item in line.replace(",", " ").split()]
    return pd.DataFrame(pairs, columns=["time", "item"]).assign(collection=file.name.split("_")[0])


def _web(file: Path) -> pd.DataFrame:
    rows = pd.read_csv(file, sep="\t", usecols=range(7), index_col=False)
    return pd.DataFrame({"time": rows["time"] * 1_000_000, "host": rows["host"], "bytes": rows["bytes"]})


QUERIES: dict[str, tuple[str, str, Callable[[Path], pd.DataFrame]]] = {
    "debs2015": ("debs_route_fare", "2013-01-01T00:00:00Z", _debs),
    "flights": ("flights_route_delay", "2001-01-15T00:00:00Z", _flights),
    "google_task_events": ("google_class_cpu", "2011-05-02T00:00:00Z", _google),
    "higgs_activity": ("higgs_mentions", "2012-07-04T10:00:00Z", _higgs),
    "packets": ("packet_size", "1989-08-29T15:26:00Z", _packets),
    "taxi_fares_2013": ("taxi_medallion_fare", "2013-01-02T06:00:00Z", _fares),
    "taxi_trips_2013": ("taxi_cell_duration", "2013-02-02T18:00:00Z", _trips),
    "tlc_green": ("green_zone_fare", "2022-02-03T00:00:00Z", _green),
    "tlc_yellow": ("yellow_zone_tip", "2019-05-02T00:00:00Z", _yellow),
    "transactions": ("item_counts", "2000-01-01T04:13:20Z", _items),
    "web_requests": ("web_host_bytes", "1995-07-01T05:00:00Z", _web),
}
"""Of each dataset: a query on it, a slot of that query, and the rows of a file as the query needs them."""
