"""One slot from raw rows to a published or quarantined answer: the sequence that the query's DAG also follows.

aggregate -> gate -> (repair or widen -> gate) -> publish | quarantine
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobs.raw_needed import RawNeeded, load_arrivals
from shedding.config import Settings
from shedding.errors import NotReadyError, innermost
from shedding.ingest.arrivals import Arrivals
from shedding.spec import Catalog, QuerySpec
from shedding.spec.times import format_instant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from shedding.planning.slot_plan import SlotPlan

REPAIRS = frozenset({"repair", "widen"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a slot ended: the version of `published` or of `quarantine`, and what the gate found."""

    published: bool
    repaired: bool
    version: int
    findings: str = ""
    advice: Sequence[str] = ()
    dropped: str = ""

    def __str__(self) -> str:
        if self.dropped:
            return f"all windows dropped, nothing read ({self.dropped})"
        if self.version < 0:
            return f"failed, nothing was written: {self.findings}"
        what = "published" if self.published else "quarantined"
        repaired = " after repair" if self.repaired else ""
        return f"{what}{repaired} (version {self.version}){': ' + self.findings if self.findings else ''}"


def missing_raw(settings: Settings, catalog: Catalog, query: QuerySpec, slot: int) -> dict[str, str]:
    """The query's datasets whose rows have not arrived up to the slot's end, or have a hole that its windows see.

    With each, what has come of it. Of a query's published rows those whose windows are not decided.
    """
    needed = RawNeeded.of(catalog, query, slot)
    return needed.missing(lambda name: needed.load(settings, name))


def arrivals_of(settings: Settings, catalog: Catalog, name: str) -> Arrivals:
    """What has arrived of a dataset; of a query's published rows the windows that are decided."""
    every = catalog.derived[name].schedule.every if name in catalog.derived else None
    return load_arrivals(settings, name, every)


def require_raw(settings: Settings, catalog: Catalog, query: str, slots: Sequence[int]) -> None:
    """Raise NotReadyError for the first of `slots` whose raw rows have not arrived."""
    spec = catalog.query(query)
    for slot in slots:
        for dataset in missing_raw(settings, catalog, spec, slot):
            reach = min(slot, spec.timeline.windows(slot)[0][0])
            start, end = format_instant(reach), format_instant(slot + spec.timeline.slot)
            if spec.source is not None:
                raise NotReadyError(
                    f"{query} reads the windows of {dataset} from {start} to {end}, which are not all decided, or were "
                    f"refused; run them first: sluice run {dataset} --from {start} --to {end}"
                )
            raise NotReadyError(
                f"the rows of {dataset} from {start} to {end} have not all arrived; "
                f"ingest them first: sluice ingest {dataset} --from {start} --to {end}"
            )


def settled_plan(settings: Settings, query: QuerySpec, slot: int, run_id: str, fill: bool) -> SlotPlan:
    """Which windows the slot computes: the plan's, and where it drops all of them those that end too long a gap."""
    from shedding.planning.slot_plan import gap_fills, settle_plan

    plan = settle_plan(settings, query, slot, run_id, fill=fill)
    if not plan.kept and (fills := gap_fills(settings, query, plan)):
        return settle_plan(settings, query, slot, run_id, also=fills)
    return plan


def run_slot(
    spark: Callable[[], SparkSession],
    settings: Settings,
    catalog: Catalog,
    query: str,
    slot: int,
    run_id: str,
    *,
    fill: bool = False,
) -> Outcome:
    """Compute, judge and publish one slot; a slot that fails its gate even after repair is quarantined.

    Guarantee: `published` changes only if the last verdict passed, and then in one commit.
    """
    from jobs.aggregate import aggregate
    from jobs.publish import drop_slot

    spec = catalog.query(query)
    plan = settled_plan(settings, spec, slot, run_id, fill)
    if not plan.kept:
        return Outcome(
            published=True, repaired=False, version=drop_slot(settings, spec, slot, run_id), dropped=plan.reason
        )
    made = aggregate(spark(), settings, catalog, query, slot, run_id)
    return _judged(spark, settings, catalog, spec, slot, run_id, made.advice)


def run_pool_slot(
    spark: Callable[[], SparkSession], settings: Settings, catalog: Catalog, pool: str, slot: int, run_id: str
) -> dict[str, Outcome]:
    """The same for every member of a pool, computed together and then judged and published one by one.

    Guarantee: a member that fails, at whatever step, leaves the others published; its outcome says why.
    """
    from jobs.aggregate import aggregate_pool

    made = aggregate_pool(spark(), settings, catalog, pool, slot, run_id)
    outcomes = {name: _failed(error) for name, error in made.errors.items()}
    for name, report in made.reports.items():
        try:
            spec = catalog.query(name)
            outcomes[name] = _judged(spark, settings, catalog, spec, slot, run_id, report.advice)
        except Exception as error:  # whatever it is, it is this member's alone
            outcomes[name] = _failed(error)
    return dict(sorted(outcomes.items()))


def _failed(error: Exception) -> Outcome:
    words = f"{type(error).__name__}: {innermost(error)}"
    return Outcome(published=False, repaired=False, version=-1, findings=words)


def _judged(
    spark: Callable[[], SparkSession],
    settings: Settings,
    catalog: Catalog,
    spec: QuerySpec,
    slot: int,
    run_id: str,
    advice: Sequence[str],
) -> Outcome:
    """What becomes of an answer that was computed: published, or quarantined where not even repair helps."""
    from expectations.gate import judge
    from jobs.publish import publish, quarantine
    from jobs.repair import repair

    verdict = judge(settings, spec, slot, run_id)
    repaired = False
    if not verdict.passed and spec.gate.on_failure in REPAIRS:
        repair(spark, settings, catalog, spec.name, slot, run_id)
        verdict, repaired = judge(settings, spec, slot, run_id, attempt=1), True
    if verdict.passed:
        version = publish(settings, spec, slot, verdict, run_id)
    else:
        version = quarantine(settings, spec, slot, verdict, run_id)
    return Outcome(verdict.passed, repaired, version, "" if verdict.passed else verdict.reason, advice)
