"""Error limits on the real slices: what is published is within its limit, and a limit of 0 publishes exact rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from shedding.answers.run_record import results_rows
from shedding.answers.slot import answer_sides
from shedding.answers.slot_answer import SlotAnswer
from shedding.config import Settings
from shedding.planning.drift_audits import audit_plan
from shedding.spec.catalog import load_catalog
from shedding.spec.query import QuerySpec
from tests.conftest import ROOT
from tests.jobs.real_rows import QUERIES
from tests.shedding.rows_in_memory import RowsScans, side_of

pytestmark = pytest.mark.data
SLICES = {
    "tlc_green": ("green_tripdata_*.parquet", 0),
    "taxi_trips_2013": ("nyc_taxi_trips_*.parquet", 30),
    "flights": ("us_flights_*.parquet", 16),
    "taxi_fares_2013": ("nyc_taxi_fares_*.parquet", 9),
}
"""dataset -> its files, and how many slots of rows are enough (0: all)."""
JUDGED = 2


def rows_of(dataset: str, data: Path, query: QuerySpec) -> pd.DataFrame:
    """The last slots of a slice, with a u for each row."""
    files, slots = SLICES[dataset]
    rows = pd.concat([QUERIES[dataset][2](file) for file in sorted(data.glob(files))], ignore_index=True)
    rows = rows.dropna().sort_values("time").reset_index(drop=True)
    if dataset == "tlc_green":  # a few rows of other years
        rows = rows[rows.time >= pd.Timestamp("2022-01-01").value // 1000]
    first = rows.time.max() // query.timeline.slot * query.timeline.slot - slots * query.timeline.slot
    rows = rows[rows.time >= first] if slots else rows
    return rows.assign(u=np.random.default_rng(7).random(len(rows))).reset_index(drop=True)


def limited(query: QuerySpec, limit: float, fraction: float) -> QuerySpec:
    content = query.model_dump(mode="json", exclude_none=True)
    shed = {**content["shed"], "compare": [], "budget": {"fraction": fraction}, "tolerate": {"error": limit}}
    return QuerySpec.model_validate({**content, "shed": shed})


class World:
    """A slice and the audited slots of it that are judged."""

    def __init__(self, dataset: str, data: Path, warehouse: Path) -> None:
        self.query = load_catalog(ROOT / "jobs").query(QUERIES[dataset][0])
        self.rows, self.settings = rows_of(dataset, data, self.query), Settings(warehouse=str(warehouse))
        side, slot = side_of(self.rows, self.query), self.query.timeline.slot
        last = int(self.rows.time.max()) // slot * slot
        self.audits = audit_plan(self.query, [side], last).priors(last, JUDGED)

    def answers(self, limit: float, fraction: float) -> list[SlotAnswer]:
        query = limited(self.query, limit, fraction)
        scans = RowsScans(query)
        return [answer_sides(self.settings, query, slot, [side_of(self.rows, query)], scans) for slot in self.audits]


def shown(made: SlotAnswer) -> dict[str, pa.Table]:
    """The rows of each leg, all columns but the leg's name."""
    rows = results_rows(made.slot, made.windows, made.query.measures).to_pandas()
    return {leg: part.drop(columns="leg").reset_index(drop=True) for leg, part in rows.groupby("leg")}


def keys_left_out(made: SlotAnswer) -> set[Any]:
    found: set[Any] = set()
    for window in made.windows:
        if window.left_out is not None:
            keys = window.answer.sample.keys.table().filter(pa.array(window.left_out.omitted)).to_pylist()
            found |= {(window.answer.sample.start, *key.values()) for key in keys}
    return found


@pytest.mark.parametrize("dataset", SLICES)
def test_what_is_published_is_within_its_limit_and_exact_where_that_is_zero(
    dataset: str, data_dir: Path, tmp_path: Path
) -> None:
    world = World(dataset, data_dir, tmp_path)
    for limit in (0.1, 0.25, 0.5):
        within, rows, left_out = 0, 0, 0
        for made in world.answers(limit, 0.1):
            mine = shown(made)[made.query.shed.policy]
            left_out += len(keys_left_out(made))
            for measure in (m.name for m in made.query.measures if m.traits.estimated):
                within += int((mine[f"{measure}_error"] <= limit).sum())
                rows += len(mine)
            assert all(window.scores[m.name].window.mean <= 1 for window in made.windows for m in made.query.measures)
        print(f"{dataset} {limit}: {within / max(rows, 1):.4f} of {rows} rows within it, {left_out} keys left out")
        assert rows
        assert within >= 0.93 * rows
    for made in world.answers(0, 0.1):
        assert_exact_bits(made)


def assert_exact_bits(made: SlotAnswer) -> None:
    """What the shed leg shows are rows of the exact one."""
    legs = shown(made)
    mine, exact = legs[made.query.shed.policy], legs["exact"]
    same = exact.merge(mine[["window_start", *made.query.group_by]])
    assert len(mine)
    assert mine.is_exact.all()
    values = [name for name in mine if name != "error_kind"]
    pd.testing.assert_frame_equal(mine[values], same[values], check_exact=True)


@pytest.mark.parametrize("dataset", ["tlc_green", "taxi_trips_2013"])
def test_more_budget_never_leaves_out_more(dataset: str, data_dir: Path, tmp_path: Path) -> None:
    world = World(dataset, data_dir, tmp_path)
    before = None
    for fraction in (0.02, 0.05, 0.2):
        now = [keys_left_out(made) for made in world.answers(0.25, fraction)]
        print(f"{dataset} {fraction}: {[len(keys) for keys in now]} left out")
        assert before is None or all(more <= less for more, less in zip(now, before, strict=True))
        before = now
