"""A job as an Airflow task: spark-submit with the settings of this deployment."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

import jobs
from shedding.config import Settings
from shedding.spark.conf import spark_conf

POOL = "spark"
"""Spark tasks share this pool; its size is how many JVMs the machine bears at once."""

RETRIES = {
    "retries": 3,
    "retry_delay": dt.timedelta(seconds=20),
    "retry_exponential_backoff": True,
    "max_retry_delay": dt.timedelta(minutes=10),
}
"""For what may pass by waiting: a lost JVM, a write conflict, a full disk. Verdicts never retry."""


def spark_job(settings: Settings, job: str, arguments: list[str], **options: Any) -> SparkSubmitOperator:
    """The application `jobs/<job>.py` as one task that starts one JVM."""
    return SparkSubmitOperator(
        application=str(Path(jobs.__file__).parent / f"{job}.py"),
        application_args=arguments,
        name=f"sluice {job}",
        conf={**spark_conf(settings), "spark.log.level": "WARN"},
        env_vars={**settings.environment(), "PYSPARK_PYTHON": sys.executable},
        pool=POOL,
        **{**RETRIES, **options},
    )
