"""The DAG of a query: one slot from raw rows to a published or quarantined answer."""

from __future__ import annotations

from airflow.sdk import DAG, Param

from factories.documentation import query_page
from factories.late_tasks import publish_again
from factories.schedule import scheduled
from jobs.provider.deployment import Deployment
from jobs.provider.notifications import late_alerts
from jobs.provider.task_group import slot_tasks
from shedding.config import Settings
from shedding.spec import Catalog, QuerySpec


def query_dag(query: QuerySpec, catalog: Catalog, settings: Settings) -> DAG:
    """`query_<name>`: wait_for_raw -> aggregate -> gate -> publish, or what the gate's `on_failure` says.

    That of a pool's member is not scheduled: its pool computes its slots. It is there for single slots and late rows.
    """
    with DAG(
        f"query_{query.name}",
        description=query.description or f"Windows of {query.dataset}, within an error budget",
        **scheduled(query.schedule.every if query.shed.pool is None else None),
        max_active_runs=2,
        tags=["query", query.shed.policy, query.dataset, *query.tags],
        default_args={"owner": query.owner},
        params=_params(query),
        doc_md=query_page(query),
        deadline=late_alerts(query) or None,
    ) as dag:
        last = slot_tasks(query, Deployment(settings, catalog))
        if catalog.queries_of(query.name):
            [task for task in last if task.task_id != "quarantine"] >> publish_again(query.name, catalog, settings)
    return dag


def _params(query: QuerySpec) -> dict[str, Param]:
    """What a run may be told in the UI."""
    words = "start of the slot, ISO; left out: the run's own. Leave it out of backfills: they are refused with it"
    params = {"slot": Param(None, type=["null", "string"], description=words)}
    if query.drops_windows:
        params["fill"] = Param(False, type="boolean", description="compute the windows that would be dropped, too")
    return params
