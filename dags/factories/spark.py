"""A job as an Airflow task: spark-submit with the settings of this deployment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

import jobs
from factories.retries import RETRIES
from shedding.config import Settings
from shedding.errors import FINAL_CODE
from shedding.spark.conf import spark_conf

POOL = "spark"
"""Spark tasks share this pool; its size is how many JVMs the machine bears at once."""


class SparkJob(SparkSubmitOperator):
    """spark-submit that is red at once where the application says that no waiting helps (`FINAL_CODE`)."""

    def execute(self, context: Any) -> None:
        """Submit and wait; any other failure is tried again."""
        try:
            super().execute(context)
        except AirflowException as error:
            if f"Error code is: {FINAL_CODE}." in str(error):
                raise AirflowFailException("the application failed for good; its last lines above say why") from error
            raise


def spark_job(settings: Settings, job: str, arguments: list[str], **options: Any) -> SparkJob:
    """The application `jobs/<job>.py` as one task that starts one JVM."""
    return SparkJob(
        application=str(Path(jobs.__file__).parent / f"{job}.py"),
        application_args=arguments,
        name=f"sluice {job}",
        conf={**spark_conf(settings), "spark.log.level": "WARN"},
        env_vars={**settings.environment(), "PYSPARK_PYTHON": sys.executable},
        pool=POOL,
        **{**RETRIES, **options},
    )
