"""The tasks after an ingest that have late and corrected rows published."""

from __future__ import annotations

from typing import Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import TriggerRule, task

from jobs.provider.retries import RETRIES
from shedding.config import Settings
from shedding.spec import Catalog
from shedding.spec.times import format_instant


def publish_again(name: str, catalog: Catalog, settings: Settings) -> Any:
    """Start a run for every slot whose rows have changed since it was computed, whatever became of the task before.

    Ingest fails if any file is refused, but the other files' rows are committed. `name` is a dataset, or a query that
    others read: its corrected and filled windows reach them.
    """

    @task(trigger_rule=TriggerRule.ALL_DONE, **RETRIES)
    def find_late() -> list[dict[str, Any]]:
        """The runs to start: one per query and stale slot, once for each state of the arrivals."""
        from jobs.run_slot import arrivals_of
        from jobs.stale_slots import stale_slots

        version = arrivals_of(settings, catalog, name).version
        found = []
        for query in catalog.queries_of(name):
            for slot in map(format_instant, stale_slots(settings, catalog, query.name)):
                print(f"rows of {query.name}, slot {slot}, arrived or were corrected after its run")
                dag_id, run_id = f"query_{query.name}", f"late__{slot}__{version}"
                found.append({"trigger_dag_id": dag_id, "trigger_run_id": run_id, "conf": {"slot": slot}})
        return found

    late = find_late()
    TriggerDagRunOperator.partial(
        task_id="publish_again", logical_date=None, skip_when_already_exists=True, **RETRIES
    ).expand_kwargs(late)
    return late
