"""Kept windows are the bits of the slot computed without drops, and nothing else is read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from shedding.answers.run_record import results_rows
from shedding.answers.slot import answer_sides
from shedding.answers.slot_answer import SlotAnswer
from shedding.config import Settings
from shedding.planning.slot_plan import by_calendar
from shedding.scan.read import Read
from shedding.spec.query import QuerySpec
from shedding.stretches import Stretches
from tests.shedding.rows_in_memory import HOUR, RowsScans, RowsSide, make_rows, side_of

pytestmark = pytest.mark.slow

MEASURES = [
    {"name": "mean", "agg": "avg", "column": "value"}, {"name": "total", "agg": "sum", "column": "value"},
    {"name": "trips", "agg": "count"}, {"name": "least", "agg": "min", "column": "value"},
    {"name": "most", "agg": "max", "column": "value"}, {"name": "p90", "agg": "quantile", "q": 0.9, "column": "value"},
]  # fmt: skip
WINDOWS = [{"size": "1 hour"}, {"size": "30 minutes", "slide": "10 minutes"}, {"size": "3 hours", "slide": "1 hour"}]
SLOTS = [6 * HOUR, 12 * HOUR]


def query_of(window: dict[str, str], shed: dict[str, Any], name: str = "q") -> QuerySpec:
    return QuerySpec.model_validate({
        "name": name, "dataset": "d", "window": window, "group_by": ["key"], "measures": MEASURES,
        "schedule": {"every": "6 hours"}, "shed": {"policy": "exact", **shed},
    })  # fmt: skip


class Watched(RowsScans):
    """Scans that remember what they were asked to read."""

    def __init__(self, query: QuerySpec) -> None:
        super().__init__(query)
        self.read: list[tuple[int, int]] = []

    def panes(self, side: RowsSide, measures: Any, stretches: Stretches, legs: Any, exact: bool) -> Read:
        self.read += stretches
        return super().panes(side, measures, stretches, legs, exact)

    def windows(self, side: RowsSide, measures: Any, windows: Any) -> pa.Table:
        self.read += windows
        return super().windows(side, measures, windows)


def rows_of(made: SlotAnswer) -> pa.Table:
    return results_rows(made.slot, made.windows, made.query.measures)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("drop", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("slot", SLOTS)
def test_every_kept_row_has_the_bits_of_the_exact_slot(
    settings: Settings, window: dict[str, str], drop: float, slot: int
) -> None:
    data = make_rows(hours=18)
    dropper = query_of(window, {"windows": {"drop": drop, "batch": 2}})
    plan, scans = by_calendar(dropper, slot), Watched(dropper)
    kept = rows_of(answer_sides(settings, dropper, slot, [side_of(data, dropper)], scans, plan))  # type: ignore[list-item, arg-type]
    plain = query_of(window, {}, "plain")
    exact = rows_of(answer_sides(settings, plain, slot, [side_of(data, plain)], RowsScans(plain)))  # type: ignore[list-item, arg-type]
    wanted = exact.filter(pc.is_in(exact["window_start"].cast(pa.int64()), pa.array(plan.kept, pa.int64())))
    assert kept.combine_chunks().equals(wanted.combine_chunks())
    assert plan.stretches.covers(Stretches.of(*scans.read))
    assert len(plan.kept) > 0


def test_a_run_says_how_many_windows_it_computed_and_why(settings: Settings) -> None:
    dropper = query_of(WINDOWS[1], {"windows": {"drop": 0.4, "batch": 5}})
    plan = by_calendar(dropper, SLOTS[0])
    side = side_of(make_rows(), dropper)
    made = answer_sides(settings, dropper, SLOTS[0], [side], RowsScans(dropper), plan)  # type: ignore[list-item, arg-type]
    assert made.shared["reason"].startswith(f"{len(plan.kept)} of {len(plan.windows)} windows computed (calendar")
    assert len(made.windows) == len(plan.kept)
