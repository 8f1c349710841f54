"""Spark application: what was published without an audit, computed exactly afterwards, and whether it kept its promise.

    verify.py --query NAME --from INSTANT --to INSTANT [--sample N] --run-id ID

Publishes nothing and changes nothing that was published. What is found is kept in `verifications/<query>`, a slot at
a time; exact panes are remembered as always.
"""

from __future__ import annotations

import argparse
import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from expectations.verdict import Verdict, read_verdict
from shedding import warehouse
from shedding.answers.omissions import OMITTED
from shedding.answers.slot import answer_sides
from shedding.compare.promise import APPROVED, PASSED, REPAIRED, broken_promises, promise_lines
from shedding.compare.verification import SCHEMA, published_answer, stated_limits, verified_window, without
from shedding.config import Settings
from shedding.errors import DataError, PromiseError, SluiceError, reported
from shedding.ingest.side import Side, sides_of
from shedding.panes.scans import Scans
from shedding.planning.drift_audits import AuditPlans
from shedding.planning.fingerprints import raw_fingerprint
from shedding.spec import Catalog, QuerySpec, load_catalog
from shedding.spec.fingerprints import digest, spec_fingerprint
from shedding.spec.shed import EXACT
from shedding.spec.timeline import slot_name
from shedding.spec.times import format_instant, parse_instant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class JudgedSlot:
    """A slot as it is published: under which verdict, and the run rows that the gate judged, by window."""

    slot: int
    verdict: Verdict
    revision: int
    published_version: int
    runs: Mapping[int, Mapping[str, Any]]

    @property
    def kind(self) -> str:
        """By what kind of verdict it was published."""
        if self.verdict.failed:
            return APPROVED
        return REPAIRED if self.verdict.attempt else PASSED


@dataclass(frozen=True)
class Verification:
    """What a verification found: rows as in `verifications/<query>`, the report on them, and what was left out."""

    query: QuerySpec
    rows: pa.Table
    lines: Sequence[Mapping[str, Any]]
    slots: int
    not_sampled: int
    left_out: Mapping[str, int]

    @property
    def broken(self) -> list[str]:
        """A sentence for each limit that was broken more often than the gate's risk allows, beyond chance."""
        return broken_promises(self.lines)

    def __str__(self) -> str:
        others = {"not in the sample": self.not_sampled} | dict(self.left_out)
        told = "".join(f"; {count} {why}" for why, count in others.items() if count)
        return f"{self.slots} slots of {self.query.name} computed exactly{told}"


def verify(
    spark: Callable[[], SparkSession],
    settings: Settings,
    catalog: Catalog,
    query: str,
    span: tuple[int, int],
    run_id: str,
    sample: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Compute exactly the slots of [start, end) that are published without an audit, or `sample` of them.

    Guarantees: nothing published is changed; a slot is compared only where its raw rows and its specification are
    those of its publication; which slots a sample takes depends on their names alone. A slot's record is replaced in
    one commit. `spark` is called only where there is a slot to compute.
    """
    from shedding.scan.spark_scans import SlotScan

    spec = catalog.query(query)
    sides = sides_of(settings, catalog, spec)
    judged, left_out = judged_slots(settings, spec, sides, span)
    chosen = sampled(spec.name, judged, sample)
    parts = []
    for one in chosen:
        progress(f"slot {format_instant(one.slot)}")
        rows = _verified(settings, spec, sides, one, SlotScan(spark(), settings, spec))
        table = warehouse.verifications(settings, spec.name)
        table.replace(rows, {"slot": slot_name(one.slot)}, {"run_id": run_id, "slot": slot_name(one.slot)})
        parts.append(rows)
    found = pa.concat_tables(parts) if parts else SCHEMA.empty_table()
    overlap = max(1, spec.timeline.size // spec.timeline.slide)
    lines = promise_lines(found, spec.gate.risk, overlap)
    return Verification(spec, found, lines, len(chosen), len(judged) - len(chosen), left_out)


def sampled(query: str, judged: Sequence[JudgedSlot], count: int | None) -> list[JudgedSlot]:
    """So many of the slots, chosen by a hash of query and slot, in the order of time; None: all of them."""
    chosen = sorted(judged, key=lambda one: digest([query, slot_name(one.slot)]))[:count]
    return sorted(chosen, key=lambda one: one.slot)


def judged_slots(
    settings: Settings, query: QuerySpec, sides: Sequence[Side], span: tuple[int, int]
) -> tuple[list[JudgedSlot], dict[str, int]]:
    """The slots of [start, end) that can be verified, oldest first; and how many cannot, by the reason."""
    runs = warehouse.runs(settings, query.name)
    version = _visible_version(settings, query)
    if version is None or not runs.exists():
        raise DataError(f"nothing of {query.name} is published; run `sluice run {query.name} --from T --to T` first")
    start, end = query.timeline.slot_of(span[0]), span[1]
    where = [("published", "=", True), ("slot", ">=", slot_name(start)), ("slot", "<", slot_name(end))]
    by_slot: dict[int, list[dict[str, Any]]] = {}
    for row in runs.read(where).to_pylist():
        by_slot.setdefault(parse_instant(row["slot"]), []).append(row)
    judged: list[JudgedSlot] = []
    left_out: Counter[str] = Counter()
    plans = AuditPlans(query, sides, settings.costs)
    for slot, rows in sorted(by_slot.items()):
        why = _not_comparable(plans, slot, rows[0]) or _judged(settings, query, slot, rows, version)
        if isinstance(why, JudgedSlot):
            judged.append(why)
        else:
            left_out[why] += 1
    return judged, dict(left_out)


def _visible_version(settings: Settings, query: QuerySpec) -> int | None:
    """The version of what consumers read; None where nothing was published."""
    return warehouse.published(settings, query.name).version()


def _not_comparable(plans: AuditPlans, slot: int, run: Mapping[str, Any]) -> str:
    """Why a slot's estimates cannot be compared with what is exact now; empty where they can."""
    leg = run["leg"]
    if run["audited"]:
        return "audited"
    if leg == EXACT:
        return "published exactly"
    if run["spec_fingerprint"] != spec_fingerprint(plans.query, leg):
        return "computed under another specification"
    if run["raw_fingerprint"] != raw_fingerprint(plans, slot, leg):
        return "whose rows have changed since"
    return ""


def _judged(
    settings: Settings, query: QuerySpec, slot: int, rows: Sequence[Mapping[str, Any]], version: int
) -> JudgedSlot | str:
    """The slot with the verdict that published it, or why its newest run is not the one that is published."""
    where = [("slot", "=", slot_name(slot))]
    told = warehouse.published(settings, query.name).read(where, ["run_id", "revision"], version)
    if not told.num_rows:
        return "not published"
    try:
        verdict = read_verdict(settings, query.name, slot, told["run_id"][0].as_py())
    except DataError:
        return "without a recorded verdict"
    if not verdict.passed or verdict.results_version != rows[0]["results_version"]:
        return "computed again and not published since"
    runs = {parse_instant(row["window_start"]): row for row in rows}
    return JudgedSlot(slot, verdict, told["revision"][0].as_py(), version, runs)


def _verified(settings: Settings, query: QuerySpec, sides: Sequence[Side], one: JudgedSlot, scans: Scans) -> pa.Table:
    """The rows of `verifications/<query>` of one slot."""
    # All keys, not the true top: what is compared are the keys that were published.
    exactly = query.shed.model_copy(update={"policy": EXACT, "compare": []})
    made = answer_sides(settings, query.model_copy(update={"shed": exactly, "top": None}), one.slot, sides, scans)
    where = [("slot", "=", slot_name(one.slot))]
    published = warehouse.published(settings, query.name).read(where, version=one.published_version)
    left_out = None
    if query.shed.limited:
        where, names = [*where, ("leg", "=", OMITTED)], ["window_start", *query.group_by]
        left_out = warehouse.results(settings, query.name).read(where, names, one.verdict.results_version)
    limits = stated_limits(query.gate)
    shared = {
        "slot": slot_name(one.slot), "verdict": one.kind, "run_id": one.verdict.run_id, "revision": one.revision,
        "published_version": one.published_version, "results_version": one.verdict.results_version,
        "verified_at": dt.datetime.now(dt.UTC),
    }  # fmt: skip
    found = []
    for window in made.windows:
        exact, start = window.answer, window.answer.sample.start
        here = published.filter(pc.equal(published["window_start"].cast(pa.int64()), start))
        answer = published_answer(here, exact, query.measures)
        exact = exact if query.top is None else exact.only(answer.shown)
        if left_out is not None:
            exact = without(exact, left_out.filter(pc.equal(left_out["window_start"].cast(pa.int64()), start)))
        times = {"window_start": start, "window_end": window.answer.sample.end}
        for measure in query.measures:
            row = verified_window(answer, exact, measure, limits, one.runs.get(start, {}))
            if row is not None:
                found.append({**row, **times, **shared})
    return pa.Table.from_pylist(found, schema=SCHEMA)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point under spark-submit; red for good where a limit was broken more often than the risk allows."""
    from jobs.cli.verify import as_text
    from shedding.spark.session import spark_session

    parser = argparse.ArgumentParser(prog="verify", description=__doc__)
    parser.add_argument("--query", required=True)
    parser.add_argument("--from", dest="start", required=True, type=parse_instant)
    parser.add_argument("--to", dest="end", required=True, type=parse_instant)
    parser.add_argument("--sample", type=int, default=0, help="so many slots; 0: all")
    parser.add_argument("--run-id", required=True)
    arguments = parser.parse_args(argv)
    try:
        settings = Settings.load()
        catalog = load_catalog(settings.specs)
        with ExitStack() as stack:

            def spark() -> SparkSession:
                return stack.enter_context(spark_session(settings, f"verify {arguments.query}", shared=True))

            span = arguments.start, arguments.end
            found = verify(spark, settings, catalog, arguments.query, span, arguments.run_id, arguments.sample or None)
        print(as_text(found.lines))
        print(found)
        if found.broken:
            raise PromiseError("; ".join(found.broken))
    except SluiceError as error:
        return reported(error)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
