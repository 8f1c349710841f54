"""The tasks of a slot that Airflow runs itself: waiting, judging, repairing, publishing, quarantining.

Heavy packages are imported when a task runs; the functions they call are those of `sluice run`.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable
from typing import Any

from airflow.sdk import get_current_context, task

from factories import data_docs_link
from factories.assets import published_asset
from factories.retries import RETRIES, final_errors
from factories.spark import POOL
from shedding.config import Settings
from shedding.spec import Catalog, QuerySpec
from shedding.spec.times import format_instant, parse_instant

POLL_SECONDS = 15
LONGEST_POLL = dt.timedelta(minutes=2)
"""A poll is a process: the longer a run has waited the rarer they are, so that held runs leave the machine free."""
APPROVE, REJECT = "Publish", "Reject"
LONGEST_WAIT = dt.timedelta(hours=12)


def slot_of_run(query: QuerySpec, dag_run: Any, params: Any) -> int:
    """The slot a run computes: the one named in its parameters, else the last whole one of its interval."""
    if params.get("slot"):
        return query.timeline.slot_of(parse_instant(params["slot"]))
    end = dag_run.data_interval_end or dag_run.run_after
    return query.timeline.slot_of(parse_instant(end)) - query.timeline.slot


def slot_name_of(query: QuerySpec) -> Callable[[Any, Any], str]:
    """The same for templates, as ISO text."""
    return lambda dag_run, params: format_instant(slot_of_run(query, dag_run, params))


def _this_slot(query: QuerySpec) -> tuple[int, str]:
    context = get_current_context()
    return slot_of_run(query, context["dag_run"], context["params"]), context["run_id"]


def wait_for_raw(query: QuerySpec, catalog: Catalog, settings: Settings) -> Any:
    """Wait, without holding a worker, until the dataset's watermark has passed the slot's end."""

    @task.sensor(
        task_id="wait_for_raw", mode="reschedule", timeout=LONGEST_WAIT,
        poke_interval=POLL_SECONDS, exponential_backoff=True, max_wait=LONGEST_POLL, **RETRIES,
    )  # fmt: skip
    def wait() -> bool:
        from jobs.run_slot import missing_raw

        missing = missing_raw(settings, catalog, query, _this_slot(query)[0])
        print(f"rows that have not all arrived: {', '.join(missing) or 'none'}")
        return not missing

    return wait()


def plan(query: QuerySpec, settings: Settings) -> Any:
    """Settle which windows the slot computes, without a JVM; go on to `aggregate`, or to `drop` where it is none."""

    @task.branch(task_id="plan", **RETRIES)
    @final_errors
    def plan_slot() -> str:
        from shedding.planning.slot_plan import settle_plan

        slot, run_id = _this_slot(query)
        fill = bool(get_current_context()["params"].get("fill"))
        made = settle_plan(settings, query, slot, run_id, fill=fill)
        print(f"{len(made.kept)} of {len(made.windows)} windows are computed: {made.reason}")
        return "aggregate" if made.kept else "drop"

    return plan_slot()


def drop(query: QuerySpec, settings: Settings) -> Any:
    """Write down that all windows of the slot are dropped; nothing was read."""

    @task(task_id="drop", **RETRIES)
    @final_errors
    def drop_windows() -> None:
        from jobs.publish import drop_slot

        drop_slot(settings, query, *_this_slot(query))

    return drop_windows()


def gate(query: QuerySpec, settings: Settings, task_id: str, failed: str) -> Any:
    """Judge the slot and go on to `publish`, or to `failed`."""

    @task.branch(task_id=task_id, **RETRIES)
    @final_errors
    def judge_slot() -> str:
        logging.getLogger("great_expectations").setLevel(logging.WARNING)  # it tells of every method it registers
        from expectations.gate import judge

        slot, run_id = _this_slot(query)
        verdict = judge(settings, query, slot, run_id, attempt=int(task_id == "gate_again"))
        ti = get_current_context()["ti"]
        ti.xcom_push(key="reason", value=verdict.reason)
        ti.xcom_push(key=data_docs_link.XCOM_KEY, value=verdict.docs)
        print(verdict.reason)
        return "publish" if verdict.passed else failed

    judged = judge_slot()
    judged.operator.operator_extra_links = (data_docs_link.DataDocsLink(),)
    return judged


def repair(query: QuerySpec, catalog: Catalog, settings: Settings) -> Any:
    """Compute exactly what the gate refused; a JVM is started only where the exact rows are not there already."""

    @task(task_id="repair", pool=POOL, **RETRIES)
    @final_errors
    def repair_slot() -> None:
        from jobs import repair

        print(repair.repair_slot(settings, catalog, query.name, *_this_slot(query)))

    return repair_slot().operator


def record_decision(query: QuerySpec, settings: Settings) -> Any:
    """Add what the person decided in `ask` to the verdict, and go on accordingly."""

    @task.branch(task_id="decision", **RETRIES)
    @final_errors
    def record(answer: Any) -> str:
        from expectations.verdict import decide, read_verdict

        slot, run_id = _this_slot(query)
        approved = answer["chosen_options"] == [APPROVE]
        person = (answer.get("responded_by_user") or {}).get("name") or "nobody in time"
        decide(settings, read_verdict(settings, query.name, slot, run_id), approved, person)
        return "publish" if approved else "quarantine"

    return record


def publish(query: QuerySpec, settings: Settings, **options: Any) -> Any:
    """Put the slot's windows into `published/<query>` in one commit."""
    asset = published_asset(query.name)

    @task(task_id="publish", outlets=[asset], **RETRIES, **options)
    @final_errors
    def publish_slot(*, outlet_events: Any = None) -> None:
        from expectations.verdict import read_verdict
        from jobs.publish import publish as publish_windows

        slot, run_id = _this_slot(query)
        version = publish_windows(settings, query, slot, read_verdict(settings, query.name, slot, run_id), run_id)
        outlet_events[asset].extra = {"version": version, "slot": format_instant(slot)}

    return publish_slot()


def quarantine(query: QuerySpec, settings: Settings, **options: Any) -> Any:
    """Keep the refused rows aside and end red, with the reason in the log; the published table stays as it was."""

    @task(task_id="quarantine", **RETRIES, **options)
    @final_errors
    def quarantine_slot() -> None:
        from expectations.verdict import read_verdict
        from jobs.publish import quarantine as quarantine_windows

        slot, run_id = _this_slot(query)
        verdict = read_verdict(settings, query.name, slot, run_id)
        quarantine_windows(settings, query, slot, verdict, run_id)
        raise verdict.error()

    return quarantine_slot()
