"""What is remembered of a slot: in pieces or at once the same panes, and no row of it is read twice."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from shedding.answers.slot import exact_panes
from shedding.config import Settings
from shedding.panes.exact_panes import ExactPanes
from shedding.panes.panes import Panes
from shedding.scan.read import Read
from shedding.spec.query import QuerySpec
from shedding.stretches import Stretches
from tests.shedding.rows_in_memory import HOUR, MINUTE, RowsScans, RowsSide, make_rows, side_of

SLOT = 4 * HOUR
LATE, EARLY = Stretches.of((7 * HOUR, 8 * HOUR)), Stretches.of((4 * HOUR, 5 * HOUR), (6 * HOUR, 7 * HOUR + 30 * MINUTE))


class Watched(RowsScans):
    """Scans that remember what they were asked to read."""

    def __init__(self, query: QuerySpec) -> None:
        super().__init__(query)
        self.read: list[Stretches] = []

    def panes(self, side: RowsSide, measures: Any, stretches: Stretches, legs: Any, exact: bool) -> Read:
        self.read.append(stretches)
        return super().panes(side, measures, stretches, legs, exact)


def query_of(window: dict[str, str], agg: str = "avg") -> QuerySpec:
    measure = {"name": "m", "agg": agg, "column": "value"} | ({"q": 0.5} if agg == "quantile" else {})
    return QuerySpec.model_validate({
        "name": "q", "dataset": "d", "window": window, "group_by": ["key"], "measures": [measure],
        "schedule": {"every": "4 hours"}, "shed": {"policy": "posterior", "budget": {"fraction": 0.2}},
    })  # fmt: skip


def memory_of(settings: Settings, query: QuerySpec, data: Any) -> tuple[ExactPanes, Watched]:
    scans = Watched(query)
    return exact_panes(settings, query, [side_of(data, query)], scans)[0], scans  # type: ignore[list-item, arg-type]


def same(one: Panes, other: Panes) -> bool:
    return pa.table(one.table({})).equals(pa.table(other.table({})))


def test_panes_of_pieces_are_those_of_one_scan_and_each_stretch_is_read_once(settings: Settings) -> None:
    query, data = query_of({"size": "1 hour", "slide": "30 minutes"}), make_rows()
    whole = memory_of(settings.model_copy(update={"warehouse": f"{settings.warehouse}-whole"}), query, data)[0]
    for part in (LATE, EARLY):
        panes, scans = memory_of(settings, query, data)  # a process of its own: what it knows is in the table
        assert same(panes.exact(SLOT, part), whole.exact(SLOT, part))
        assert scans.read == [part.minus(LATE)] if part is EARLY else scans.read == [LATE]
    panes, scans = memory_of(settings, query, data)
    assert same(panes.exact(SLOT), whole.exact(SLOT))
    assert scans.read == [Stretches.of((5 * HOUR, 6 * HOUR))]


def test_rows_that_no_remembered_pane_holds_leave_it_fresh(settings: Settings) -> None:
    query, data = query_of({"size": "1 hour", "slide": "30 minutes"}), make_rows()
    memory_of(settings, query, data)[0].exact(SLOT, LATE)
    elsewhere = data[data.time // HOUR != 5]
    panes, scans = memory_of(settings, query, elsewhere)
    panes.exact(SLOT, LATE)
    assert scans.read == []
    panes, scans = memory_of(settings, query, data.assign(value=data.value + (data.time // HOUR == 7)))
    panes.exact(SLOT, LATE)
    assert scans.read == [LATE]


def test_quantiles_of_blocks_need_the_whole_slot_in_one_scan(settings: Settings) -> None:
    query, data = query_of({"size": "1 hour", "slide": "30 minutes"}, "quantile"), make_rows()
    panes, scans = memory_of(settings, query, data)
    assert panes.exact(SLOT, LATE).measures["m"].levels is None  # type: ignore[attr-defined]
    assert panes.exact(SLOT).measures["m"].levels is not None  # type: ignore[attr-defined]
    assert scans.read == [LATE, Stretches.of((SLOT, 8 * HOUR))]


@pytest.mark.parametrize("window", [{"size": "10 minutes", "slide": "1 hour"}])
def test_gaps_between_windows_are_not_read(settings: Settings, window: dict[str, str]) -> None:
    query = query_of(window)
    panes, scans = memory_of(settings, query, make_rows())
    starts = {int(start) % HOUR for start in panes.exact(SLOT).start}
    assert starts == {0}
    assert scans.read == [Stretches.of(*((h * HOUR, h * HOUR + 10 * MINUTE) for h in range(4, 8)))]
