"""What `shed.weights` does, replayed on real fares: errors by key, by row and of one zone, under each choice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept
from shedding.policies import get_policy
from tests.benchmarks.harness import Bench

Floats = NDArray[np.float64]
BUDGET, ZONE, REPEATS, WEEK = 0.10, 74, 20, pd.Timedelta(days=7)
FIRST, LAST = pd.Timestamp("2022-01-15"), pd.Timestamp("2022-02-25")


def run(bench: Bench) -> None:
    """Mean fare a pickup zone and day by plain means of `optimal`'s rows; spreads are the week's before."""
    if bench.data is None:
        bench.note("needs the real slices: DATA=<directory>")
        return
    files = [bench.data / f"green_tripdata_2022-0{month}.parquet" for month in (1, 2)]
    columns = {"lpep_pickup_datetime": "time", "PULocationID": "zone", "fare_amount": "fare"}
    trips = pd.concat([pd.read_parquet(file, columns=list(columns)) for file in files]).rename(columns=columns)
    trips = trips[trips.fare > 0]
    rng, found = np.random.default_rng(0), {}
    for day in pd.date_range(FIRST, LAST):
        for choice, errors in _day(trips, day, rng):
            found.setdefault(choice, []).append(errors)
    for choice, errors in found.items():
        by_key, by_row, zone, rows = np.nanmean(np.array(errors), axis=0)
        bench.record(choice, {"by_key": by_key, "by_row": by_row, f"zone {ZONE}": zone, "largest key's rows": rows})


def _day(trips: pd.DataFrame, day: pd.Timestamp, rng: np.random.Generator) -> Iterator[tuple[str, list[float]]]:
    past = trips[(trips.time >= day - WEEK) & (trips.time < day)].groupby("zone").fare
    here = trips[(trips.time >= day) & (trips.time < day + pd.Timedelta(days=1))].groupby("zone").fare
    size = here.size().to_numpy(dtype=np.float64)
    keys, truth, values = here.size().index, here.mean().to_numpy(), [own.to_numpy() for _, own in here]
    cv = (past.std() / past.mean()).reindex(keys).to_numpy()
    choices = {
        "size: 0": 1.0,
        "size: 0.5": size**0.5,
        "size: 1": size,
        "a zone x 100": np.where(keys == ZONE, 100.0, 1),
    }
    for choice, weight in choices.items():
        concept = Concept.grouped(size, cv=cv, weight=weight)
        rows = get_policy("optimal").allocate(concept, Budget(rows=BUDGET * size.sum())).rates * size
        for _ in range(REPEATS):
            error = _errors(values, truth, np.floor(rows + rng.random(rows.size)).astype(int), rng)
            own = error[keys == ZONE]
            yield choice, [
                error.mean(), float(error @ size / size.sum()), own[0] if own.size else np.nan, rows[np.argmax(size)]
            ]  # fmt: skip


def _errors(values: list[Floats], truth: Floats, rows: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Relative errors of sample means; a key without a row is 100 % wrong."""
    means = [
        rng.choice(own, min(n, own.size), replace=False).mean() if n else np.nan
        for own, n in zip(values, rows, strict=True)
    ]
    return np.where(np.isnan(means), 1.0, np.abs(np.array(means) / truth - 1))
