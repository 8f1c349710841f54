"""The gate's decision as data: one row per run and check, written before anything is published.

Light on purpose: publishing and the DAGs read verdicts without importing Great Expectations.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from shedding import warehouse
from shedding.config import Settings
from shedding.errors import DataError, VerdictError
from shedding.spec.timeline import slot_name

APPROVAL = "approval"
"""The check that a person's decision adds."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check of one run: what was observed, what was allowed, and whether a failure stops the slot.

    Of an error that was not measured `observed` is its bound at the gate's risk, `estimate` what is expected.
    """

    name: str
    observed: float | None
    limit: float | None
    severity: str
    passed: bool
    kind: str
    detail: str
    estimate: float | None = None

    @property
    def stops(self) -> bool:
        """Whether this check alone keeps the slot from being published."""
        return not self.passed and self.severity == "fail"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's decision on one slot at the pinned versions it judged; `attempt` 0 first, 1 after a repair."""

    query: str
    slot: int
    run_id: str
    attempt: int
    leg: str
    results_version: int
    runs_version: int
    checks: tuple[Check, ...]
    docs: str = ""

    @property
    def passed(self) -> bool:
        """Whether the slot may be published: no failed check stops it, or a person approved it."""
        approvals = [check for check in self.checks if check.name == APPROVAL]
        if approvals:
            return approvals[-1].passed
        return bool(self.checks) and not any(check.stops for check in self.checks)

    @property
    def outcome(self) -> str:
        """One word or two for the commit: passed, failed, or approved (by whom) over its budget."""
        if self.passed and self.failed:
            return next(check.detail for check in self.checks if check.name == APPROVAL)
        return "passed" if self.passed else "failed"

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that stop the slot."""
        return tuple(check for check in self.checks if check.stops)

    @property
    def warnings(self) -> tuple[Check, ...]:
        """The checks that failed and only warn."""
        return tuple(check for check in self.checks if not check.passed and not check.stops)

    @property
    def reason(self) -> str:
        """One line: the verdict and, where it failed, by what."""
        if self.passed:
            return f"{self.query} {slot_name(self.slot)}: passed {len(self.checks)} checks"
        why = "; ".join(check.detail for check in sorted(self.failed, key=lambda check: check.name != APPROVAL))
        return f"{self.query} {slot_name(self.slot)}: refused by the gate: {why}"

    def error(self) -> VerdictError:
        """What a task raises on a refusal; it is never retried."""
        return VerdictError(f"{self.reason}. Nothing was published; the last good rows stay as they are")


def write_verdict(settings: Settings, verdict: Verdict) -> int:
    """Record the verdict in place of the run's older ones of this attempt; the table's new version.

    A first attempt also removes the later ones: they judged rows that the run has computed anew since.
    """
    at = dt.datetime.now(dt.UTC)
    rows = [
        {
            "slot": slot_name(verdict.slot), "run_id": verdict.run_id, "attempt": verdict.attempt,
            "check": check.name, "observed": check.observed, "limit": check.limit, "severity": check.severity,
            "passed": check.passed, "kind": check.kind, "detail": check.detail, "leg": verdict.leg,
            "estimate": check.estimate,
            "docs": verdict.docs, "results_version": verdict.results_version, "runs_version": verdict.runs_version,
            "at": at,
        }
        for check in verdict.checks
    ]  # fmt: skip
    where: dict[str, str | int] = {"slot": slot_name(verdict.slot), "run_id": verdict.run_id}
    if verdict.attempt:
        where["attempt"] = verdict.attempt
    metadata = {**where, "attempt": verdict.attempt, "passed": verdict.passed}
    table = warehouse.verdicts(settings, verdict.query)
    return table.replace(pa.Table.from_pylist(rows, schema=warehouse.verdicts.schema), where, metadata)


def read_verdict(settings: Settings, query: str, slot: int, run_id: str, attempt: int | None = None) -> Verdict:
    """The recorded verdict of a run, its last attempt unless one is named; DataError where the gate never judged it."""
    table = warehouse.verdicts(settings, query)
    where = [("slot", "=", slot_name(slot)), ("run_id", "=", run_id)]
    rows = table.read(where).to_pylist() if table.exists() else []
    return verdict_of(query, slot, run_id, rows, attempt)


def verdict_of(
    query: str, slot: int, run_id: str, rows: Sequence[Mapping[str, Any]], attempt: int | None = None
) -> Verdict:
    """The verdict that a run's rows of `verdicts/<query>` record, as `read_verdict` gives it."""
    attempt = max((row["attempt"] for row in rows), default=0) if attempt is None else attempt
    rows = [row for row in rows if row["attempt"] == attempt]
    if not rows:
        raise DataError(
            f"verdicts/{query} has no verdict of run {run_id} on slot {slot_name(slot)}; let the gate judge it first"
        )
    checks = tuple(
        Check(
            name=row["check"], observed=row["observed"], limit=row["limit"], severity=row["severity"],
            passed=row["passed"], kind=row["kind"], detail=row["detail"], estimate=row.get("estimate"),
        )
        for row in rows
    )  # fmt: skip
    first = rows[0]
    return Verdict(
        query=query, slot=slot, run_id=run_id, attempt=attempt, leg=first["leg"], docs=first["docs"],
        results_version=first["results_version"], runs_version=first["runs_version"],
        checks=tuple(sorted(checks, key=lambda check: check.name == APPROVAL)),
    )  # fmt: skip


def decide(settings: Settings, verdict: Verdict, approved: bool, person: str) -> Verdict:
    """Add a person's decision (`on_failure: ask`) to a refused verdict and record it."""
    detail = f"{'approved' if approved else 'rejected'} by {person}"
    approval = Check(APPROVAL, None, None, "fail", approved, "structural", detail)
    judged = (check for check in verdict.checks if check.name != APPROVAL)  # a second answer replaces the first
    decided = replace(verdict, checks=(*judged, approval))
    write_verdict(settings, decided)
    return decided
