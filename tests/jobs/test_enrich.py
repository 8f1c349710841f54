"""Functions on real Spark: distributed, once a row, told in one line where they fail."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from jobs.aggregate import aggregate
from jobs.ingest import ingest
from shedding import warehouse
from shedding.errors import DataError
from shedding.ingest.arrivals import Arrivals
from shedding.ingest.raw_rows import read_raw
from shedding.spec import load_catalog
from shedding.spec.times import parse_instant
from shedding.stretches import Stretches
from tests.small_specs import generated_trips, small_world

pytestmark = pytest.mark.spark
START = parse_instant("2026-11-02T06:00:00Z")
HALF = 30 * 60_000_000
PRICED = "def score(fare, route):\n    return fare * len(route)\n\n\n" \
    "score.cost_seconds = lambda fare, route: 0.001 * 2 ** (int(fare) % 4)\n"  # fmt: skip
SLOTS = [START + i * HALF for i in range(4)]
FUNCTION = "def score(fare, route):\n    print('x' * 1000)\n    return fare * len(route)\n\n\n" \
    "def broken(fare):\n    return fare.missing\n"  # fmt: skip


def query(name: str, **entry: object) -> dict[str, object]:
    made = {"name": "score", "call": "scores:score", "columns": ["fare_amount", "route"], **entry}
    return {
        "name": name, "dataset": "trips", "window": {"size": "30 minutes"}, "group_by": ["pickup_zone"],
        "enrich": [made], "schedule": {"every": "30 minutes"}, "audit": {"one_in": 4},
        "measures": [{"name": "mean_score", "agg": "avg", "column": "score"}, {"name": "trips", "agg": "count"}],
        "shed": {"policy": "optimal", "budget": {"fraction": 0.1}},
    }  # fmt: skip


def test_functions_enrich_kept_rows_once_and_their_failures_are_one_line(spark, tmp_path: Path) -> None:
    broken = query("broken", call="scores:broken", columns=["fare_amount"], on_error="fail")
    settings = small_world(tmp_path, [generated_trips(2000, "2 hours")], [query("scored"), broken])
    (settings.specs / "functions").mkdir()
    (settings.specs / "functions/scores.py").write_text(FUNCTION)
    catalog = load_catalog(settings.specs)
    assert catalog.problems == ()
    ingest(spark, settings, catalog, "trips", interval=(START, START + 4 * HALF))

    for slot in SLOTS:
        aggregate(spark, settings, catalog, "scored", slot, "run")
    results = warehouse.results(settings, "scored").read().to_pandas()
    made = warehouse.enriched(settings, "scored").read().to_pandas()
    assert not made.duplicated(["event_time", "u", "inputs"]).any()
    assert made.error.isna().all()
    assert (made.cost_ns > 0).all()
    dataset = catalog.dataset("trips")
    every = Stretches.of((START, START + 4 * HALF))
    raw = read_raw(spark, settings, dataset, every, Arrivals.load(settings, "trips")).toPandas()
    assert len(made) < 0.8 * len(raw)

    exact = results[(results.leg == "exact")].set_index(["slot", "pickup_zone"]).mean_score
    first = raw[raw.event_time < raw.event_time.min().floor("30min") + np.timedelta64(30, "m")]
    wanted = (first.fare_amount * first.route.str.len()).groupby(first.pickup_zone).mean()
    np.testing.assert_allclose(exact.loc[min(results.slot)].sort_index(), wanted.sort_index(), rtol=1e-12)

    version = warehouse.enriched(settings, "scored").version()
    aggregate(spark, settings, catalog, "scored", SLOTS[2], "again")
    assert warehouse.enriched(settings, "scored").version() == version
    with pytest.raises(DataError, match=r"^scores:broken failed on .*AttributeError.*on_error: null or quarantine$"):
        aggregate(spark, settings, catalog, "broken", SLOTS[0], "run")


def test_a_budget_of_seconds_is_kept_on_spark_and_a_re_run_needs_no_clock(spark, tmp_path: Path) -> None:
    trips = {**generated_trips(4000, "2 hours"), "derived": {"price_class": "CAST(fare_amount AS INT) % 4"}}
    made = query("priced", call="prices:score", cost_by=["price_class"])
    made["shed"] = {"policy": "posterior", "budget": {"seconds": 1.0}}
    settings = small_world(tmp_path, [trips], [made])
    (settings.specs / "functions").mkdir()
    (settings.specs / "functions/prices.py").write_text(PRICED)
    catalog = load_catalog(settings.specs)
    assert catalog.problems == ()
    ingest(spark, settings, catalog, "trips", interval=(START, START + 4 * HALF))
    for slot in SLOTS:
        aggregate(spark, settings, catalog, "priced", slot, "run")
    plans = warehouse.plans(settings, "priced").read().to_pandas().sort_values("slot")
    assert len(plans) == 4
    assert (plans.spent_seconds <= 1.1).all()
    assert (plans["mode"] == "shed").all()
    calls = warehouse.enriched(settings, "priced").read().to_pandas()
    assert not calls.duplicated(["event_time", "u", "inputs"]).any()
    costs = warehouse.costs(settings, "priced").read().to_pandas()
    assert set(costs.slot) <= set(plans.slot)

    def answers() -> list[object]:
        rows = warehouse.results(settings, "priced").read().to_pandas()
        rows = rows.sort_values(["slot", "leg", "pickup_zone"]).reset_index(drop=True)
        return [rows[name].tolist() for name in ("pickup_zone", "mean_score", "mean_score_low", "sampled_rows")]

    before = answers()
    shutil.rmtree(warehouse.panes(settings, "priced").uri)
    one_core = settings.model_copy(update={"shuffle_partitions": 1})
    aggregate(spark, one_core, catalog, "priced", SLOTS[3], "again")
    assert answers() == before
    assert warehouse.enriched(settings, "priced").read().num_rows == len(calls)
