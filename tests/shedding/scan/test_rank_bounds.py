"""A leg over ranked files: few rows are read, and the sample is the one of a full scan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
import yaml

from shedding.config import Settings
from shedding.ingest.side import Side, sides_of
from shedding.keys import align
from shedding.rates import Rates
from shedding.scan.rank_bounds import deepest_of_counts, deepest_rank
from shedding.spec import Catalog, load_catalog
from shedding.spec.timeline import Timeline
from shedding.stretches import Interval, Stretches
from tests.jobs.slots_in_order import END, QUERY, SLOTS, START, build

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
MINUTE = 60_000_000
WHOLE = Stretches.of((START, END))


@pytest.fixture(scope="module", params=["15 minutes", "2 hours"])
def city(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[Settings, Catalog]:
    """Six hours of trips, ranked by route in panes as short as the query's, or longer than its slots."""
    from jobs.ingest import ingest

    settings = build(tmp_path_factory.mktemp("ranked"))
    file = Path(settings.specs) / "datasets" / "trips.yaml"
    spec = yaml.safe_load(file.read_text())
    spec["layout"] = {"kind": "ranked", "keys": ["route"], "pane": request.param}
    file.write_text(yaml.safe_dump(spec))
    catalog = load_catalog(settings.specs)
    ingest(spark, settings, catalog, "trips", interval=(START, END))
    return settings, catalog


def legs_of(side: Side) -> list[Rates]:
    """Small rates for keys with many rows, and whole keys of those with few."""
    counts = side.counts(WHOLE)
    assert counts is not None
    keys, (place,) = align([counts], side.keyset.keys)
    rows = np.bincount(place, counts.column("rows").to_numpy())
    return [Rates("some", keys, np.minimum(1.0, 60 / rows))]


def ordered(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: (row["pane_start"], row["route"]))


@pytest.mark.parametrize("asked", [(START, END), (SLOTS[5], SLOTS[6])], ids=["all", "one slot"])
def test_a_leg_of_ranked_rows_is_the_leg_of_a_full_scan(
    spark: SparkSession, city: tuple[Settings, Catalog], monkeypatch: pytest.MonkeyPatch, asked: Interval
) -> None:
    from shedding.scan import spark_scans as slot_scan

    settings, catalog = city
    query = catalog.query(QUERY)
    side = sides_of(settings, catalog, query)[0]
    legs, stretches = legs_of(side), Stretches.of(asked)
    deepest = deepest_rank(side, query.timeline, stretches, legs)
    assert deepest is not None
    raw = spark.read.format("delta").load(settings.table("raw", "trips"))
    assert raw.where(f"_rank <= {deepest}").count() < 0.6 * raw.count()
    scans = slot_scan.SlotScan(spark, settings, query)
    few = scans.panes(side, query.measures, stretches, legs, exact=False)
    assert few.table.num_rows
    assert 0 < few.bytes == side.bytes(stretches, deepest) <= side.bytes(stretches)
    monkeypatch.setattr(slot_scan, "deepest_rank", lambda *_: None)
    assert ordered(few.table) == ordered(scans.panes(side, query.measures, stretches, legs, exact=False).table)


def test_the_fullest_pane_says_how_deep_a_scan_must_go_short_or_long() -> None:
    counts = pa.table({
        "pane_start": [0, 2 * MINUTE, MINUTE, 3 * MINUTE, 4 * MINUTE, 0],
        "route": ["a", "a", "a", "a", "a", "b"],
        "rows": [2, 14, 2, 15, 7, 30],
    })  # fmt: skip
    keys, _ = align([counts], ["route"])
    legs = [Rates("some", keys, np.array([0.5, 0.1])), Rates("less", keys, np.array([0.2, 0.0]))]
    day = Stretches.of((0, 5 * MINUTE))
    assert deepest_of_counts(counts, ["route"], legs, day, MINUTE) == 8
    assert deepest_of_counts(counts, ["route"], legs, day, 2 * MINUTE) == 15
    assert deepest_of_counts(counts.slice(0, 0), ["route"], legs, day, MINUTE) == 1


def test_keys_that_a_stretch_does_not_hold_make_no_scan_of_it_deeper() -> None:
    counts = pa.table({"pane_start": [0, MINUTE, MINUTE], "route": ["a", "a", "new"], "rows": [10, 10, 1000]})
    keys, _ = align([counts.slice(0, 1)], ["route"])
    legs = [Rates("some", keys, np.array([0.5]), unseen=1.0)]
    assert deepest_of_counts(counts, ["route"], legs, Stretches.of((0, MINUTE)), 2 * MINUTE) == 11
    assert deepest_of_counts(counts, ["route"], legs, Stretches.of((MINUTE, 2 * MINUTE)), 2 * MINUTE) == 1001


def test_ranks_of_other_keys_or_panes_or_of_a_part_of_the_rows_bound_nothing(city: tuple[Settings, Catalog]) -> None:
    settings, catalog = city
    query = catalog.query(QUERY)
    side = sides_of(settings, catalog, query)[0]
    legs = legs_of(side)
    crossing = Timeline(size=50 * MINUTE, slide=50 * MINUTE, slot=50 * MINUTE)
    other = side.dataset.layout.model_copy(update={"keys": ["fare_amount"]})
    elsewhere = side.dataset.model_copy(update={"layout": other})
    filtered = replace(side, keyset=replace(side.keyset, where="fare_amount > 5"))
    assert deepest_rank(side, query.timeline, WHOLE, legs)
    assert deepest_rank(side, crossing, WHOLE, legs) is None
    assert deepest_rank(replace(side, dataset=elsewhere), query.timeline, WHOLE, legs) is None
    assert deepest_rank(filtered, query.timeline, WHOLE, legs) is None
