"""The aggregate job on real Spark and Delta: a small generated dataset, ingested and answered."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from shedding.spec import load_catalog
from shedding.spec.timeline import slot_name
from shedding.spec.times import parse_instant
from shedding.tables import Table

pytestmark = pytest.mark.spark
START = parse_instant("2026-11-02T06:00:00Z")
HALF = 30 * 60_000_000
SLOTS = [START + i * HALF for i in range(4)]
LENGTH = 4 * HALF

DATASET = {
    "name": "trips", "source": {"kind": "generator", "generator": "taxi", "rows_per_hour": 2000,
                                "parameters": {"keys": 60}},
    "schedule": {"every": "2 hours"}, "event_time": {"column": "pickup_datetime"},
    "columns": [
        {"name": "pickup_datetime", "type": "timestamp", "required": True}, {"name": "route", "required": True},
        {"name": "pickup_zone", "type": "int"}, {"name": "dropoff_zone", "type": "int"},
        {"name": "fare_amount", "type": "double"}, {"name": "trip_distance", "type": "double"},
        {"name": "duration", "type": "int"}, {"name": "passenger_count", "type": "int"}, {"name": "payment_type"},
        {"name": "tip_amount", "type": "double"},
    ],
}  # fmt: skip
QUERY = {
    "name": "route_fare", "dataset": "trips", "window": {"size": "30 minutes", "slide": "10 minutes"},
    "group_by": ["route"], "schedule": {"every": "30 minutes"}, "audit": {"one_in": 2},
    "measures": [
        {"name": "mean_fare", "agg": "avg", "column": "fare_amount"},
        {"name": "takings", "agg": "sum", "column": "fare_amount"}, {"name": "trips", "agg": "count"},
    ],
    "shed": {"policy": "posterior", "budget": {"fraction": 0.2}, "compare": ["uniform"]},
}  # fmt: skip
EXTREMES = {
    **QUERY, "name": "route_extremes", "shed": {"policy": "exact", "budget": {"fraction": 1.0}},
    "measures": [
        {"name": "cheapest", "agg": "min", "column": "fare_amount"},
        {"name": "dearest", "agg": "max", "column": "fare_amount"},
        {"name": "p90", "agg": "quantile", "q": 0.9, "column": "fare_amount"},
        {"name": "payments", "agg": "count_distinct", "column": "payment_type"},
        {"name": "tip_share", "agg": "ratio", "column": "tip_amount", "over": "fare_amount"},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def city(spark, tmp_path_factory):
    """A warehouse with two hours of trips; settings and catalog."""
    from jobs.ingest import ingest
    from shedding.config import Settings

    root: Path = tmp_path_factory.mktemp("city")
    for kind, specs in (("datasets", [DATASET]), ("queries", [QUERY, EXTREMES])):
        (root / "specs" / kind).mkdir(parents=True)
        for spec in specs:
            (root / "specs" / kind / f"{spec['name']}.yaml").write_text(yaml.safe_dump(spec))
    settings = Settings(warehouse=str(root / "warehouse"), specs=root / "specs", landing=root, master="local[2]")
    catalog = load_catalog(settings.specs)
    assert not catalog.problems
    ingest(spark, settings, catalog, "trips", interval=(START, START + LENGTH))
    return settings, catalog


@pytest.fixture(scope="module")
def raw(spark, city) -> pd.DataFrame:
    settings, _ = city
    rows = Table(settings.table("raw", "trips")).read().to_pandas()
    rows["time"] = rows.event_time.astype("datetime64[us, UTC]").astype("int64")
    return rows


@pytest.fixture(scope="module")
def forwards(spark, city) -> pd.DataFrame:
    from jobs.aggregate import aggregate

    settings, catalog = city
    for slot in SLOTS:
        report = aggregate(spark, settings, catalog, "route_fare", slot, "first")
        assert report.windows == 3
    return _results(settings, "route_fare")


def _results(settings, query) -> pd.DataFrame:
    found = Table(settings.table("results", query)).read().to_pandas()
    return found.sort_values(["slot", "leg", "window_start", "route"]).reset_index(drop=True)


def _inside(raw, start):
    begin = start.value // 1000
    return raw[(raw.time >= begin) & (raw.time < begin + HALF)]


def test_the_exact_leg_is_a_group_by_of_the_raw_rows(forwards, raw):
    exact = forwards[forwards.leg == "exact"]
    assert len(exact)
    for start, group in exact.groupby("window_start"):
        truth = _inside(raw, start).groupby("route").fare_amount.agg(["size", "mean", "sum"])
        mine = group.set_index("route").loc[truth.index]
        assert len(mine) == len(group)
        np.testing.assert_array_equal(mine.trips, truth["size"])
        np.testing.assert_allclose(mine.mean_fare, truth["mean"], rtol=1e-12)
        np.testing.assert_allclose(mine.takings, truth["sum"], rtol=1e-12)


def test_every_key_of_every_window_is_answered_with_an_interval_and_an_exact_count(forwards, raw):
    shed = forwards[forwards.leg == "posterior"]
    for start, group in shed.groupby("window_start"):
        counts = _inside(raw, start).groupby("route").size()
        assert dict(zip(group.route, group.trips, strict=True)) == counts.to_dict()
    assert ((shed.mean_fare_low <= shed.mean_fare) & (shed.mean_fare <= shed.mean_fare_high)).all()


def test_the_sampled_rows_are_those_below_the_keys_rate(city, raw):
    settings, _ = city
    panes = Table(settings.table("panes", "route_fare")).read().to_pandas()
    mine = panes[panes.leg == "posterior"]
    assert len(mine)
    for row in mine.itertuples():
        start = row.pane_start.value // 1000
        inside = raw[(raw.time >= start) & (raw.time < start + HALF // 3) & (raw.route == row.route)]
        assert row.population == len(inside)
        assert row.sampled == (inside.u < row.rate).sum()


def test_backwards_in_another_warehouse_gives_the_same_rows(spark, city, forwards, tmp_path):
    from jobs.aggregate import aggregate

    settings, catalog = city
    there = settings.model_copy(update={"warehouse": str(tmp_path / "warehouse")})
    (tmp_path / "warehouse").mkdir()
    for shared in ("raw", "concepts", "ingests"):
        (tmp_path / "warehouse" / shared).symlink_to(Path(settings.warehouse) / shared)
    for slot in reversed(SLOTS):
        aggregate(spark, there, catalog, "route_fare", slot, "second")
    pd.testing.assert_frame_equal(_results(there, "route_fare"), forwards, check_exact=True)


def test_runs_say_what_it_cost_and_why(city, forwards):
    settings, _ = city
    runs = Table(settings.table("runs", "route_fare")).read().to_pandas()
    first = runs[runs.slot == slot_name(SLOTS[0])]
    assert set(first.audit_reason) == {"first slot"}
    assert set(first.leg) == {"posterior", "uniform", "exact"}
    assert (runs.bytes_read > 0).any()
    assert runs.reason.str.len().min() > 10
    version = Table(settings.table("results", "route_fare")).version()
    assert version is not None


def test_min_max_quantile_distinct_and_ratio_of_the_exact_policy(spark, city, raw):
    from jobs.aggregate import aggregate

    settings, catalog = city
    aggregate(spark, settings, catalog, "route_extremes", SLOTS[1], "run")
    found = _results(settings, "route_extremes")
    assert found.is_exact.all()
    for start, group in found.groupby("window_start"):
        rows = _inside(raw, start).groupby("route")
        truth = rows.fare_amount.agg(["min", "max"])
        mine = group.set_index("route").loc[truth.index]
        np.testing.assert_array_equal(mine.cheapest, truth["min"])
        np.testing.assert_array_equal(mine.dearest, truth["max"])
        np.testing.assert_allclose(mine.p90, rows.fare_amount.quantile(0.9))
        np.testing.assert_array_equal(mine.payments, rows.payment_type.nunique())
        np.testing.assert_allclose(mine.tip_share, rows.tip_amount.sum() / rows.fare_amount.sum(), rtol=1e-9)
