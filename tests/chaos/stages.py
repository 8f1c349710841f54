"""The stages of one slot as functions of a directory: what a killed process was doing, and what a re-run does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from expectations.verdict import read_verdict
from shedding.planning.audit_plan import AuditPlan
from shedding.spec import load_catalog
from tests.chaos.city import HOUR, HOURS, START, build_city

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY, RUN = "mended_keys", "chaos"
SLOT = next(
    slot
    for slot in range(START + 2 * HOUR, START + HOURS * HOUR, HOUR)
    if not AuditPlan(HOUR, 4, QUERY, first=START).is_audited(slot)
)
SPARK = frozenset({"ingest", "aggregate", "repair"})
STAGES = ("ingest", "aggregate", "repair", "publish")

Session = Callable[[], "SparkSession"]


def run_stage(stage: str, directory: Path, session: Session) -> None:
    """Do one stage, as the DAG's task does."""
    settings = build_city(directory)
    catalog = load_catalog(settings.specs)
    if stage == "ingest":
        from jobs.ingest import ingest

        ingest(session(), settings, catalog, "trips", interval=(START, START + HOURS * HOUR))
    elif stage == "aggregate":
        from jobs.aggregate import aggregate

        aggregate(session(), settings, catalog, QUERY, SLOT, RUN)
    elif stage == "repair":
        from jobs.repair import repair

        repair(session, settings, catalog, QUERY, SLOT, RUN)
    else:
        from jobs.publish import publish

        publish(settings, catalog.query(QUERY), SLOT, read_verdict(settings, QUERY, SLOT, RUN), RUN)


def judge_after(stage: str, directory: Path) -> None:
    """The gate's turn, which needs no Spark: it refuses what aggregate made and passes what repair mended."""
    from expectations.gate import judge

    settings = build_city(directory)
    attempt = {"aggregate": 0, "repair": 1}.get(stage)
    if attempt is not None:
        verdict = judge(settings, load_catalog(settings.specs).query(QUERY), SLOT, RUN, attempt=attempt)
        assert verdict.passed == (attempt == 1), verdict.reason


def finish(first: str, directory: Path, session: Session) -> None:
    """What the scheduler does after a crash: the same stage again, then those after it."""
    for stage in _from(first):
        run_stage(stage, directory, session)
        judge_after(stage, directory)


def _from(stage: str) -> Sequence[str]:
    return STAGES[STAGES.index(stage) :]
