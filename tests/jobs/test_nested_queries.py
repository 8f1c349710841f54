"""The shipped pair of nested queries: a day is the one-shot computation's, or it is not there and nothing was read."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import yaml

from shedding.config import Settings
from shedding.planning.slot_plan import by_calendar
from shedding.spec import Catalog, load_catalog
from shedding.spec.times import parse_instant
from shedding.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
JOBS = Path(__file__).resolve().parents[2] / "jobs"
DAY = 86_400_000_000
HALF_DAY = DAY // 2
HALVES, PEAKS = "taxi_half_hours", "taxi_daily_peaks"


def shipped(directory: Path) -> Catalog:
    """The pair and its dataset as they are shipped, with fewer rows."""
    for name in (f"queries/{HALVES}", f"queries/{PEAKS}"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(JOBS / f"{name}.yaml", directory / f"{name}.yaml")
    taxi = yaml.safe_load((JOBS / "datasets" / "taxi.yaml").read_text())
    taxi["source"]["rows_per_hour"] = 100
    taxi["schedule"] = {"every": "1 day"}
    (directory / "datasets").mkdir()
    (directory / "datasets" / "taxi.yaml").write_text(yaml.safe_dump(taxi))
    return load_catalog(directory)


def one_shot(raw: pd.DataFrame, day: int) -> pd.DataFrame:
    """The day's answer from its raw rows, by pandas."""
    time = raw.event_time.astype("int64") // (1 if raw.event_time.dtype.name.startswith("datetime64[us") else 1000)
    rows = raw.assign(time=time)[(time >= day) & (time < day + DAY)]
    groups = rows.groupby([rows.time // (DAY // 48), "pickup_zone"])
    halves = pd.DataFrame({"trips": groups.size(), "longest": groups.duration.max()}).reset_index()
    by_zone = halves.groupby("pickup_zone")
    return pd.DataFrame({
        "busiest": by_zone.trips.max(), "usual": by_zone.trips.mean(), "longest": by_zone.longest.max()
    })  # fmt: skip


def published(settings: Settings, query: str) -> Any:
    table = Table(settings.table("published", query))
    return table.read().to_pandas() if table.exists() else pd.DataFrame({"window_start": []})


def test_days_are_exact_or_absent_and_a_fill_goes_from_the_source_to_the_reader(
    spark: SparkSession, tmp_path: Path
) -> None:
    from jobs.ingest import ingest
    from jobs.run_slot import require_raw, run_slot
    from jobs.stale_slots import stale_slots

    settings = Settings(warehouse=str(tmp_path / "warehouse"), specs=tmp_path / "specs", docs=tmp_path / "docs")
    catalog = shipped(tmp_path / "specs")
    assert catalog.problems == ()
    reader = catalog.query(PEAKS)
    first = parse_instant("2024-03-04")
    days = [first + n * DAY for n in range(60)]
    kept, gone = next(
        (a, b) for a, b in pairwise(days)
        if by_calendar(reader, a).kept and not by_calendar(reader, b).kept
    )  # fmt: skip
    ingest(spark, settings, catalog, "taxi", interval=(kept, gone + DAY))

    def no_spark() -> SparkSession:
        raise AssertionError("a wholly dropped slot starts no JVM")

    def run(query: str, slot: int, session: Any = lambda: spark, **options: Any) -> str:
        require_raw(settings, catalog, query, [slot])
        return str(run_slot(session, settings, catalog, query, slot, "run", **options))

    for slot in (kept, kept + HALF_DAY):
        assert run(HALVES, slot).startswith("published")
    for slot in (gone, gone + HALF_DAY):
        assert "all windows dropped" in run(HALVES, slot, no_spark)
    assert run(PEAKS, kept).startswith("published")
    assert "all windows dropped" in run(PEAKS, gone, no_spark)
    raw = spark.read.format("delta").load(settings.table("raw", "taxi")).toPandas()
    found = published(settings, PEAKS).set_index("pickup_zone")[["busiest", "usual", "longest"]].sort_index()
    pd.testing.assert_frame_equal(found, one_shot(raw, kept), check_dtype=False, rtol=1e-12)
    bits = found.copy()

    assert "its source taxi_half_hours dropped" in run(PEAKS, gone, no_spark, fill=True)
    for slot in (gone, gone + HALF_DAY):
        assert run(HALVES, slot, fill=True).startswith("published")
    run(HALVES, kept)  # the same rows published again make no reader stale
    assert stale_slots(settings, catalog, PEAKS) == []
    assert run(PEAKS, gone, fill=True).startswith("published")
    both = published(settings, PEAKS)
    assert both.window_start.nunique() == 2
    later = both[both.window_start == both.window_start.max()].set_index("pickup_zone")
    expected = one_shot(raw, gone)
    pd.testing.assert_frame_equal(later[expected.columns].sort_index(), expected, check_dtype=False, rtol=1e-12)
    earlier = both[both.window_start == both.window_start.min()].set_index("pickup_zone")[bits.columns].sort_index()
    pd.testing.assert_frame_equal(earlier, bits, check_exact=True)
