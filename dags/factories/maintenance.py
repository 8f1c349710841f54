"""The DAG that keeps tables small and quick."""

from __future__ import annotations

import datetime as dt

from airflow.sdk import DAG, task

from factories.schedule import DAY, scheduled
from jobs.provider.retries import RETRIES
from shedding.config import Settings
from shedding.spec import Catalog


def maintenance_dag(catalog: Catalog, settings: Settings, doc_md: str) -> DAG:
    """`maintenance`: one task per dataset, one at a time, once a day."""
    with DAG(
        "maintenance",
        description="OPTIMIZE, VACUUM and removal of hidden rows, once a day",
        **scheduled(DAY),
        max_active_runs=1,
        max_active_tasks=1,
        tags=["maintenance"],
        default_args={"owner": "data-platform"},
        doc_md=doc_md,
    ) as dag:

        @task(execution_timeout=dt.timedelta(hours=2), **RETRIES)
        def maintain_tables(dataset: str) -> None:
            """Maintain the tables of a dataset and of the queries on it; a line a table in the log."""
            from jobs.maintain import maintain

            for done in maintain(settings, catalog, dataset):
                print(done)

        for name in sorted(catalog.datasets):
            maintain_tables.override(task_id=f"maintain_{name}")(name)
    return dag
