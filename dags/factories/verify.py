"""The DAG that computes exactly, afterwards, what a query published without an audit."""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, Param

from factories.documentation import verify_page
from factories.schedule import scheduled
from jobs.provider.spark import SparkJob
from shedding.config import Settings
from shedding.spec import Catalog, QuerySpec
from shedding.spec.times import format_instant, parse_instant

FROM = "{{ params['from'] or span_of_run(dag_run)[0] }}"
TO = "{{ params['to'] or span_of_run(dag_run)[1] }}"
SAMPLE = "{{ params['sample'] or 0 }}"


def verify_dag(query: QuerySpec, catalog: Catalog, settings: Settings) -> DAG:
    """`verify_<query>`: one Spark application every `audit.verify`, red where the promise was not kept."""
    assert query.audit.verify is not None, "only for queries that ask for it"
    with DAG(
        f"verify_{query.name}",
        description=f"What {query.name} published without an audit, computed exactly afterwards",
        **scheduled(query.audit.verify),
        max_active_runs=1,
        tags=["verify", query.dataset, *query.tags],
        default_args={"owner": query.owner},
        params={
            "from": Param(None, type=["null", "string"], description="first instant, ISO; left out: the run's own"),
            "to": Param(None, type=["null", "string"], description="instant after the last, ISO; likewise"),
            "sample": Param(None, type=["null", "integer"], minimum=1, description="so many slots; left out: all"),
        },
        user_defined_macros={"span_of_run": lambda dag_run: span_of_run(query, dag_run)},
        doc_md=verify_page(query),
    ) as dag:
        arguments = ["--query", query.name, "--from", FROM, "--to", TO, "--sample", SAMPLE, "--run-id", "{{ run_id }}"]
        SparkJob(job="verify", arguments=arguments, settings=settings, task_id="verify")
    return dag


def span_of_run(query: QuerySpec, dag_run: Any) -> tuple[str, str]:
    """The interval of slots that a run verifies: its own, one slot earlier.

    The last slot of the run's interval is being computed when the interval ends; the next run has it, so each is
    verified once. A run without an interval takes the last one before it.
    """
    assert query.audit.verify is not None
    timeline = query.timeline
    end = parse_instant(dag_run.data_interval_end or dag_run.run_after)
    start = parse_instant(dag_run.data_interval_start) if dag_run.data_interval_start else end - query.audit.verify
    first, last = (format_instant(timeline.slot_of(instant) - timeline.slot) for instant in (start, end))
    return first, last
