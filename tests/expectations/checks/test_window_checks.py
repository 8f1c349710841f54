"""What kept windows must be: the plan's, whole, exact, and no hole between them longer than promised."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from expectations.checks import all_checks, limits_of
from expectations.evidence import Evidence, load_evidence, micros
from expectations.gate import judge
from expectations.observations import summarise
from shedding import warehouse
from shedding.config import Settings
from shedding.planning.slot_plan import by_calendar, gap_fills, settle_plan
from shedding.spec.query import QuerySpec
from tests.expectations.answers import SLOT, make_query
from tests.jobs.test_window_states import kept_answer

KEYS = ("whole_windows", "complete_rows", "exact_rows", "longest_gap")
CHECKS = {check.key: check for check in all_checks()}


def dropper(batch: int = 1, drop: float = 0.3) -> QuerySpec:
    shed = {"policy": "exact", "windows": {"drop": drop, "batch": batch}}
    return make_query(shed=shed, schedule={"every": "4 hours"})


def counted(evidence: Evidence, change: dict[int, int] | None = None) -> pa.Table:
    """The rows of the answer as arrival would have counted them, some of them otherwise."""
    rows = evidence.answer["sampled_rows"].to_numpy().copy()
    for place, more in (change or {}).items():
        rows[place] += more
    starts = pa.array(micros(evidence.answer["window_start"]), pa.int64())
    return pa.table({"window_start": starts, "route": evidence.answer["route"], "rows": pa.array(rows)})


@pytest.fixture
def evidence(settings: Settings) -> Evidence:
    """A slot with its kept windows alone, as arrival counted it."""
    query = dropper()
    settle_plan(settings, query, SLOT, "run")
    kept_answer(query, SLOT).write(settings)
    found = load_evidence(settings, query, SLOT, "run")
    assert found.drops is not None
    assert by_calendar(query, SLOT).dropped
    answer = found.answer
    for end in ("_low", "_high"):
        answer = answer.set_column(answer.column_names.index(f"fare{end}"), f"fare{end}", answer["fare"])
    found = replace(found, answer=answer)
    return replace(found, drops=replace(found.drops, counted=counted(found)))  # type: ignore[type-var]


def failed(evidence: Evidence) -> set[str]:
    """The checks of windows that do not pass."""
    batch, limits = summarise(evidence), limits_of(evidence.query)
    judged = [check for check in limits if check.key in KEYS and check.judges(batch)]
    return {one.key for one in judged if one.finding(evidence, batch, limits[one]).observed > limits[one]}


def test_they_hold_for_queries_that_drop_windows_and_for_no_others() -> None:
    assert set(KEYS) <= {check.key for check in limits_of(dropper())}
    assert not set(KEYS) & {check.key for check in limits_of(make_query())}
    assert limits_of(dropper(batch=3))[CHECKS["longest_gap"]] == 3


@pytest.mark.parametrize("key", KEYS)
def test_they_say_what_they_are_for_people_and_cannot_be_warnings(key: str) -> None:
    assert CHECKS[key].sentence.endswith(".")
    assert CHECKS[key].__doc__
    with pytest.raises(ValueError, match="which is no check"):
        make_query({"warn": [key]})


def test_kept_windows_as_they_should_be_pass(evidence: Evidence) -> None:
    assert failed(evidence) == set()


def test_a_window_on_part_of_its_rows_is_found_by_the_counts_of_arrival(evidence: Evidence) -> None:
    assert evidence.drops is not None
    for change in ({0: 1}, {3: -1}):
        partial = replace(evidence, drops=replace(evidence.drops, counted=counted(evidence, change)))
        assert failed(partial) == {"complete_rows"}
    lost = replace(evidence, answer=evidence.answer.slice(1))
    assert failed(lost) == {"complete_rows"}


def test_a_kept_window_without_an_answer_and_an_answer_of_a_dropped_one_are_found(evidence: Evidence) -> None:
    first = micros(evidence.answer["window_start"]) == evidence.starts[0]
    assert "whole_windows" in failed(replace(evidence, answer=evidence.answer.filter(pa.array(~first))))
    assert evidence.drops is not None
    dropped = replace(evidence.drops, plan=replace(evidence.drops.plan, kept=evidence.drops.plan.kept[1:]))
    assert "whole_windows" in failed(replace(evidence, drops=dropped))


def test_a_kept_window_that_has_no_rows_is_no_fault(evidence: Evidence) -> None:
    first = micros(evidence.answer["window_start"]) == evidence.starts[0]
    empty = replace(evidence, answer=evidence.answer.filter(pa.array(~first)))
    assert empty.drops is not None
    assert failed(replace(empty, drops=replace(empty.drops, counted=counted(empty)))) == set()


def test_a_row_that_is_estimated_is_found(evidence: Evidence) -> None:
    wide = evidence.answer["fare"].to_numpy() + np.eye(1, evidence.answer.num_rows)[0]
    place = evidence.answer.column_names.index("fare_high")
    assert failed(replace(evidence, answer=evidence.answer.set_column(place, "fare_high", pa.array(wide)))) == {
        "exact_rows"
    }


def test_without_counts_there_is_nothing_to_compare_rows_with(evidence: Evidence) -> None:
    assert evidence.drops is not None
    unknown = replace(evidence, drops=replace(evidence.drops, counted=None))
    assert not CHECKS["complete_rows"].judges(summarise(unknown))


def border(settings: Settings) -> tuple[QuerySpec, int]:
    """A slot planned with batch 1 beside one that was planned with batch 5, so that the hole between is too long."""
    old, new = dropper(5, 0.8), dropper(1, 0.4)
    length = new.timeline.slot
    for slot in range(SLOT, SLOT + 400 * length, length):
        before, first = by_calendar(old, slot - length), by_calendar(new, slot).windows[0]
        if set(before.windows[-2:]) <= set(before.dropped) and first in by_calendar(new, slot).kept:
            settle_plan(settings, old, slot - length, "old")
            return new, slot
    raise AssertionError("no such border")


def test_a_lowered_batch_fails_at_its_border_and_the_fewest_windows_are_filled(settings: Settings) -> None:
    query, slot = border(settings)
    plan = settle_plan(settings, query, slot, "run")
    kept_answer(query, slot).write(settings)
    verdict = judge(settings, query, slot, "run")
    assert "longest_gap" in {check.name for check in verdict.failed}
    assert gap_fills(settings, query, plan) == []  # the hole lies in the slot before
    length = query.timeline.slot
    earlier = settle_plan(settings, query, slot - length, "again")  # which fills what the new calendar keeps
    fills = gap_fills(settings, query, earlier)
    filled = settle_plan(settings, query, slot - length, "again", also=fills)
    assert set(filled.kept) == set(earlier.kept) | set(fills)
    assert gap_fills(settings, query, filled) == []


def test_the_verdict_has_a_line_of_each(settings: Settings) -> None:
    query = dropper()
    settle_plan(settings, query, SLOT, "run")
    kept_answer(query, SLOT).write(settings)
    names = {check.name for check in judge(settings, query, SLOT, "run").checks}
    assert set(KEYS) <= names
    table: Any = warehouse.verdicts(settings, query.name).read()
    assert set(KEYS) <= set(table["check"].to_pylist())
