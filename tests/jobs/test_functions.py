"""The functions that ship: right on what they are given, and their queries run on the rows that ship with them."""

from __future__ import annotations

import importlib.util
import math
import random
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

from jobs.aggregate import aggregate
from jobs.ingest import ingest
from shedding import warehouse
from shedding.config import Settings
from shedding.spec import load_catalog
from shedding.spec.times import parse_instant

SPECS = Path(__file__).parents[2] / "jobs"
START = parse_instant("2026-11-02T00:00:00Z")
SLOT = 6 * 3_600_000_000


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"_shipped_{name}", SPECS / "functions" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize(("text", "tone"), [
    ("a great box", 1.0), ("slow and broken", -1.0), ("good but poor", 0.0), ("not very good", -1.0),
    ("never a bad day. great", 1.0), ("not the box we bought for home, good", 1.0), ("the box", None), ("", None),
])  # fmt: skip
def test_the_tone_of_a_text_counts_praise_and_blame_and_turns_what_is_negated(text: str, tone: float | None) -> None:
    assert module("reviews").score(text) == tone


def test_the_nearest_shop_is_the_nearest_of_all_shops() -> None:
    places, chance = module("places"), random.Random(1)
    shops = [shop for cell in places._BY_CELL.values() for shop in cell]
    for _ in range(300):
        here = (10 + chance.gauss(0, 1.5), 50 + chance.gauss(0, 1.0))
        nearest = min(places._apart(here, shop) for shop in shops)
        assert places.shop_distance(*here) == pytest.approx(nearest, abs=1e-9)
    assert places.shop_distance(None, 50.0) is None
    assert places.shop_distance(-120.0, 50.0) is None


@pytest.mark.spark
def test_the_shipped_examples_enrich_as_many_rows_as_their_budgets_allow_and_tell_what_all_of_them_would(
    spark: SparkSession, settings: Settings
) -> None:
    catalog = load_catalog(SPECS)
    own = settings.model_copy(update={"specs": SPECS})
    dataset = catalog.datasets["product_reviews"]
    small = dataset.model_copy(update={"source": dataset.source.model_copy(update={"rows_per_hour": 400})})
    catalog.datasets["product_reviews"] = small
    ingest(spark, own, catalog, "product_reviews", interval=(START, START + 3 * SLOT))
    for query in ("review_tone", "review_shop_distance"):
        for slot in range(3):
            aggregate(spark, own, catalog, query, START + slot * SLOT, "run")
        runs = warehouse.runs(own, query).read().to_pandas().sort_values("slot")
        shed = runs[runs.published]
        assert not shed.audited.iloc[-1]
        made = warehouse.enriched(own, query).read().to_pandas()
        last = made[made.slot == shed.slot.iloc[-1]]
        assert 0 < len(last) <= shed.slot_rows.iloc[-1]
        if query == "review_shop_distance":  # a tenth of the rows; the other has a budget of seconds
            assert (shed.processed_fraction < 0.16).all()
            assert len(last) < 0.16 * shed.slot_rows.iloc[-1]
        else:
            plans = warehouse.plans(own, query).read().to_pandas()
            assert len(plans) == 3
            assert (plans.spent_seconds > 0).all()
        assert made.error.isna().all()
    results = warehouse.results(own, "review_tone").read().to_pandas()
    both = results.pivot_table(index=["slot", "product"], columns="leg", values="mean_tone").dropna()
    assert math.sqrt(((both.posterior - both.exact) ** 2).mean()) < both.exact.std()
