"""What became of each slot of a query: published, repaired, approved, refused, never run; and what it cost. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from expectations.verdict import APPROVAL
from shedding.compare.error_budget import Flags, Instants
from shedding.estimates.accuracy import STATISTICS
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.spec.times import parse_instant

PUBLISHED, REPAIRED, APPROVED, REFUSED, MISSING = "published", "repaired", "approved", "refused", "missing"
STATES = (PUBLISHED, REPAIRED, APPROVED, REFUSED, MISSING)
EXACT = "exact"
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cost:
    """Rows processed, bytes read and seconds of one slot's run; NaN where nobody recorded them."""

    shed_rows: float = math.nan
    audit_rows: float = math.nan
    repair_rows: float = math.nan
    exact_rows: float = math.nan
    bytes: float = math.nan
    seconds: float = math.nan

    @property
    def rows(self) -> float:
        """All rows that were processed for the slot."""
        return self.shed_rows + self.audit_rows + self.repair_rows


@dataclass(frozen=True)
class Slot:
    """One slot as its tables tell of it.

    `error` was measured or is expected (`kind` says which), `bound` is what the gate judged, `limit` what it allowed.
    """

    start: int
    outcome: str
    kind: str = ""
    policy: str = ""
    error: float = math.nan
    bound: float = math.nan
    limit: float = math.nan
    coverage: float = math.nan
    drift: float = math.nan
    audited: bool = False
    judged_at: int | None = None
    published_at: int | None = None
    cost: Cost = Cost()
    checks: Sequence[Row] = ()
    bad_windows: frozenset[int] = frozenset()
    specification: str = ""
    reason: str = ""
    legs: Mapping[str, Sequence[Row]] = field(default_factory=dict)

    @property
    def warnings(self) -> list[Row]:
        """The checks that failed and only warn."""
        return [check for check in self.checks if not check["passed"] and check["severity"] == "warn"]

    @property
    def failures(self) -> list[Row]:
        """The checks that failed and stop a slot, a person's no among them."""
        return [check for check in self.checks if not check["passed"] and check["severity"] == "fail"]

    @property
    def person(self) -> str:
        """What a person decided, in the verdict's words; empty where nobody was asked."""
        return next((str(check["detail"]) for check in self.checks if check["check"] == APPROVAL), "")


def slots_of(
    query: QuerySpec,
    runs: pa.Table,
    verdicts: pa.Table,
    published: Mapping[str, int],
    verified: pa.Table,
    now: int | None = None,
) -> list[Slot]:
    """Every slot from the first that any table knows to the last, those in between that nobody ran included.

    With `now`, also those that should have been published by then, where the query runs live: its newest slot was
    judged within `objective.over` of its end. A slot is due one slot's length after its end.
    """  # fmt: skip
    by_run, by_verdict = _grouped(runs), _grouped(verdicts)
    names = {*by_run, *by_verdict, *published}
    if not names:
        return []
    over = _verified_over(verified)
    first, last = parse_instant(min(names)), parse_instant(max(names))
    judged = max((check["at"] for check in by_verdict.get(max(names), ())), default=None)
    last = max(last, _last_due(query, last, judged, now))
    return [
        _slot(query, start, by_run.get(name, ()), _last_verdict(by_verdict.get(name, ())), published.get(name), over)
        for start in range(first, last + 1, query.timeline.slot)
        for name in (slot_name(start),)
    ]


def window_flags(query: QuerySpec, slots: Sequence[Slot]) -> tuple[Instants, Flags]:
    """The ends of all windows of the slots, ascending, and which of them are bad: over a limit or not published."""
    ends = [end for slot in slots for _, end in query.timeline.windows(slot.start)]
    bad = [end in slot.bad_windows for slot in slots for _, end in query.timeline.windows(slot.start)]
    return np.array(ends, dtype=np.int64), np.array(bad, dtype=bool)


def is_live(query: QuerySpec, end: int, judged: int | None) -> bool:
    """Whether a slot that ended at `end` was judged about then, and not in a replay of old rows."""
    return judged is not None and 0 <= judged - end <= query.objective.over


def _last_due(query: QuerySpec, last: int, judged: int | None, now: int | None) -> int:
    length = query.timeline.slot
    if now is None or not is_live(query, last + length, judged):
        return last
    return query.timeline.slot_of(now) - 2 * length


def _slot(
    query: QuerySpec, start: int, runs: Sequence[Row], checks: Sequence[Row], published: int | None,
    verified: frozenset[int],
) -> Slot:  # fmt: skip
    answer = [row for row in runs if row["published"]]
    state = _state(query, checks, published)
    statistic = judged_statistic(query)
    first: Row = answer[0] if answer else {}
    limits = [c["limit"] for c in checks if c["check"] == f"{statistic}_relative_error" and c["limit"] is not None]
    kinds = {row["error_kind"] for row in answer}
    kind = EXACT if kinds == {EXACT} else "measured" if kinds and kinds <= {EXACT, "measured"} else "estimated"
    return Slot(
        start=start, outcome=state, kind=kind if answer else "", policy=str(first.get("policy") or ""),
        error=_most(query, answer, f"{statistic}_error"), bound=_most(query, answer, f"{statistic}_bound"),
        limit=limits[0] if limits else math.nan, coverage=_coverage(query, answer), drift=_number(first, "distance"),
        audited=bool(first.get("audited")), judged_at=checks[0]["at"] if checks else None, published_at=published,
        cost=_cost(query, runs, first), checks=checks, reason=str(first.get("reason") or ""),
        bad_windows=_bad_windows(query, start, state, answer, checks, verified),
        specification=str(first.get("spec_fingerprint") or ""), legs=_grouped_by_leg(runs),
    )  # fmt: skip


def judged_statistic(query: QuerySpec) -> str:
    """The statistic of the errors that the page draws: the first that the gate limits, else the mean."""
    return next((one for one in STATISTICS if getattr(query.gate, f"{one}_relative_error") is not None), "mean")


def _state(query: QuerySpec, checks: Sequence[Row], published: int | None) -> str:
    approved = any(check["check"] == APPROVAL and check["passed"] for check in checks)
    passed = bool(checks) and (approved or not any(c["severity"] == "fail" and not c["passed"] for c in checks))
    if published is None and not (passed and query.gate.allow_empty):
        return REFUSED if checks else MISSING
    if passed and approved:
        return APPROVED
    return REPAIRED if passed and checks[0]["attempt"] else PUBLISHED


def _bad_windows(
    query: QuerySpec, start: int, state: str, answer: Sequence[Row], checks: Sequence[Row], verified: frozenset[int]
) -> frozenset[int]:
    """The ends of the windows that break the promise.

    Where a person approved a slot over its budget: those over an error limit, or all where another check had failed.
    """
    every = frozenset(end for _, end in query.timeline.windows(start))
    if state in (REFUSED, MISSING):
        return every
    over = frozenset[int]()
    if state == APPROVED:
        failed = {check["check"] for check in checks if not check["passed"] and check["severity"] == "fail"}
        errors = {f"{statistic}_relative_error" for statistic in STATISTICS}
        over = frozenset(row["window_end"] for row in answer if _is_over(query, row)) if failed <= errors else every
        over = over or every
    return over | (verified & every)


def _is_over(query: QuerySpec, row: Row) -> bool:
    for statistic in STATISTICS:
        limit = getattr(query.gate, f"{statistic}_relative_error")
        part = "error" if row["error_kind"] in (EXACT, "measured") else "bound"
        values = (row.get(f"{measure.name}_{statistic}_{part}") for measure in query.measures)
        if limit is not None and any(value is not None and value > limit for value in values):
            return True
    return False


def _cost(query: QuerySpec, runs: Sequence[Row], first: Row) -> Cost:
    if not first:
        return Cost()
    total, repairs = _number(first, "total_rows"), _number(first, "repair_rows", 0.0)
    own = next((row for row in runs if row["leg"] == query.shed.policy), first)
    shed = min(_number(own, "processed_rows"), total - repairs)
    return Cost(
        shed_rows=shed, audit_rows=total - repairs - shed, repair_rows=repairs, exact_rows=_number(first, "slot_rows"),
        bytes=_number(first, "bytes_read") + _number(first, "repair_bytes", 0.0), seconds=_number(first, "seconds"),
    )  # fmt: skip


def _last_verdict(checks: Sequence[Row]) -> Sequence[Row]:
    """The checks of the slot's newest verdict, the person's decision last."""
    if not checks:
        return ()
    newest = max(checks, key=lambda check: (check["at"], check["attempt"]))
    own = [c for c in checks if (c["run_id"], c["attempt"]) == (newest["run_id"], newest["attempt"])]
    return sorted(own, key=lambda check: check["check"] == APPROVAL)


def _grouped(table: pa.Table) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in table.to_pylist():
        found[row["slot"]].append(row)
    return found


def _grouped_by_leg(runs: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in runs:
        found[row["leg"]].append(row)
    return dict(found)


def _verified_over(verified: pa.Table) -> frozenset[int]:
    columns = [f"{statistic}_over" for statistic in STATISTICS]
    return frozenset(row["window_end"] for row in verified.to_pylist() if any(row.get(column) for column in columns))


def _most(query: QuerySpec, rows: Sequence[Row], column: str) -> float:
    values = [row.get(f"{measure.name}_{column}") for row in rows for measure in query.measures]
    return max((value for value in values if value is not None and not math.isnan(value)), default=math.nan)


def _coverage(query: QuerySpec, rows: Sequence[Row]) -> float:
    """The mean coverage of the windows' intervals over the measures, where it was measured."""
    values = [row.get(f"{measure.name}_coverage") for row in rows for measure in query.measures]
    known = [value for value in values if value is not None and not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def _number(row: Row, column: str, default: float = math.nan) -> float:
    value = row.get(column)
    return default if value is None else float(value)
