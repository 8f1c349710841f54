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
from shedding.keys import align
from shedding.rates import Rates
from shedding.sides import Side, deepest_of, sides_of
from shedding.spark.ranks import deepest_rank, ranks_fit
from shedding.spec import Catalog, load_catalog
from shedding.windows import Timeline
from tests.jobs.slots_in_order import END, QUERY, START, build

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
MINUTE = 60_000_000


@pytest.fixture(scope="module")
def city(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, Catalog]:
    """Six hours of trips, ranked by route in quarters of an hour."""
    from jobs.ingest import ingest

    settings = build(tmp_path_factory.mktemp("ranked"))
    file = Path(settings.specs) / "datasets" / "trips.yaml"
    spec = yaml.safe_load(file.read_text())
    spec["layout"] = {"kind": "ranked", "keys": ["route"], "pane": "15 minutes"}
    file.write_text(yaml.safe_dump(spec))
    catalog = load_catalog(settings.specs)
    ingest(spark, settings, catalog, "trips", interval=(START, END))
    return settings, catalog


def legs_of(side: Side) -> list[Rates]:
    """Small rates for keys with many rows, and whole keys of those with few."""
    counts = side.counts(START, END)
    assert counts is not None
    keys, (place,) = align([counts], side.keyset.keys)
    rows = np.bincount(place, counts.column("rows").to_numpy())
    return [Rates("some", keys, np.minimum(1.0, 60 / rows))]


def ordered(table: pa.Table) -> list[dict[str, Any]]:
    return table.sort_by([("pane_start", "ascending"), ("route", "ascending")]).to_pylist()


def test_a_leg_of_ranked_rows_is_the_leg_of_a_full_scan(
    spark: SparkSession, city: tuple[Settings, Catalog], monkeypatch: pytest.MonkeyPatch
) -> None:
    from shedding.spark import slot_scan

    settings, catalog = city
    query = catalog.query(QUERY)
    side = sides_of(settings, catalog, query)[0]
    legs = legs_of(side)
    counts = side.counts(START, END)
    assert counts is not None
    deepest = deepest_rank(counts, side.keyset.keys, legs)
    raw = spark.read.format("delta").load(settings.table("raw", "trips"))
    assert raw.where(f"_rank <= {deepest}").count() < 0.6 * raw.count()
    scans = slot_scan.SlotScan(spark, settings, query)
    few = scans.panes(side, query.measures, START, END, legs, exact=False)
    assert deepest_of(few) == deepest
    assert 0 < side.bytes(START, END, deepest=deepest) <= side.bytes(START, END)
    monkeypatch.setattr(slot_scan, "ranks_fit", lambda *_: False)
    assert ordered(few) == ordered(scans.panes(side, query.measures, START, END, legs, exact=False))


def test_ranks_of_other_keys_or_panes_or_of_a_part_of_the_rows_do_not_fit(city: tuple[Settings, Catalog]) -> None:
    settings, catalog = city
    query = catalog.query(QUERY)
    side = sides_of(settings, catalog, query)[0]
    finer = Timeline(size=30 * MINUTE, slide=10 * MINUTE, slot=30 * MINUTE)
    other = side.dataset.layout.model_copy(update={"keys": ["fare_amount"]})
    elsewhere = side.dataset.model_copy(update={"layout": other})
    filtered = replace(side, keyset=replace(side.keyset, where="fare_amount > 5"))
    assert ranks_fit(side, query.timeline, START, END)
    assert not ranks_fit(side, finer, START, END)
    assert not ranks_fit(replace(side, dataset=elsewhere), query.timeline, START, END)
    assert not ranks_fit(filtered, query.timeline, START, END)
