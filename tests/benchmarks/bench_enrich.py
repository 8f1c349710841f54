"""Rows that cost, on Spark with a real clock: seconds kept, what measuring takes, and what a sample of 5 % saves."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from jobs.aggregate import aggregate
from jobs.ingest import ingest
from shedding import warehouse
from shedding.config import Settings
from shedding.enrich.calls import Calls
from shedding.spec import load_catalog
from tests.small_specs import small_world

HOUR = 3_600_000_000
START = 1_793_577_600_000_000 // HOUR * HOUR
FUNCTION = '''
import time


def spin(text):
    """Busy for 0.05 to 50 ms, by the length of the text."""
    end = time.perf_counter_ns() + int(1e6 * min(50.0, max(0.05, len(text) / 400)))
    while time.perf_counter_ns() < end:
        pass
    return float(len(text) % 7)


def five(text):
    """Busy for 5 ms."""
    end = time.perf_counter_ns() + 5_000_000
    while time.perf_counter_ns() < end:
        pass
    return float(len(text) % 7)
'''
SLOTS, ROWS = 12, 2500
FEW_SECONDS = 1.0
DEAR_ROWS = 36_000


def run(bench: Any) -> None:
    """Ratios: seconds over budget (worst and ninth of ten), the same of a row budget, exact over a leg of 5 %."""
    from shedding.spark.session import start_session

    bench.ratio("measured_over_plain_at_50us", _overhead())
    with tempfile.TemporaryDirectory() as directory:
        spark = start_session(Settings(), "bench enrich")
        _seconds(bench, spark, Path(directory, "seconds"))
        _dear(bench, spark, Path(directory, "dear"))
        spark.stop()


def _overhead() -> float:
    """Processor time of 4,000 calls of 50 us by `Calls`, over that of the bare loop; medians of 9, in turns."""

    def busy(x: float) -> float:
        end = time.thread_time_ns() + 50_000
        while time.thread_time_ns() < end:
            pass
        return x

    rows = [(float(i),) for i in range(4000)]
    calls = Calls(busy, "m:busy")
    ratios = []
    for _ in range(9):
        start = time.thread_time()
        [busy(*row) for row in rows]
        middle = time.thread_time()
        calls.results(rows)
        ratios.append((time.thread_time() - middle) / (middle - start))
    return float(np.median(ratios))


def _seconds(bench: Any, spark: Any, directory: Path) -> None:
    """Ten shed slots whose texts are three times as long in every other slot."""
    shed = {"policy": "optimal", "spot_check": 0}
    queries = [
        _query("timed", "texts:spin", {**shed, "budget": {"seconds": FEW_SECONDS}}, ["length_class"]),
    ]  # fmt: skip
    settings, catalog = _world(spark, directory, queries, SLOTS, ROWS)
    for number in range(SLOTS):
        bench.progress(f"slot {number + 1}/{SLOTS}")
        aggregate(spark, settings, catalog, "timed", START + number * HOUR, "run")
    plans = warehouse.plans(settings, "timed").read().to_pandas().sort_values("slot").iloc[2:]
    over = np.sort(plans.spent_seconds / plans.budget_seconds)
    texts = _texts(SLOTS, ROWS)
    means = texts.text.str.len().div(400).clip(0.05, 50).groupby(texts.slot).mean().iloc[2:]
    bench.ratio("seconds_over_budget_9_of_10", float(over[8]))
    bench.ratio("seconds_over_budget_worst", float(over[-1]))
    bench.ratio("row_budget_of_same_mean_worst", float(means.max() / means.mean()))
    bench.record("slots", {"spent": plans.spent_seconds.round(3).tolist(), "speed": plans.speed.round(3).tolist(),
                           "margin": plans.margin.round(3).tolist()})  # fmt: skip


def _dear(bench: Any, spark: Any, directory: Path) -> None:
    """A slot of 36,000 rows and 5 ms a row: exact, and a leg of 5 %, both from raw rows to results."""
    queries = [
        _query("whole", "texts:five", {"policy": "exact"}),
        _query("part", "texts:five", {"policy": "optimal", "budget": {"fraction": 0.05}, "spot_check": 0}),
    ]
    for one in queries:
        one["estimates"] = "plain"
    settings, catalog = _world(spark, directory, queries, 1, DEAR_ROWS, empty_before=True)
    times = {}
    for name in ("part", "whole"):
        bench.progress(name)
        start = time.monotonic()
        aggregate(spark, settings, catalog, name, START + 60 * HOUR, "run")
        times[name] = time.monotonic() - start
    bench.seconds |= times
    bench.ratio("exact_over_leg5_at_5ms", times["whole"] / times["part"])


def _query(name: str, call: str, shed: dict[str, Any], cost_by: list[str] | None = None) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": "value", "call": call, "columns": ["text"]}
    return {
        "name": name, "dataset": "texts", "window": {"size": "1 hour"}, "group_by": ["key"],
        "enrich": [{**entry, **({"cost_by": cost_by} if cost_by else {})}],
        "measures": [{"name": "mean", "agg": "avg", "column": "value"}], "schedule": {"every": "1 hour"},
        "shed": shed, "audit": {"one_in": 1000},
    }  # fmt: skip


def _texts(slots: int, rows: int) -> pd.DataFrame:
    """Texts of lognormal length, sigma 1.2, three times as long in every other slot."""
    rng = np.random.default_rng(18)
    slot = np.repeat(np.arange(slots), rows)
    length = np.exp(np.log(60) + 1.2 * rng.normal(size=slot.size)) * np.where(slot % 2, 3, 1)
    return pd.DataFrame({
        "slot": slot, "at": START + slot * HOUR + rng.integers(0, HOUR, slot.size),
        "key": [f"k{k}" for k in rng.integers(0, 10, slot.size)],
        "text": ["x" * int(size) for size in np.clip(length, 1, 20_000)],
    })  # fmt: skip


def _world(
    spark: Any, directory: Path, queries: list[dict[str, Any]], slots: int, rows: int, *, empty_before: bool = False
) -> tuple[Settings, Any]:
    """A warehouse with the texts ingested; with `empty_before` in an hour that is no audit, after two audited ones."""
    dataset = {
        "name": "texts", "source": {"kind": "parquet", "path": "texts/*.parquet"}, "schedule": {"every": "1 hour"},
        "event_time": {"column": "at"},
        "columns": [{"name": "at", "type": "timestamp", "required": True}, {"name": "key"}, {"name": "text"}],
        "derived": {"length_class": "CAST(2 * log2(length(text) + 1) AS INT)"},
    }  # fmt: skip
    settings = small_world(directory, [dataset], queries)
    (settings.specs / "functions").mkdir(exist_ok=True)
    (settings.specs / "functions/texts.py").write_text(FUNCTION)
    catalog = load_catalog(settings.specs)
    if catalog.problems:
        raise RuntimeError(str(catalog.problems[0]))
    frame = _texts(slots, rows)
    if empty_before:
        first = frame.head(20).assign(at=START)
        frame = pd.concat([first, first.assign(at=START + HOUR), frame.assign(at=frame["at"] + 60 * HOUR)])
    (settings.landing / "texts").mkdir(parents=True, exist_ok=True)
    frame["at"] = pd.to_datetime(frame["at"], unit="us", utc=True)
    frame[["at", "key", "text"]].to_parquet(settings.landing / "texts/all.parquet", coerce_timestamps="us", index=False)
    ingest(spark, settings, catalog, "texts")
    return settings, catalog
