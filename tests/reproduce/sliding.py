"""Sliding windows over the real slices, sampled by a policy from the window's own key frequencies, as CoD asks."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept
from shedding.estimates.accuracy import WindowErrors, relative_errors
from shedding.policies import get_policy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
WEST, NORTH, EAST_STEP, SOUTH_STEP = -74.916578, 41.47718278, 0.005986, 0.004491556
"""The grid of the DEBS 2015 challenge: cells of 500 m, 300 by 300."""


@dataclass(frozen=True)
class Rows:
    """Rows in the order of their time, in seconds."""

    time: Floats
    key: Ints
    value: Floats

    @classmethod
    def of(cls, time: pd.Series, key: pd.Series, value: pd.Series) -> Rows:
        order = np.argsort(time.to_numpy(), kind="stable")
        codes = pd.factorize(key)[0].astype(np.int64)
        return cls(time.to_numpy(np.float64)[order], codes[order], value.to_numpy(np.float64)[order])

    def windows(self, size: float, slide: float) -> Iterator[slice]:
        """The full windows between the first and the last row."""
        for start in np.arange(np.ceil(self.time[0] / slide) * slide, self.time[-1] - size, slide):
            yield slice(*np.searchsorted(self.time, [start, start + size]))


@dataclass(frozen=True)
class Sampled:
    """A way to shed over all windows: mean and 95th percentile of the windows' errors, and the share processed."""

    mean: float
    p95: float
    processed: float


RatesOf = Callable[[Concept, float], Floats]


def by_policy(name: str) -> RatesOf:
    """The policy's rates at the fraction `part`."""
    return lambda concept, part: (
        get_policy(name).allocate(concept, Budget(rows=part * float(concept.population.sum()))).rates
    )


def cod_as_printed(concept: Concept, part: float) -> Floats:
    """Every group at `part`, but those too rare for a row at it "are simply added": kept whole, beyond the budget."""
    return np.where(concept.population * part < 1, 1.0, part)


def shed(rows: Rows, size: float, slide: float, part: float, rates_of: RatesOf, seed: int = 1) -> Sampled:
    """Plain means of what each window keeps; a key without a kept row counts as 100 %."""
    u = np.random.default_rng(seed).random(rows.time.size)
    errors, kept_rows, all_rows = [], 0, 0
    for window in rows.windows(size, slide):
        key, value, chance = _numbered(rows.key[window]), rows.value[window], u[window]
        least = np.ones(int(key.max()) + 1)
        np.minimum.at(least, key, chance)
        rates = rates_of(Concept.grouped(np.bincount(key), least_u=least), part)
        kept = chance < rates[key]
        exact = _means(key, value, least.size)
        errors.append(WindowErrors.of(relative_errors(exact, _means(key[kept], value[kept], least.size))).mean)
        kept_rows, all_rows = kept_rows + int(kept.sum()), all_rows + key.size
    return Sampled(float(np.mean(errors)), float(np.quantile(errors, 0.95)), kept_rows / all_rows)


def _numbered(key: Ints) -> Ints:
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def _means(key: Ints, value: Floats, keys: int) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.bincount(key, value, minlength=keys) / np.bincount(key, minlength=keys)


def packets(data: Path) -> Rows:
    """Frame sizes of the Ethernet trace; no keys."""
    with gzip.open(data / "bellcore_BC-pAug89_packets_000001-070000.TL.gz", "rt") as lines:
        rows = pd.read_csv(lines, sep=r"\s+", header=None, names=["time", "size"])
    return Rows.of(rows["time"], rows["size"] * 0, rows["size"])


def cluster(data: Path, part: str) -> Rows:
    """CPU requests of the cluster trace by scheduling class."""
    file = data / f"google2011_task_events_part-{part}-of-00500.csv.gz"
    rows = pd.read_csv(file, header=None, usecols=[0, 7, 9], names=["time", "class", "cpu"])
    rows = rows[(rows["time"] > 0) & (rows["cpu"] > 0)]
    return Rows.of(rows["time"] / 1e6, rows["class"], rows["cpu"])


def trips(data: Path, key: str) -> Rows:
    """Durations of taxi trips by pickup `cell` or by `route`."""
    columns = ["pickup_datetime", "trip_time_in_secs"]
    columns += [f"{end}_{axis}" for end in ("pickup", "dropoff") for axis in ("longitude", "latitude")]
    rows = pd.read_parquet(data / "nyc_taxi_trips_2013-02-01_to_02-04.parquet", columns=columns)
    begin, end = cell(rows, "pickup"), cell(rows, "dropoff")
    kept = (begin >= 0) & (rows["trip_time_in_secs"] > 0) & ((end >= 0) | (key == "cell"))
    time = pd.to_datetime(rows["pickup_datetime"]).astype("datetime64[s]").astype(np.int64)
    return Rows.of(
        time[kept], (begin if key == "cell" else begin * 90_000 + end)[kept], rows["trip_time_in_secs"][kept]
    )


def debs(data: Path) -> Rows:
    """Fares of the DEBS slice by route, by the time of drop-off."""
    names = {3: "time", 6: "pickup_longitude", 7: "pickup_latitude", 8: "dropoff_longitude", 9: "dropoff_latitude"}
    rows = pd.read_csv(data / "debs2015_dropoff_0000-0039.csv.gz", header=None).rename(columns=names | {11: "fare"})
    begin, end = cell(rows, "pickup"), cell(rows, "dropoff")
    kept = (begin >= 0) & (end >= 0) & (rows["fare"] > 0)
    time = pd.to_datetime(rows["time"]).astype("datetime64[s]").astype(np.int64)
    return Rows.of(time[kept], (begin * 90_000 + end)[kept], rows["fare"][kept])


def cell(rows: pd.DataFrame, end: str) -> pd.Series:
    """The number of the cell at this end of a trip; -1 outside the grid."""
    east = np.floor((rows[f"{end}_longitude"] - WEST) / EAST_STEP)
    south = np.floor((NORTH - rows[f"{end}_latitude"]) / SOUTH_STEP)
    return (east * 300 + south).where(east.between(0, 299) & south.between(0, 299), -1)
