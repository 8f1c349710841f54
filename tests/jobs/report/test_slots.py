"""What became of each slot, from rows made by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from jobs.report.figures import LATE, QueryFigures
from jobs.report.slots import APPROVED, MISSING, PUBLISHED, REFUSED, REPAIRED, slots_of
from shedding.spec.timeline import slot_name
from tests.jobs.report.specs import FIRST, HOUR, make_query

QUERY = make_query()


def run_row(number: int, window: int = 0, **changes: Any) -> dict[str, Any]:
    start, end = QUERY.timeline.windows(FIRST + number * HOUR)[window]
    row = {
        "slot": slot_name(FIRST + number * HOUR), "leg": "posterior", "window_start": start, "window_end": end,
        "published": True, "audited": False, "error_kind": "estimated", "policy": "posterior", "slot_rows": 100.0,
        "processed_rows": 20.0, "total_rows": 20.0, "bytes_read": 800, "seconds": 2.0, "distance": 0.1,
        "mean_fare_mean_error": 0.02, "mean_fare_mean_bound": 0.04, "spec_fingerprint": "x", "reason": "",
    }  # fmt: skip
    return row | changes


def check_row(number: int, name: str = "mean_relative_error", **changes: Any) -> dict[str, Any]:
    row = {
        "slot": slot_name(FIRST + number * HOUR), "run_id": "run", "attempt": 0, "check": name, "observed": 0.04,
        "limit": 0.0445, "severity": "fail", "passed": True, "kind": "estimated", "detail": name,
        "at": FIRST + (number + 1) * HOUR + 1,
    }  # fmt: skip
    return row | changes


def slots(
    runs: list[Any], checks: list[Any], published: list[int], verified: Any = None, now: int | None = None
) -> Any:
    names = {slot_name(FIRST + number * HOUR): FIRST for number in published}
    tables = pa.Table.from_pylist(runs), pa.Table.from_pylist(checks)
    return slots_of(QUERY, *tables, names, verified or pa.table({}), now)


def test_each_slot_has_the_state_that_its_last_verdict_and_the_published_table_give_it() -> None:
    refused = {"passed": False, "observed": 0.05}
    approval = {"detail": "approved by Ann", "observed": None, "limit": None}
    checks = [
        check_row(0),
        check_row(1, **refused), check_row(1, attempt=1, at=FIRST + 9 * HOUR),
        check_row(2, **refused), check_row(2, "approval", **approval),
        check_row(3, **refused),
        check_row(5, "drift", severity="warn", passed=False),
    ]  # fmt: skip
    found = slots([run_row(n) for n in (0, 1, 2, 3, 5)], checks, [0, 1, 2, 5])
    assert [slot.outcome for slot in found] == [PUBLISHED, REPAIRED, APPROVED, REFUSED, MISSING, PUBLISHED]
    assert found[2].person == "approved by Ann"
    assert [check["check"] for check in found[5].warnings] == ["drift"]


def test_every_window_of_a_slot_without_an_answer_is_bad() -> None:
    found = slots([run_row(0), run_row(2)], [check_row(0), check_row(2)], [0, 2])
    assert [len(slot.bad_windows) for slot in found] == [0, 2, 0]


def test_of_an_approved_slot_the_windows_over_a_limit_are_bad() -> None:
    over = {"passed": False, "observed": 0.05}
    checks = [check_row(0, **over), check_row(0, "approval", detail="approved by Ann")]
    rows = [run_row(0, 0), run_row(0, 1, mean_fare_mean_bound=0.05)]
    (slot,) = slots(rows, checks, [0])
    assert slot.bad_windows == {rows[1]["window_end"]}
    checks[0]["check"] = "missing_keys"
    assert len(slots(rows, checks, [0])[0].bad_windows) == 2


def test_a_published_window_that_verification_found_over_its_limit_is_bad() -> None:
    end = QUERY.timeline.windows(FIRST)[1][1]
    verified = pa.table({"window_end": [end], "mean_over": [True], "p95_over": [None], "worst_over": [None]})
    (slot,) = slots([run_row(0)], [check_row(0)], [0], verified)
    assert slot.bad_windows == {end}


def test_a_live_query_that_stands_still_is_late_and_burns_its_budget() -> None:
    rows = [run_row(0)], [check_row(0)], [0]
    assert len(slots(*rows, now=FIRST + int(2.5 * HOUR))) == 1
    found = slots(*rows, now=FIRST + 10 * HOUR)
    assert [slot.outcome for slot in found] == [PUBLISHED, *[MISSING] * 8]
    assert QueryFigures(QUERY, found, FIRST + 10 * HOUR).standing == LATE


def test_a_replay_of_old_rows_owes_nothing_after_its_last_slot() -> None:
    long_after = FIRST + 100_000 * HOUR
    found = slots([run_row(0)], [check_row(0, at=long_after)], [0], now=long_after + HOUR)
    assert len(found) == 1
    assert not QueryFigures(QUERY, found, long_after).live


def test_cost_counts_audits_and_repairs_and_may_be_negative() -> None:
    audited = run_row(0, audited=True, total_rows=130.0, repair_rows=10.0)
    found = QueryFigures(QUERY, slots([audited, run_row(1)], [check_row(0), check_row(1)], [0, 1]), 0)
    rows = found.savings[0]
    assert (rows.shed, rows.audits, rows.repairs, rows.exact) == (40, 100, 10, 200)
    assert rows.saved == pytest.approx(0.25)
    assert found.break_even == pytest.approx(1 / 0.75)
    alone = QueryFigures(QUERY, slots([audited], [check_row(0)], [0]), 0)
    assert alone.savings[0].saved < 0


def test_a_later_refusal_leaves_a_slot_published() -> None:
    later = check_row(0, run_id="again", passed=False, at=FIRST + 50 * HOUR)
    (slot,) = slots([run_row(0)], [check_row(0), later], [0])
    assert slot.outcome == PUBLISHED
    assert slot.failures
