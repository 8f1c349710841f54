"""Spark application: one slot of one query, or of all members of a pool, from raw rows to panes, results and runs.

    aggregate.py --query NAME | --pool NAME --slot INSTANT --run-id ID

The exact leg, the published leg and the compared legs of an audited slot come from one scan; other slots
compute the published leg only. Publishes nothing: that is the gate's business.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobs.run_slot import arrivals_of
from shedding.config import Settings
from shedding.errors import DataError, SluiceError, SpecError, innermost, reported
from shedding.spec import Catalog, QuerySpec, load_catalog
from shedding.spec.times import format_instant, parse_instant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from shedding.answers.slot_answer import SlotAnswer


@dataclass(frozen=True, slots=True)
class AggregateReport:
    """What a slot's aggregation wrote and what it cost."""

    results_version: int
    runs_version: int
    windows: int
    keys: int
    audited: bool
    processed_rows: float
    total_rows: float
    seconds: float
    advice: Sequence[str] = ()

    def __str__(self) -> str:
        kind = "audited" if self.audited else "shed"
        told = (
            f"{self.windows} windows, {self.keys} rows ({kind}), {self.processed_rows:.0f} rows processed, "
            f"{self.total_rows:.0f} in all, {self.seconds:.1f} s"
        )
        return "\n".join([told, *self.advice])


def aggregate(
    spark: SparkSession, settings: Settings, catalog: Catalog, query: str, slot: int, run_id: str
) -> AggregateReport:
    """Compute the windows that end in the slot and write panes, results and runs, each in one commit.

    Guarantee: the rows of results are a function of the visible raw rows and the specification, the same
    bits whatever ran before, in whatever order, on however many cores.
    """
    from shedding.answers.slot import answer_slot
    from shedding.planning.slot_plan import settle_plan
    from shedding.scan.spark_scans import SlotScan

    started = time.monotonic()
    spec = catalog.query(query)
    require_rows(settings, catalog, spec, slot)
    plan = settle_plan(settings, spec, slot, run_id)
    scans = SlotScan(spark, settings, spec)
    made = answer_slot(settings, catalog, spec, plan, scans, run_id)
    return _written(settings, made, len(plan.kept), run_id, time.monotonic() - started)


@dataclass(frozen=True, slots=True)
class PoolReport:
    """What the members of a pool wrote, by name, and why others wrote nothing."""

    reports: Mapping[str, AggregateReport]
    errors: Mapping[str, Exception]

    def __str__(self) -> str:
        failed = [f"{name}: FAILED: {type(error).__name__}: {innermost(error)}" for name, error in self.errors.items()]
        return "\n".join([*(f"{name}: {report}" for name, report in self.reports.items()), *failed])


def aggregate_pool(
    spark: SparkSession, settings: Settings, catalog: Catalog, pool: str, slot: int, run_id: str
) -> PoolReport:
    """The same for every member of a pool, which share one pass over the rows; each is answered and written by itself.

    Guarantee: a member's rows have the bits that `aggregate` gives it alone. One that fails writes nothing and is told
    of in the report; its gate finds no run of this id. The error is raised only where all members fail.
    """
    from shedding.answers.pool import PoolSlot
    from shedding.ingest.side import sides_of
    from shedding.scan.spark_scans import SlotScan

    started = time.monotonic()
    members = catalog.pool(pool)
    if not members.members:
        raise SpecError(
            f"pool {pool} has no valid member; write shed: {{pool: {pool}}} in a query, or fix those that do"
        )
    first = members.queries()[0]
    require_rows(settings, catalog, first, slot)
    side = sides_of(settings, catalog, first)[0]
    work = PoolSlot(settings, members, slot, side, SlotScan(spark, settings, first))
    work.fetch()
    shared = time.monotonic() - started
    reports: dict[str, AggregateReport] = {}
    errors: dict[str, Exception] = {}
    for member in members.members:
        started = time.monotonic()
        try:
            made, windows = work.answer(member.name), len(member.timeline.windows(slot))
            reports[member.name] = _written(settings, made, windows, run_id, shared + time.monotonic() - started)
        except Exception as error:  # whatever it is, it is this member's alone
            errors[member.name] = error
    if not reports:
        raise next(iter(errors.values()))
    return PoolReport(reports, errors)


def _written(settings: Settings, made: SlotAnswer, windows: int, run_id: str, seconds: float) -> AggregateReport:
    results_version, runs_version = made.write(settings, run_id, seconds)
    return AggregateReport(
        results_version=results_version,
        runs_version=runs_version,
        windows=windows,
        keys=made.shown_keys,
        audited=made.audited,
        processed_rows=made.processed_rows,
        total_rows=made.total_rows,
        seconds=seconds,
        advice=made.advice,
    )


def require_rows(settings: Settings, catalog: Catalog, query: QuerySpec, slot: int) -> None:
    """Raise DataError where the slot ends before the first row that a dataset of the query has: it would be empty.

    A gate that allows empty slots allows these too.
    """
    end = query.timeline.windows(slot)[-1][1]
    names = [query.dataset] + ([query.join.dataset] if query.join else [])
    for name in names if not query.gate.allow_empty else []:
        first = arrivals_of(settings, catalog, name).first_event
        if first is not None and end <= first:
            raise DataError(
                f"slot {format_instant(slot)} of {query.name} ends before the first row of {name}, at "
                f"{format_instant(first)}: there is nothing to compute; start at "
                f"{format_instant(query.timeline.slot_of(first))}, or ingest older rows"
            )


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point under spark-submit; an error is one line, and its exit code tells whether to try again."""
    from shedding.spark.session import spark_session

    parser = argparse.ArgumentParser(prog="aggregate", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--query")
    what.add_argument("--pool")
    parser.add_argument("--slot", required=True, type=parse_instant)
    parser.add_argument("--run-id", required=True)
    arguments = parser.parse_args(argv)
    try:
        settings = Settings.load()
        catalog = load_catalog(settings.specs)
        work, name = (aggregate_pool, arguments.pool) if arguments.pool else (aggregate, arguments.query)
        with spark_session(settings, f"aggregate {name} {format_instant(arguments.slot)}", shared=True) as spark:
            print(work(spark, settings, catalog, name, arguments.slot, arguments.run_id))
    except SluiceError as error:
        return reported(error)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
