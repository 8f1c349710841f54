"""The DAG of a dataset: rows of each interval into `raw/<dataset>`."""

from __future__ import annotations

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Param

from factories.documentation import dataset_page
from factories.late_tasks import publish_again
from factories.schedule import scheduled
from jobs.provider.deployment import Deployment
from jobs.provider.operators import IngestOperator
from jobs.provider.retries import RETRIES
from shedding.config import Settings
from shedding.spec import Catalog, DatasetSpec


def ingest_dag(dataset: DatasetSpec, catalog: Catalog, settings: Settings) -> DAG:
    """`ingest_<dataset>`: one Spark application a run, one run at a time."""
    with DAG(
        f"ingest_{dataset.name}",
        description=dataset.description or f"Rows of {dataset.name} into raw/{dataset.name}",
        **scheduled(dataset.schedule.every),
        max_active_runs=1,
        tags=["ingest", dataset.source.kind, *dataset.tags],
        default_args={"owner": dataset.owner},
        params=_interval_params(),
        doc_md=dataset_page(dataset, catalog),
    ) as dag:
        ingest = IngestOperator(
            dataset=dataset.name,
            deployment=Deployment(settings, catalog),
            doc_md="Reads what has arrived, quarantines broken rows, counts the queries' keys.",
        )
        # The empty leaf fails the DAG run when ingest fails, whatever the late-row task does.
        ingest >> [publish_again(dataset.name, catalog, settings), EmptyOperator(task_id="all_taken_in", **RETRIES)]
    return dag


def _interval_params() -> dict[str, Param]:
    """A run started by hand may name its own interval, e.g. to fill a day with one JVM."""
    return {
        name: Param(None, type=["null", "string"], description=f"{text}, ISO; left out: the run's interval")
        for name, text in (("from", "first instant"), ("to", "instant after the last"))
    }
