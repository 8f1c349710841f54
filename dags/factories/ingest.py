"""The DAG of a dataset: rows of each interval into `raw/<dataset>`."""

from __future__ import annotations

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Param

from factories.assets import announce_version, raw_asset
from factories.documentation import dataset_page
from factories.late_tasks import publish_again
from factories.retries import RETRIES
from factories.schedule import scheduled
from factories.spark import spark_job
from shedding.config import Settings
from shedding.spec import Catalog, DatasetSpec

# A generator makes the rows of this interval; with files it says up to when the landing directory was looked at.
FROM = "{{ params['from'] or (data_interval_start or dag_run.run_after).isoformat() }}"
TO = "{{ params['to'] or (data_interval_end or dag_run.run_after).isoformat() }}"


def ingest_dag(dataset: DatasetSpec, catalog: Catalog, settings: Settings) -> DAG:
    """`ingest_<dataset>`: one Spark application a run, one run at a time."""
    asset = raw_asset(dataset.name)
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
        ingest = spark_job(
            settings,
            "ingest",
            ["--dataset", dataset.name, "--from", FROM, "--to", TO],
            task_id="ingest",
            outlets=[asset],
            post_execute=announce_version(settings, asset),
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
