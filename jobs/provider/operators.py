"""The steps of a slot as operators: waiting, planning, computing, judging, repairing, deciding, publishing.

Heavy packages are imported when a task runs; the functions they call are those of `sluice run`. Which slot a task is
about is the run's own (`slot_of_run`). Where a gate leads is named by labels, so they work in a task group too.
"""

from __future__ import annotations

import datetime as dt
import logging
from abc import abstractmethod
from typing import Any, ClassVar

from airflow.providers.standard.operators.branch import BranchMixIn
from airflow.sdk import BaseOperator

from jobs.provider import data_docs_link
from jobs.provider.assets import published_asset, raw_asset, version_of
from jobs.provider.deployment import Deployment
from jobs.provider.priority import PRIORITY
from jobs.provider.retries import RETRIES
from jobs.provider.slot_of_run import slot_of_run
from jobs.provider.spark import POOL, SparkJob
from jobs.provider.warnings_note import KEY
from shedding.spec import QuerySpec
from shedding.spec.times import format_instant

LONGEST_WAIT = dt.timedelta(hours=12)
APPROVE, REJECT = "Publish", "Reject"
# A generator makes the rows of this interval; with files it says up to when the landing directory was looked at.
FROM = "{{ params.get('from') or (data_interval_start or dag_run.run_after).isoformat() }}"
TO = "{{ params.get('to') or (data_interval_end or dag_run.run_after).isoformat() }}"


class SlotOperator(BaseOperator):
    """A task on one slot of `query`; `deployment` is Airflow's own where none is given."""

    def __init__(self, *, query: str, deployment: Deployment | None = None, **options: Any) -> None:
        super().__init__(**{"weight_rule": PRIORITY, **RETRIES, **options})
        self.query, self.deployment = query, deployment

    def here(self) -> Deployment:
        """The deployment that the task runs in."""
        return self.deployment or Deployment.load()

    def slot(self, context: Any, spec: QuerySpec) -> tuple[int, str]:
        """The slot that the run computes, and the run's id."""
        return slot_of_run(spec, context["dag_run"], context["params"]), context["run_id"]


class SlotBranch(SlotOperator, BranchMixIn):
    """A task that decides which of those after it goes on."""

    inherits_from_skipmixin = True

    def execute(self, context: Any) -> Any:
        """Decide, and skip the other ways."""
        label = self.choose(context)
        return self.do_branch(context, self.task_group.child_id(label) if self.task_group else label)

    @abstractmethod
    def choose(self, context: Any) -> str:
        """The label of the task that goes on."""


class IngestOperator(SparkJob):
    """Rows of the run's interval into `raw/<dataset>`: reads what has arrived, quarantines broken rows, counts keys."""

    def __init__(self, *, dataset: str, deployment: Deployment | None = None, **options: Any) -> None:
        self.asset, self.deployment = raw_asset(dataset), deployment
        super().__init__(
            **{"task_id": "ingest", "outlets": [self.asset], **options},
            job="ingest",
            arguments=["--dataset", dataset, "--from", FROM, "--to", TO],
            settings=deployment.settings if deployment else None,
        )

    def execute(self, context: Any) -> None:
        """Ingest, and put the table's version on the asset's event."""
        super().execute(context)
        settings = (self.deployment or Deployment.load()).settings
        context["outlet_events"][self.asset].extra = {"version": version_of(settings, self.asset)}


class WaitForRawOperator(SlotOperator):
    """Wait until the rows of the slot have arrived: a look, then in the triggerer, which holds no worker."""

    def __init__(self, *, timeout: dt.timedelta = LONGEST_WAIT, **options: Any) -> None:
        super().__init__(**{"task_id": "wait_for_raw", **options})
        self.timeout = timeout

    def execute(self, context: Any) -> None:
        """Return where the rows are there; wait for them otherwise."""
        from jobs.provider.raw_trigger import RawArrived, told
        from jobs.raw_needed import RawNeeded
        from jobs.run_slot import missing_raw

        here = self.here()
        spec = here.catalog.query(self.query)
        slot, _ = self.slot(context, spec)
        missing = missing_raw(here.settings, here.catalog, spec, slot)
        print(f"slot {format_instant(slot)} waits for: {told(missing)}")
        if missing:
            needed = RawNeeded.of(here.catalog, spec, slot).facts()
            self.defer(trigger=RawArrived(needed), method_name="arrived", timeout=self.timeout)

    def arrived(self, context: Any, event: Any = None) -> None:
        """The rows are there."""
        print("the rows have arrived")


class PlanOperator(SlotBranch):
    """Settle which windows the slot computes, without a JVM; go on to `aggregate`, or to `drop` where it is none."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"task_id": "plan", **options})

    def choose(self, context: Any) -> str:
        """`aggregate` where a window is computed."""
        from jobs.run_slot import settled_plan

        here = self.here()
        spec = here.catalog.query(self.query)
        slot, run_id = self.slot(context, spec)
        made = settled_plan(here.settings, spec, slot, run_id, bool(context["params"].get("fill")))
        print(f"{len(made.kept)} of {len(made.windows)} windows are computed: {made.reason}")
        return "aggregate" if made.kept else "drop"


class DropOperator(SlotOperator):
    """Write down that all windows of the slot are dropped; nothing was read."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"task_id": "drop", **options})

    def execute(self, context: Any) -> None:
        """One commit."""
        from jobs.publish import drop_slot

        here = self.here()
        spec = here.catalog.query(self.query)
        drop_slot(here.settings, spec, *self.slot(context, spec))


class AggregateOperator(SparkJob):
    """From raw rows to panes, results and runs: one scan, in the Spark that is up where there is one."""

    def __init__(
        self, *, query: str, pool: str | None = None, deployment: Deployment | None = None, **options: Any
    ) -> None:
        """With `pool` the slot of all its members, of which `query` is one."""
        self.query, self.of_pool, self.deployment = query, pool, deployment
        settings = deployment.settings if deployment else None
        super().__init__(**{"task_id": "aggregate", **options}, job="aggregate", settings=settings, shared=True)

    def execute(self, context: Any) -> None:
        """Compute the run's slot."""
        spec = (self.deployment or Deployment.load()).catalog.query(self.query)
        slot = slot_of_run(spec, context["dag_run"], context["params"])
        what = {"--query": self.query} if self.of_pool is None else {"--pool": self.of_pool}
        arguments = {**what, "--slot": format_instant(slot), "--run-id": context["run_id"]}
        self.application_args = [part for pair in arguments.items() for part in pair]
        super().execute(context)


class GateOperator(SlotBranch):
    """Judge the slot and go on to the task `passed`, or to `failed`."""

    operator_extra_links: ClassVar = (data_docs_link.DataDocsLink(),)

    def __init__(
        self, *, failed: str = "quarantine", passed: str = "publish", again: bool = False, **options: Any
    ) -> None:
        super().__init__(**{"task_id": "gate", **options})
        self.failed, self.passed, self.again = failed, passed, again

    def choose(self, context: Any) -> str:
        """Where the verdict leads; its reason and its page go with the task."""
        logging.getLogger("great_expectations").setLevel(logging.WARNING)  # it tells of every method it registers
        from expectations.gate import judge

        here = self.here()
        spec = here.catalog.query(self.query)
        slot, run_id = self.slot(context, spec)
        verdict = judge(here.settings, spec, slot, run_id, attempt=int(self.again))
        context["ti"].xcom_push(key="slot", value=format_instant(slot))
        context["ti"].xcom_push(key="reason", value=verdict.reason)
        context["ti"].xcom_push(key=data_docs_link.XCOM_KEY, value=verdict.docs)
        if verdict.passed and verdict.warnings:
            context["ti"].xcom_push(key=KEY, value="; ".join(check.detail for check in verdict.warnings))
        print(verdict.reason, *(f"warning: {check.detail}" for check in verdict.warnings), sep="\n")
        return self.passed if verdict.passed else self.failed


class RepairOperator(SlotOperator):
    """Compute exactly what the gate refused; a JVM is started only where the exact rows are not there already."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"task_id": "repair", "pool": POOL, **options})

    def execute(self, context: Any) -> None:
        """Repair, and say what was."""
        from jobs.repair import repair_slot

        here = self.here()
        slot = self.slot(context, here.catalog.query(self.query))
        print(repair_slot(here.settings, here.catalog, self.query, *slot))


class DecisionOperator(SlotBranch):
    """Add what the person decided in `ask` to the verdict, and go on accordingly."""

    template_fields = ("answer",)

    def __init__(self, *, answer: Any, **options: Any) -> None:
        super().__init__(**{"task_id": "decision", **options})
        self.answer = answer

    def choose(self, context: Any) -> str:
        """`publish` where the person agreed."""
        from expectations.verdict import decide, read_verdict

        here = self.here()
        slot, run_id = self.slot(context, here.catalog.query(self.query))
        approved = self.answer["chosen_options"] == [APPROVE]
        person = (self.answer.get("responded_by_user") or {}).get("name") or "nobody in time"
        decide(here.settings, read_verdict(here.settings, self.query, slot, run_id), approved, person)
        return "publish" if approved else "quarantine"


class PublishOperator(SlotOperator):
    """Put the slot's windows into `published/<query>` in one commit."""

    def __init__(self, *, query: str, **options: Any) -> None:
        self.asset = published_asset(query)
        super().__init__(**{"task_id": "publish", "outlets": [self.asset], **options}, query=query)

    def execute(self, context: Any) -> None:
        """Publish, and put the table's version on the asset's event."""
        from expectations.verdict import read_verdict
        from jobs.publish import publish

        here = self.here()
        spec = here.catalog.query(self.query)
        slot, run_id = self.slot(context, spec)
        version = publish(here.settings, spec, slot, read_verdict(here.settings, self.query, slot, run_id), run_id)
        context["outlet_events"][self.asset].extra = {"version": version, "slot": format_instant(slot)}


class QuarantineOperator(SlotOperator):
    """Keep the refused rows aside and end red, with the reason in the log; the published table stays as it was."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"task_id": "quarantine", **options})

    def execute(self, context: Any) -> None:
        """Raise the verdict's error, always."""
        from expectations.verdict import read_verdict
        from jobs.publish import quarantine

        here = self.here()
        spec = here.catalog.query(self.query)
        slot, run_id = self.slot(context, spec)
        verdict = read_verdict(here.settings, self.query, slot, run_id)
        quarantine(here.settings, spec, slot, verdict, run_id)
        raise verdict.error()
