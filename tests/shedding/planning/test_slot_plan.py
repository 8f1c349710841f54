"""A slot's recorded plan: the first writer wins, kept windows stay kept, and any order of runs plans the same."""

from __future__ import annotations

import multiprocessing
import random
from typing import Any

import pytest

from shedding import warehouse
from shedding.config import Settings
from shedding.errors import DataError
from shedding.planning.slot_plan import SlotPlan, by_calendar, recorded, settle_plan
from shedding.spec.query import QuerySpec

HOUR = 3_600_000_000
SLOTS = [n * 6 * HOUR for n in range(80_000, 80_008)]


def dropper(drop: float = 0.4, batch: int = 2, **changes: Any) -> QuerySpec:
    content: dict[str, Any] = {
        "name": "hourly", "dataset": "taxi", "window": {"size": "1 hour"}, "group_by": ["route"],
        "measures": [{"name": "most", "agg": "max", "column": "fare"}], "schedule": {"every": "6 hours"},
        "shed": {"policy": "exact", "windows": {"drop": drop, "batch": batch}},
    }  # fmt: skip
    return QuerySpec.model_validate({**content, **changes})


def test_a_plan_is_the_calendars_and_is_recorded_once(settings: Settings) -> None:
    plan = settle_plan(settings, dropper(), SLOTS[0], "run")
    again = settle_plan(settings, dropper(), SLOTS[0], "other")
    assert plan == again
    assert plan.revision == 1
    assert plan.kept == by_calendar(dropper(), SLOTS[0]).kept
    assert set(plan.kept) | set(plan.dropped) == {start for start, _ in dropper().timeline.windows(SLOTS[0])}
    assert warehouse.plans(settings, "hourly").read()["run_id"].to_pylist() == ["run"]


def test_a_query_that_drops_nothing_records_nothing(settings: Settings) -> None:
    query = dropper(shed={"policy": "exact"})
    assert settle_plan(settings, query, SLOTS[0], "run").dropped == ()
    assert recorded(settings, query, SLOTS[0]) is None


def test_a_smaller_share_adds_windows_and_a_larger_one_takes_none_away(settings: Settings) -> None:
    for slot in SLOTS:
        middle = settle_plan(settings, dropper(0.4), slot, "middle")
        assert settle_plan(settings, dropper(0.6), slot, "more") == middle
        less = settle_plan(settings, dropper(0.1), slot, "less")
        assert set(middle.kept) <= set(less.kept)
        assert settle_plan(settings, dropper(0.6), slot, "more again") == less


def test_filling_keeps_all_windows_for_ever(settings: Settings) -> None:
    slot = next(slot for slot in SLOTS if by_calendar(dropper(), slot).dropped)
    settle_plan(settings, dropper(), slot, "run")
    filled = settle_plan(settings, dropper(), slot, "fill", fill=True)
    assert filled.dropped == ()
    assert filled.revision == 2
    assert settle_plan(settings, dropper(), slot, "again") == filled


def test_any_order_of_slots_plans_the_same(settings: Settings, tmp_path: Any) -> None:
    shuffled = random.Random(3).sample(SLOTS, len(SLOTS))
    other = settings.model_copy(update={"warehouse": str(tmp_path / "other")})
    forwards = {slot: settle_plan(settings, dropper(), slot, "a") for slot in SLOTS}
    backwards = {slot: settle_plan(other, dropper(), slot, "b") for slot in shuffled}
    assert forwards == backwards
    assert [forwards[slot].fingerprint for slot in SLOTS] == [backwards[slot].fingerprint for slot in SLOTS]


def _race(job: tuple[Settings, int]) -> SlotPlan:
    settings, number = job
    return settle_plan(settings, dropper(0.1 * (number % 5)), SLOTS[1], f"run {number}")


@pytest.mark.slow
def test_runners_that_race_with_other_shares_end_with_one_plan_that_holds_all_of_theirs(settings: Settings) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        plans = pool.map(_race, [(settings, number) for number in range(8)])
    stands = recorded(settings, dropper(), SLOTS[1])
    assert stands is not None
    assert all(set(plan.kept) <= set(stands.kept) for plan in plans)
    assert len({plan.fingerprint for plan in plans if plan.revision == stands.revision}) == 1


def test_a_plan_of_other_windows_is_refused_with_the_remedy(settings: Settings) -> None:
    settle_plan(settings, dropper(), SLOTS[0], "run")
    longer = dropper(window={"size": "2 hours"})
    with pytest.raises(DataError, match=r"planned for windows of 1 hour .* give the changed query a new name"):
        settle_plan(settings, longer, SLOTS[0], "run")
