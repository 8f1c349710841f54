"""The steps of a query's slot, wired: in a DAG of their own, or as a task group in anybody's DAG.

    with DAG("fares", schedule=CronDataIntervalTimetable("0 */6 * * *", timezone="UTC"), start_date=...):
        SluiceTaskGroup("taxi_route_fare")

A run computes the last whole slot before the end of its interval, or the one that its parameter `slot` names.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import TaskGroup, chain

from jobs.provider import operators
from jobs.provider.deployment import Deployment
from jobs.provider.notifications import notifiers
from jobs.provider.priority import PRIORITY
from jobs.provider.retries import RETRIES
from shedding.spec import QuerySpec

ONE_UPSTREAM = "none_failed_min_one_success"


class SluiceTaskGroup(TaskGroup):
    """wait_for_raw -> aggregate -> gate -> publish, or what the gate's `on_failure` says, for one query.

    The specification is that of the deployment (`[sluice] specs`); one that is wrong is an import error of the DAG, in
    one line. What comes after the group runs once the slot is published, or dropped, and not where it was refused.
    """

    def __init__(
        self, query: str, *, group_id: str | None = None, deployment: Deployment | None = None, **options: Any
    ) -> None:
        super().__init__(group_id or query, **options)
        here = deployment or Deployment.load()
        with self:
            last = slot_tasks(here.catalog.query(query), here)
            last >> EmptyOperator(task_id="done", trigger_rule=ONE_UPSTREAM, **RETRIES)


def slot_tasks(query: QuerySpec, deployment: Deployment) -> list[Any]:
    """Add the tasks of a slot to the DAG or group that is being made; those that end it."""
    own: dict[str, Any] = {"query": query.name, "deployment": deployment}
    wait, aggregate = operators.WaitForRawOperator(**own), operators.AggregateOperator(**own)
    gate, last = judged_slot(query, deployment)
    if not query.drops_windows:
        wait >> aggregate
    else:
        drop = operators.DropOperator(**own)
        wait >> operators.PlanOperator(**own) >> [aggregate, drop]
        last.append(drop)
    aggregate >> gate
    return last


def judged_slot(query: QuerySpec, deployment: Deployment) -> tuple[Any, list[Any]]:
    """Add the tasks of a slot that was computed: its gate, and what follows it; those that end it."""
    own: dict[str, Any] = {"query": query.name, "deployment": deployment}
    publish = operators.PublishOperator(**own, trigger_rule=ONE_UPSTREAM)
    refused = notifiers(query, "refused")
    quarantine = operators.QuarantineOperator(**own, trigger_rule=ONE_UPSTREAM, on_failure_callback=refused)
    gate = operators.GateOperator(**own, failed=_first_remedy(query))
    gate >> publish
    remedy = _remedy(query, own, gate)
    chain(gate, *remedy, quarantine)
    if remedy:
        remedy[-1] >> publish
    return gate, [publish, quarantine]


def _first_remedy(query: QuerySpec) -> str:
    return {"repair": "repair", "widen": "repair", "ask": "ask"}.get(query.gate.on_failure, "quarantine")


def _remedy(query: QuerySpec, own: dict[str, Any], gate: Any) -> list[Any]:
    """What a failed gate leads to before quarantine: the steps, the last of which decides; none: straight there."""
    first = _first_remedy(query)
    if first == "repair":
        again = operators.GateOperator(**own, task_id="gate_again", again=True)
        return [operators.RepairOperator(**own, on_success_callback=notifiers(query, "repaired")), again]
    if first == "ask":
        ask = _ask(query, gate)
        return [ask, operators.DecisionOperator(**own, answer=ask.output)]
    return []


def _ask(query: QuerySpec, gate: Any) -> HITLOperator:
    """A person decides in the UI whether the slot is published over its budget; silence means no.

    Rejecting does not fail the task. A crash (of the process or the database) does, and its retry asks again.
    """
    of_gate = f"{{{{{{{{ ti.xcom_pull(task_ids='{gate.task_id}', key='{{}}') }}}}}}}}"
    return HITLOperator(
        task_id="ask",
        subject=f"Publish {query.name}, slot {of_gate.format('slot')}, over its error budget?",
        body=of_gate.format("reason"),
        options=[operators.APPROVE, operators.REJECT],
        defaults=[operators.REJECT],
        notifiers=notifiers(query, "approval_needed"),
        response_timeout=dt.timedelta(microseconds=query.gate.approval_timeout),
        weight_rule=PRIORITY,
        **RETRIES,
    )
