"""The DAG of a pool: one slot of all its queries, computed together, each judged and published by itself."""

from __future__ import annotations

from airflow.sdk import DAG, Param, TaskGroup

from factories.documentation import pool_page
from factories.schedule import scheduled
from jobs.provider.deployment import Deployment
from jobs.provider.operators import AggregateOperator, WaitForRawOperator
from jobs.provider.task_group import judged_slot
from shedding.config import Settings
from shedding.spec import Catalog, Pooled


def pool_dag(pool: Pooled, catalog: Catalog, settings: Settings) -> DAG:
    """`pool_<name>`: wait_for_raw -> aggregate, one application for all members -> a task group per member.

    A member that the application could not answer is red at its own gate; the others are published. It waits for the
    rows that the longest windows reach back to.
    """
    spec, here = pool.spec, Deployment(settings, catalog)
    farthest = max(pool.members, key=lambda one: one.window.size).name
    words = "start of the slot, ISO; left out: the run's own. Leave it out of backfills: they are refused with it"
    with DAG(
        f"pool_{spec.name}",
        description=spec.description or f"Queries of {spec.dataset} that share one scan and one budget",
        **scheduled(spec.schedule.every),
        max_active_runs=2,
        tags=["pool", spec.shed.policy, spec.dataset, *spec.tags],
        default_args={"owner": spec.owner},
        params={"slot": Param(None, type=["null", "string"], description=words)},
        doc_md=pool_page(pool),
    ) as dag:
        aggregate = AggregateOperator(query=farthest, pool=spec.name, deployment=here)
        WaitForRawOperator(query=farthest, deployment=here) >> aggregate
        for query in pool.members:
            with TaskGroup(query.name):
                gate, _ = judged_slot(query, here)
            aggregate >> gate
    return dag
