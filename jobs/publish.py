"""Publish a slot that passed the gate, or keep a refused one in quarantine. The only writer of `published/`.

All windows of the slot change in one Delta commit or none does; a reader never sees half a slot. What the
table's columns mean to its readers is in PUBLISHED.md.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from expectations.evidence import require_own_run, require_own_specification
from expectations.verdict import Verdict, read_verdict
from jobs.slot_log import log_slot
from jobs.window_states import Decision, write_states
from shedding import warehouse
from shedding.answers.omissions import OMITTED
from shedding.config import Settings
from shedding.errors import DataError
from shedding.spec.query import QuerySpec
from shedding.spec.shed import EXACT
from shedding.spec.timeline import slot_name
from shedding.spec.times import format_instant
from shedding.tables import holds

STAMP = pa.timestamp("us", "UTC")
OMITTED_COLUMNS = ("population", "planned_error", "error_limit", "rows_needed", "reason")


def publish(settings: Settings, query: QuerySpec, slot: int, verdict: Verdict, run_id: str) -> int:
    """Make the judged rows the slot's published ones; the new version of `published/<query>`.

    Guarantees: the rows are those of the versions that the verdict names, written by the run that it judged; without a
    recorded verdict that passed, or where the specification has changed since, nothing is written (VerdictError,
    DataError); `revision` is one more than the slot's last, also when publishers race; a schema change that is not
    additive is refused before anything is written. What is replaced are the windows that end in the slot: no window is
    there twice or gone, whatever `schedule.every` they were published under.
    """
    recorded = read_verdict(settings, query.name, slot, run_id, verdict.attempt)
    if not (recorded.passed and verdict.passed):
        raise recorded.error()
    rows, runs = _judged_rows(settings, query, slot, recorded)
    require_own_specification(query, slot, runs)
    policy = _policy(runs, recorded)
    table = warehouse.published(settings, query.name)
    _refuse_narrowing(query, table.schema(), _published(query, rows, slot, policy, run_id, 1).schema)
    _publish_omitted(settings, query, slot, recorded, run_id)
    version, _ = table.revise(
        lambda revision: _published(query, rows, slot, policy, run_id, revision),
        where={"window_end": (format_instant(slot), format_instant(slot + query.timeline.slot))},
        counter=f"{query.name}/{slot_name(slot)}",
        metadata={**_metadata(query, slot, recorded, run_id), "policy": policy},
    )
    write_states(settings, query, slot, rows, Decision(run_id, published_version=version))
    log_slot("published", query.name, slot, run_id, version=version, rows=rows.num_rows, **_judged(recorded, policy))
    return version


def quarantine(settings: Settings, query: QuerySpec, slot: int, verdict: Verdict, run_id: str) -> int:
    """Keep a refused slot's rows with the verdict's reason in `quarantine/<query>`; its new version.

    The published table is not touched. A later run of the same slot replaces what is kept of it.
    """
    rows, runs = _judged_rows(settings, query, slot, verdict)
    policy, count = _policy(runs, verdict), rows.num_rows
    kept = rows.drop_columns(["slot", "leg"])
    for name, value in (("policy", policy), ("run_id", run_id), ("verdict", verdict.reason), ("slot", slot_name(slot))):
        kept = kept.append_column(name, pa.repeat(value, count))
    table = warehouse.quarantined_slots(settings, query.name)
    metadata = {**_metadata(query, slot, verdict, run_id), "policy": policy, "reason": verdict.reason}
    version = table.replace(kept, {"slot": slot_name(slot)}, metadata)
    write_states(settings, query, slot, rows, Decision(run_id, refused=verdict.reason))
    log_slot("refused", query.name, slot, run_id, version=version, rows=count, **_judged(verdict, policy))
    return version


def drop_slot(settings: Settings, query: QuerySpec, slot: int, run_id: str) -> int:
    """Write down that all windows of a slot are dropped, without a JVM; the new version of `windows/<query>`."""
    version = write_states(settings, query, slot, None, Decision(run_id))
    log_slot("dropped", query.name, slot, run_id, version=version)
    return version


def _judged(verdict: Verdict, policy: str) -> dict[str, Any]:
    """What a slot's line tells of the gate: names of checks, no values of the data."""
    return {
        "policy": policy, "repaired": verdict.attempt > 0, "checks": len(verdict.checks),
        "failed": sorted(check.name for check in verdict.failed),
        "warnings": sorted(check.name for check in verdict.warnings),
    }  # fmt: skip


def _judged_rows(settings: Settings, query: QuerySpec, slot: int, verdict: Verdict) -> tuple[pa.Table, pa.Table]:
    """The rows that the verdict judged, at the version it judged them, in a fixed order; and their run rows."""
    where = [("slot", "=", slot_name(slot)), ("leg", "=", verdict.leg)]
    rows = warehouse.results(settings, query.name).read(where, version=verdict.results_version)
    columns = ["leg", "policy", "run_id", "spec_fingerprint"]
    runs = warehouse.runs(settings, query.name).read(where, columns, version=verdict.runs_version)
    require_own_run(query, slot, runs, verdict.run_id)
    order = [("window_start", "ascending"), *((key, "ascending") for key in query.group_by)]
    return rows.take(pc.sort_indices(rows, order)), runs


def _publish_omitted(settings: Settings, query: QuerySpec, slot: int, verdict: Verdict, run_id: str) -> None:
    """Make the keys that the judged answer leaves out those of `omitted/<query>`, in the place of the slot's last.

    Written just before the rows: a key is in one of both tables at least, whenever a reader looks.
    """
    table = warehouse.omitted(settings, query.name)
    where = [("slot", "=", slot_name(slot)), ("leg", "=", OMITTED)]
    rows = warehouse.results(settings, query.name).read(where, version=verdict.results_version)
    if verdict.leg == EXACT or "planned_error" not in rows.column_names:
        rows = rows.slice(0, 0)
    if not rows.num_rows and not table.exists():
        return
    order = [("window_start", "ascending"), *((key, "ascending") for key in query.group_by)]
    rows = rows.take(pc.sort_indices(rows, order))
    known = [name for name in OMITTED_COLUMNS if name in rows.column_names]
    columns = {name: rows[name] for name in ("window_start", "window_end", *query.group_by, *known)}
    columns["run_id"] = pa.array([run_id] * rows.num_rows, pa.string())
    columns["slot"] = pa.array([slot_name(slot)] * rows.num_rows, pa.string())
    ends = {"window_end": (format_instant(slot), format_instant(slot + query.timeline.slot))}
    table.replace(pa.table(columns), ends, _metadata(query, slot, verdict, run_id))


def _policy(runs: pa.Table, verdict: Verdict) -> str:
    return str(runs["policy"][0].as_py()) if runs.num_rows else verdict.leg


def _published(query: QuerySpec, rows: pa.Table, slot: int, policy: str, run_id: str, revision: int) -> pa.Table:
    """The consumer's columns, in the consumer's order."""
    count = rows.num_rows
    columns = [("window_start", rows["window_start"].cast(STAMP)), ("window_end", rows["window_end"].cast(STAMP))]
    columns += [(key, rows[key]) for key in query.group_by]
    for measure in query.measures:
        columns += [(name, rows[name]) for name in (measure.name, f"{measure.name}_low", f"{measure.name}_high")]
    columns += [
        (name, rows[name]) for name in ("confidence", "is_exact", "is_imputed", "sampling_rate", "sampled_rows")
    ]
    columns += [
        ("policy", pa.repeat(policy, count)),
        ("run_id", pa.repeat(run_id, count)),
        ("revision", pa.repeat(pa.scalar(revision, pa.int64()), count)),
        ("published_at", pa.repeat(pa.scalar(dt.datetime.now(dt.UTC), STAMP), count)),
        ("slot", pa.repeat(slot_name(slot), count)),
    ]
    return pa.table(dict(columns))


def _refuse_narrowing(query: QuerySpec, old: pa.Schema | None, new: pa.Schema) -> None:
    """Added columns are welcome; a removed, renamed or retyped one would break readers."""
    remedy = (
        f"put it back into queries/{query.name}.yaml, or give the changed query a new name: readers of "
        f"published/{query.name} rely on it"
    )
    for field in old or ():
        if field.name not in new.names:
            raise DataError(
                f"published/{query.name} has the column {field.name}, which the query no longer makes; {remedy}"
            )
        kind = new.field(field.name).type
        if not holds(field.type, kind):
            raise DataError(f"published/{query.name}.{field.name} is {field.type} and would become {kind}; {remedy}")


def _metadata(query: QuerySpec, slot: int, verdict: Verdict, run_id: str) -> dict[str, object]:
    return {
        "run_id": run_id,
        "slot": slot_name(slot),
        "leg": verdict.leg,
        "budget": query.shed.budget.model_dump(exclude_none=True),
        "verdict": verdict.outcome,
        "attempt": verdict.attempt,
        "results_version": verdict.results_version,
    }
