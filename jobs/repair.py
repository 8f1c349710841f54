"""Repair a slot that the gate refused, so that it can be judged again.

`repair` computes the failing keys exactly, from their own rows only, and puts them among the others; where that
would cost as much as the exact leg, or no key is to blame, the whole slot is computed exactly (`widen`). On an
audited slot the exact rows are there already: nothing is read and no JVM started. Publishes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from expectations.evidence import (
    Evidence,
    claimed_errors,
    judged_errors,
    load_evidence,
    micros,
    numbers,
    positions,
    silent_rows,
)
from expectations.repair_plan import Repair, plan_repair
from expectations.repair_rounds import among, repair_in_rounds
from expectations.verdict import read_verdict
from shedding import warehouse
from shedding.answers.answer import largest
from shedding.answers.omissions import OMITTED
from shedding.config import Settings
from shedding.ingest.side import Side, sides_of
from shedding.keys import align
from shedding.planning.drift_audits import AuditPlans
from shedding.planning.fingerprints import answer_fingerprint
from shedding.planning.slot_plan import gap_fills, settle_plan, standing
from shedding.spec import Catalog
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.spec.times import format_instant, parse_instant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXACT = "exact"
COSTS = [("repaired_keys", pa.int64()), ("repair_rows", pa.float64()), ("repair_bytes", pa.int64())]
"""Columns that a repair adds to the run's rows: keys fixed, raw rows processed and bytes read for it."""


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair did: keys fixed (all of them where the slot was widened) and what it read."""

    keys: int
    widened: bool
    rows: float
    bytes: int
    why: str

    def __str__(self) -> str:
        what = "the whole slot exactly" if self.widened else f"{self.keys} keys exactly"
        return f"computed {what}, {self.rows:.0f} rows and {self.bytes} bytes read ({self.why})"


@dataclass(frozen=True)
class _Fixed:
    """The rows that take the place of others under `leg`, what stays left out of them, and their cost."""

    leg: str
    rows: pa.Table
    keys: int
    processed: float = 0.0
    read: int = 0
    runs: pa.Table | None = None
    omitted: pa.Table | None = None


def repair(
    spark: SparkSession | Callable[[], SparkSession],
    settings: Settings,
    catalog: Catalog,
    query: str,
    slot: int,
    run_id: str,
) -> RepairReport:
    """Fix what the run's first verdict refused, as the query's `on_failure` says (`repair` or `widen`).

    Guarantees: it starts from the versions that the verdict judged, so a repair that died is simply run again;
    rows of keys that did not fail keep their bits; `spark` may be a function, called only where rows must be read.
    """
    started = time.monotonic()
    spec = catalog.query(query)
    verdict = read_verdict(settings, query, slot, run_id, attempt=0)
    if verdict.passed:
        return RepairReport(0, False, 0.0, 0, "the verdict passed, there is nothing to repair")
    evidence = load_evidence(settings, spec, slot, run_id, verdict.runs_version)
    _fill_gaps(settings, evidence, run_id)
    work = _Work(spark, settings, catalog, evidence)
    first = _plan(spec, work, evidence, plan_repair(evidence, verdict))
    repaired = repair_in_rounds(evidence, verdict, first, work.exact_rows)
    plan = repaired.repair
    fixed = work.widened() if plan.keys is None else work.fixed(repaired.evidence, plan.keys.num_rows)
    judged = replace(evidence, runs=repaired.evidence.runs)  # as it was, with what the repaired keys taught
    _write(settings, judged, fixed, plan, run_id, time.monotonic() - started)
    return RepairReport(fixed.keys, plan.keys is None, fixed.processed, fixed.read, plan.why)


def _fill_gaps(settings: Settings, evidence: Evidence, run_id: str) -> None:
    """Where a hole between slots is too long, plan the fewest windows of this slot that shorten it."""
    fills = [] if evidence.drops is None else gap_fills(settings, evidence.query, evidence.drops.plan)
    if fills:
        settle_plan(settings, evidence.query, evidence.slot, run_id, also=fills)


def _plan(query: QuerySpec, work: _Work, evidence: Evidence, by_key: Repair) -> Repair:
    """`by_key`, unless the owner wants the whole slot or the query cannot be repaired key by key."""
    if query.gate.on_failure == "widen":
        return Repair(None, "the whole slot: on_failure is widen")
    if query.join is not None and evidence.exact is None:
        return Repair(None, "the whole slot: a join is computed as one")
    if query.top is not None:
        return Repair(None, "the whole slot: which keys are on top depends on all of them")
    if by_key.keys is not None and evidence.exact is None and not work.same_rows():
        return Repair(None, "the whole slot: rows have arrived or were corrected since it was computed")
    return by_key


class _Work:
    """Gets exact rows: from the slot's exact leg where it has one, else from Spark."""

    def __init__(
        self, spark: SparkSession | Callable[[], SparkSession], settings: Settings, catalog: Catalog, evidence: Evidence
    ) -> None:
        self._session, self._settings, self._catalog, self._evidence = spark, settings, catalog, evidence
        self._processed, self._read = 0.0, 0

    @cached_property
    def _side(self) -> Side:
        """The dataset as it is now, the same snapshot for every question."""
        return sides_of(self._settings, self._catalog, self._evidence.query)[0]

    def same_rows(self) -> bool:
        """Whether the raw rows behind the judged answer are those of now: exact rows of others never join it."""
        made_of = self._evidence.runs["raw_fingerprint"][0].as_py()
        plans = AuditPlans(self._evidence.query, [self._side], self._settings.costs)
        plan = standing(self._settings, self._evidence.query, self._evidence.slot)
        now = answer_fingerprint(plans, plan, self._evidence.leg)
        return bool(now == made_of)

    def exact_rows(self, keys: pa.Table) -> pa.Table:
        """The exact rows of some keys; what it takes to get them is counted."""
        if self._evidence.exact is not None:
            return _of_keys(self._evidence.exact, keys)
        exact, processed, read = self._computed(keys)
        self._processed, self._read = self._processed + processed, self._read + read
        return exact

    def fixed(self, repaired: Evidence, keys: int) -> _Fixed:
        """The published leg with the exact rows of so many keys among the others."""
        leg, rows, omitted = self._evidence.leg, repaired.answer, repaired.omitted
        return _Fixed(leg, rows, keys, self._processed, self._read, omitted=omitted)

    def widened(self) -> _Fixed:
        """The whole slot's exact leg."""
        evidence = self._evidence
        if evidence.exact is not None and evidence.drops is None:
            rows = evidence.exact if evidence.query.top is None else _top_rows(evidence.exact, evidence.query)
            return _Fixed(EXACT, rows, rows.num_rows)
        from shedding.answers.run_record import results_rows, run_rows
        from shedding.answers.slot import answer_slot
        from shedding.scan.spark_scans import SlotScan

        shed = evidence.query.shed.model_copy(update={"policy": EXACT, "compare": []})
        query = evidence.query.model_copy(update={"shed": shed})
        scans = SlotScan(self._spark, self._settings, query)
        plan = standing(self._settings, query, evidence.slot)
        made = answer_slot(self._settings, self._catalog, query, plan, scans)
        rows = results_rows(evidence.slot, made.windows, query.measures)
        runs = run_rows(evidence.slot, made.windows, query.measures, made.shared)
        exact = rows.filter(pc.equal(rows["leg"], EXACT)).drop_columns(["slot", "leg"])
        processed, read = self._processed + made.total_rows, self._read + made.shared["bytes_read"]
        return _Fixed(EXACT, exact, exact.num_rows, processed, read, runs)

    def _computed(self, keys: pa.Table) -> tuple[pa.Table, float, int]:
        from shedding.answers.exact_keys import exact_rows
        from shedding.scan.spark_scans import SlotScan

        query = self._evidence.query
        scans = SlotScan(self._spark, self._settings, query)
        made = exact_rows(query, self._side, self._evidence.slot, scans, keys, self._evidence.leg)
        return made.rows.drop_columns(["slot", "leg"]), made.processed, made.bytes

    @cached_property
    def _spark(self) -> SparkSession:
        """The session, started by the first round that reads rows and kept for the others."""
        return self._session() if callable(self._session) else self._session


def _top_rows(rows: pa.Table, query: QuerySpec) -> pa.Table:
    """Of all keys' rows those that the query's `top` shows in each window."""
    assert query.top is not None
    keys, starts = align([rows], query.group_by)[1][0], micros(rows["window_start"])
    order = np.lexsort((keys, starts))
    values = numbers(rows, query.top.by)
    shown = np.zeros(rows.num_rows, dtype=bool)
    for here in np.split(order, np.flatnonzero(np.diff(starts[order])) + 1):
        shown[here] = largest(values[here], query.top.n)
    return rows.filter(pa.array(shown))


def _of_keys(rows: pa.Table, keys: pa.Table) -> pa.Table:
    return rows.filter(pa.array(among(rows, keys)))


def _write(settings: Settings, evidence: Evidence, fixed: _Fixed, plan: Repair, run_id: str, seconds: float) -> None:
    """Write the slot's results with the fixed leg, then run rows that point to them; the other legs stay as judged."""
    query, slot = evidence.query, slot_name(evidence.slot)
    metadata = {"run_id": run_id, "repair": plan.why, "leg": fixed.leg}
    parts = [_under(fixed.leg, slot, fixed.rows)]
    if fixed.omitted is not None:
        parts.append(_under(OMITTED, slot, fixed.omitted))
    results = warehouse.results(settings, query.name)
    judged = results.read(
        [("slot", "=", slot), ("leg", "not in", [fixed.leg, OMITTED])], version=evidence.results_version
    )
    whole = pa.concat_tables([judged, *parts], promote_options="permissive")
    version = results.replace(whole, {"slot": slot}, metadata)
    runs = warehouse.runs(settings, query.name)
    old = runs.read([("slot", "=", slot)], version=evidence.runs_version)
    updated = _run_rows(old, evidence, fixed, plan, {"run_id": run_id, "results_version": version}, seconds)
    runs.replace(updated, {"slot": slot}, metadata)


def _under(leg: str, slot: str, rows: pa.Table) -> pa.Table:
    """Rows of `results` under the name of a leg."""
    for name, value in {"leg": leg, "slot": slot}.items():
        rows = rows.append_column(name, pa.array([value] * rows.num_rows, pa.string()))
    return rows


def _run_rows(
    old: pa.Table, evidence: Evidence, fixed: _Fixed, plan: Repair, written: dict[str, Any], seconds: float
) -> pa.Table:
    """The slot's run rows with the fixed leg as the published one, its errors as they are now, and the cost."""
    rows = [{**row, "published": row["leg"] == fixed.leg} for row in old.to_pylist()]
    first = next(row for row in rows if row["leg"] == evidence.leg)
    if evidence.drops is not None and fixed.runs is not None:
        rows = fixed.runs.to_pylist()  # its windows may be more than before
    elif not any(row["published"] for row in rows):
        assert fixed.runs is not None
        rows += fixed.runs.filter(pc.equal(fixed.runs["leg"], EXACT)).to_pylist()
    cost = {
        **written,
        "audited": first["audited"],
        "seconds": (first.get("seconds") or 0.0) + seconds,
        "total_rows": (first.get("total_rows") or 0) + fixed.processed,
        "repaired_keys": fixed.keys,
        "repair_rows": fixed.processed,
        "repair_bytes": fixed.read,
        "reason": f"{first.get('reason') or ''}; repaired {plan.why}".removeprefix("; "),
    }
    if evidence.drops is None:
        rows = [row | _after(row, evidence, fixed) if row["published"] else row for row in rows]
    rows = [row | cost if row["published"] else row for row in rows]
    fields = {field.name: field.type for field in old.schema} | dict(COSTS)
    fields["reason"] = pa.string()
    return pa.Table.from_pylist(rows, schema=pa.schema(list(fields.items())))


def _after(row: dict[str, Any], evidence: Evidence, fixed: _Fixed) -> dict[str, Any]:
    """Keys and errors of one window as they are after the repair."""
    start = parse_instant(row["window_start"])
    window = int(np.searchsorted(evidence.starts, start))
    rows = _in_window(fixed.rows, start)
    absent = 0 if fixed.leg == EXACT else _absent(evidence, rows, start)
    silent = int(silent_rows(rows, evidence.query).sum())
    columns: dict[str, Any] = {"keys": rows.num_rows, "missing_keys": absent + silent}
    columns["imputed_keys"] = int(np.nansum(numbers(rows, "is_imputed")))
    left_out = np.zeros(0) if fixed.omitted is None else numbers(_in_window(fixed.omitted, start), "population")
    columns |= {"omitted_keys": len(left_out), "omitted_rows": float(left_out.sum())}
    for measure in evidence.query.measures:
        errors, laws = numbers(rows, f"{measure.name}_error"), evidence.laws[measure.name][window]
        cell = errors[~np.isnan(errors)], absent, laws
        parts = claimed_errors(*cell).columns() | judged_errors(*cell, evidence.query.gate.risk).columns("_bound")
        columns |= {f"{measure.name}_{part}": value for part, value in parts.items()}
        told = (f"{measure.name}_law", f"{measure.name}_decided_by")
        columns |= {name: evidence.runs[name][window].as_py() for name in told if name in evidence.runs.column_names}
    return {name: value for name, value in columns.items() if name in row}


def _absent(evidence: Evidence, rows: pa.Table, start: int) -> int:
    """How many of a window's keys have no row after the repair: of the exact leg's, or of those that were counted.

    A key whose rows were counted and that has none now is missing, never forgotten; one that was only expected may go.
    """
    known = evidence.exact
    before = 0
    if known is None:
        known = evidence.answer.filter(pc.is_valid(evidence.answer["population"]))
        before = int(evidence.absent[evidence.starts == start].sum())
    wanted, names = _in_window(known, start), evidence.query.group_by
    gone = positions(wanted, rows, names) < 0
    if evidence.omitted is not None:  # left out on purpose is not missing
        gone &= positions(wanted, _in_window(evidence.omitted, start), names) < 0
    return before + int(gone.sum())


def _in_window(rows: pa.Table, start: int) -> pa.Table:
    return rows.filter(pa.array(micros(rows["window_start"]) == start))


def repair_slot(settings: Settings, catalog: Catalog, query: str, slot: int, run_id: str) -> RepairReport:
    """`repair` with a session of its own, started only where rows must be read and stopped at the end."""
    from shedding.spark.session import start_session

    started: list[SparkSession] = []

    def session() -> SparkSession:
        started.append(start_session(settings, f"repair {query} {format_instant(slot)}", shared=True))
        return started[0]

    try:
        return repair(session, settings, catalog, query, slot, run_id)
    finally:
        for spark in started:
            spark.stop()
