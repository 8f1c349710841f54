"""The DAG of a query: one slot from raw rows to a published or quarantined answer."""

from __future__ import annotations

import datetime as dt
from typing import Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import DAG, Param, chain

from factories import slot_tasks
from factories.documentation import query_page
from factories.late_tasks import publish_again
from factories.retries import RETRIES
from factories.schedule import scheduled
from factories.spark import slot_job
from shedding.config import Settings
from shedding.spec import Catalog, QuerySpec

SLOT = "{{ slot_of_run(dag_run, params) }}"
ONE_UPSTREAM = "none_failed_min_one_success"


def query_dag(query: QuerySpec, catalog: Catalog, settings: Settings) -> DAG:
    """`query_<name>`: wait_for_raw -> aggregate -> gate -> publish, or what the gate's `on_failure` says."""
    with DAG(
        f"query_{query.name}",
        description=query.description or f"Windows of {query.dataset}, within an error budget",
        **scheduled(query.schedule.every),
        max_active_runs=2,
        tags=["query", query.shed.policy, query.dataset, *query.tags],
        default_args={"owner": query.owner},
        params=_params(query),
        user_defined_macros={"slot_of_run": slot_tasks.slot_name_of(query)},
        doc_md=query_page(query),
    ) as dag:
        wait = slot_tasks.wait_for_raw(query, catalog, settings)
        arguments = ["--query", query.name, "--slot", SLOT, "--run-id", "{{ run_id }}"]
        aggregate = slot_job(settings, "aggregate", arguments, task_id="aggregate")
        publish = slot_tasks.publish(query, settings, trigger_rule=ONE_UPSTREAM)
        quarantine = slot_tasks.quarantine(query, settings, trigger_rule=ONE_UPSTREAM)
        decided = [publish]
        remedy = _remedy(query, catalog, settings)
        gate = slot_tasks.gate(query, settings, "gate", failed=remedy[0].task_id if remedy else "quarantine")
        if not query.drops_windows:
            wait >> aggregate
        else:
            drop = slot_tasks.drop(query, settings)
            wait >> slot_tasks.plan(query, settings) >> [aggregate, drop]
            decided.append(drop)
        aggregate >> gate >> publish
        chain(gate, *remedy, quarantine)
        if remedy:
            remedy[-1] >> publish
        if catalog.queries_of(query.name):
            decided >> publish_again(query.name, catalog, settings)
    return dag


def _params(query: QuerySpec) -> dict[str, Param]:
    """What a run may be told in the UI."""
    params = {"slot": Param(None, type=["null", "string"], description="start of the slot, ISO; else the run's own")}
    if query.drops_windows:
        params["fill"] = Param(False, type="boolean", description="compute the windows that would be dropped, too")
    return params


def _remedy(query: QuerySpec, catalog: Catalog, settings: Settings) -> list[Any]:
    """What a failed gate leads to before quarantine: the steps, the last of which decides; none: straight there."""
    kind = query.gate.on_failure
    if kind in ("repair", "widen"):
        mended = slot_tasks.repair(query, catalog, settings)
        return [mended, slot_tasks.gate(query, settings, "gate_again", "quarantine")]
    if kind == "ask":
        ask = _ask(query)
        return [ask, slot_tasks.record_decision(query, settings)(ask.output)]
    return []


def _ask(query: QuerySpec) -> HITLOperator:
    """A person decides in the UI whether the slot is published over its budget; silence means no.

    Rejecting does not fail the task. A crash (of the process or the database) does, and its retry asks again.
    """
    return HITLOperator(
        task_id="ask",
        subject=f"Publish {query.name}, slot {SLOT}, over its error budget?",
        body="{{ ti.xcom_pull(task_ids='gate', key='reason') }}",
        options=[slot_tasks.APPROVE, slot_tasks.REJECT],
        defaults=[slot_tasks.REJECT],
        response_timeout=dt.timedelta(microseconds=query.gate.approval_timeout),
        **RETRIES,
    )
