"""The streams of the promise: real slices and made-up worlds, as rows of time, key and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HOUR = 3_600_000_000
MEAN = {"name": "value", "agg": "avg", "column": "value"}


@dataclass(frozen=True)
class Family:
    """A stream and the query that is asked of it; `load` takes the directory of slices and a seed.

    `limit` is that of the mean error where it does not follow from audits.
    """

    load: Callable[[Path, int], pd.DataFrame]
    every: str
    measures: tuple[Mapping[str, Any], ...] = (MEAN,)
    one_in: int = 4
    windows: Mapping[str, str] | None = None
    fraction: float = 0.05
    limit: float | None = None


def _micros(times: pd.Series) -> pd.Series:
    return pd.to_datetime(times).astype("datetime64[us]").astype("int64")


@cache
def _taxi(data: Path) -> pd.DataFrame:
    columns = ["pickup_datetime", "trip_time_in_secs", "pickup_longitude", "pickup_latitude", "trip_distance"]
    rows = pd.read_parquet(data / "nyc_taxi_trips_2013-02-01_to_02-04.parquet", columns=columns)
    east = np.floor((rows["pickup_longitude"] + 74.916578) / 0.005986)
    south = np.floor((41.47718278 - rows["pickup_latitude"]) / 0.004491556)
    kept = east.between(0, 299) & south.between(0, 299) & (rows["trip_time_in_secs"] > 0)
    return pd.DataFrame({
        "time": _micros(rows["pickup_datetime"]), "key": (east * 300 + south).astype("int64").astype(str),
        "value": rows["trip_time_in_secs"].astype(float), "other": rows["trip_distance"].astype(float),
    })[kept]  # fmt: skip


@cache
def _green(data: Path) -> pd.DataFrame:
    rows = pd.concat([pd.read_parquet(data / f"green_tripdata_2022-0{month}.parquet") for month in (1, 2, 3)])
    time = rows["lpep_pickup_datetime"]
    kept = (time >= "2022-01-01") & (time < "2022-04-01") & (rows["fare_amount"] > 0)
    return pd.DataFrame({
        "time": _micros(time), "key": rows["PULocationID"].astype(str), "value": rows["fare_amount"].astype(float),
        "other": rows["tip_amount"].astype(float).clip(lower=0),
    })[kept]  # fmt: skip


@cache
def _flights(data: Path) -> pd.DataFrame:
    rows = pd.read_parquet(data / "us_flights_2001-01-02.parquet")
    return pd.DataFrame({
        "time": _micros(rows["date"]), "key": rows["origin"] + rows["destination"],
        "value": rows["delay"].astype(float) + 60.0, "other": rows["distance"].astype(float),
    })  # fmt: skip


@cache
def _fares(data: Path) -> pd.DataFrame:
    rows = pd.read_parquet(data / "nyc_taxi_fares_2013-01-01_to_01-04.parquet")
    return pd.DataFrame({
        "time": _micros(rows["pickup_datetime"]), "key": rows["payment_type"].astype(str),
        "value": rows["fare_amount"].astype(float), "other": rows["tip_amount"].astype(float),
    })  # fmt: skip


@cache
def _web(data: Path) -> pd.DataFrame:
    names = ["host", "logname", "time", "method", "url", "response", "bytes", "a", "b"]
    rows = pd.read_csv(data / "nasa_http_1995-07-01.tsv.gz", sep="\t", names=names, skiprows=1, encoding="latin1")
    size = pd.to_numeric(rows["bytes"], errors="coerce")
    kind = rows["url"].astype(str).str.extract(r"\.(\w{2,4})$")[0].fillna("page")
    return pd.DataFrame({"time": rows["time"].astype("int64") * 1_000_000, "key": kind, "value": size})[size > 0]


def _real(load: Callable[[Path], pd.DataFrame]) -> Callable[[Path, int], pd.DataFrame]:
    return lambda data, _: load(data)


def made(kind: str, seed: int, hours: int = 160, per_hour: int = 3000, keys: int = 250) -> pd.DataFrame:
    """A made-up world: keys of Zipf's popularity with levels that drift, lognormal rows, and what its kind adds.

    `jump`: three times the value in a fifth of the keys for two hours in eight, other keys each time: audits, one slot
    in four or rarer, mostly see the hours between. `births`: keys come and go. `regime`: levels swap every 20 hours.
    """
    rng = np.random.default_rng([seed, len(kind)])
    level, popularity = 10 * np.exp(rng.normal(0, 0.7, keys)), np.arange(1, keys + 1) ** -0.9
    drift, parts = np.zeros(keys), []
    for hour in range(hours):
        drift = 0.0 if kind == "stationary" else 0.9 * drift + rng.normal(0, 0.04, keys)
        now, size = level * np.exp(drift), rng.poisson(per_hour * _rush(kind, hour))
        now, chance = _moved(kind, hour, seed, now, popularity)
        key = rng.choice(keys, size, p=chance / chance.sum())
        time = np.sort(rng.integers(hour * HOUR, (hour + 1) * HOUR, size))
        parts.append(
            pd.DataFrame({"time": time, "key": key, "value": np.round(now[key] * rng.lognormal(0, 0.5, size), 2)})
        )
    rows = pd.concat(parts, ignore_index=True)
    return rows.assign(key="k" + rows["key"].astype(str), other=1.0)


def _rush(kind: str, hour: int) -> float:
    return 1 + 0.6 * float(np.sin(2 * np.pi * hour / 24)) if kind == "seasonal" else 1.0


def _moved(kind: str, hour: int, seed: int, level: np.ndarray, popularity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    match kind:
        case "seasonal":
            level = level * (1 + 0.3 * np.sin(2 * np.pi * hour / 24 + np.arange(level.size)))
        case "growing":
            level = level * (1 + 0.02 * hour)
        case "jump":
            hit = np.random.default_rng([seed, hour // 8]).random(level.size) < 0.2
            level = np.where(hit & (hour % 8 in (5, 6)), 3 * level, level)
        case "births":
            level, popularity = np.roll(level, 2 * (hour // 3)), np.roll(popularity, 5 * (hour // 3))
        case "regime" if hour % 40 >= 20:
            level = level[::-1].copy()
    return level, popularity


def _world(kind: str, hours: int = 160) -> Callable[[Path, int], pd.DataFrame]:
    return lambda _, seed: made(kind, seed, hours)


def _measure(agg: str, **more: Any) -> tuple[Mapping[str, Any], ...]:
    return ({"name": "value", "agg": agg, "column": "value", **more},)


KINDS = ("stationary", "seasonal", "growing", "jump", "births", "regime")
STREAMS = {
    "taxi cell, mean": Family(_real(_taxi), "30 minutes"),
    "taxi cell, sum": Family(_real(_taxi), "30 minutes", _measure("sum")),
    "taxi cell, ratio": Family(_real(_taxi), "30 minutes", _measure("ratio", over="other")),
    "taxi cell, p50": Family(_real(_taxi), "30 minutes", _measure("quantile", q=0.5)),
    "taxi cell, p90": Family(_real(_taxi), "30 minutes", _measure("quantile", q=0.9)),
    "green zone, mean": Family(_real(_green), "1 day"),
    "flights route, mean": Family(_real(_flights), "1 day"),
    "fares payment, few keys": Family(_real(_fares), "1 hour"),
    "web class, p99": Family(_real(_web), "30 minutes", _measure("quantile", q=0.99), fraction=0.1),
    **{f"made, {kind}": Family(_world(kind), "1 hour") for kind in KINDS},
}
FAMILIES: dict[str, Family] = {
    "taxi_cell_duration as shipped": replace(STREAMS["taxi cell, mean"], limit=0.25),
    **{f"{name}, 1 in {n}": replace(family, one_in=n) for name, family in STREAMS.items() for n in (4, 10, 20)},
    **{f"made, {kind}, 1 in 25": Family(_world(kind, 600), "1 hour", one_in=25) for kind in KINDS},
}
"""Every family, by name."""
