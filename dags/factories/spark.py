"""A job as an Airflow task: spark-submit with the settings of this deployment."""

from __future__ import annotations

import importlib
import os
import re
import sys
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

import jobs
from factories.retries import RETRIES
from shedding.config import Settings
from shedding.errors import FINAL_CODE
from shedding.job_environment import foreign_names
from shedding.spark.conf import spark_conf

POOL = "spark"
"""Spark tasks share this pool; its size is how many JVMs the machine bears at once."""

_FINAL = re.compile(rf"Error code is: (?:{FINAL_CODE}\.|\d+\. Kubernetes spark exit code is: {FINAL_CODE}\b)")
"""How the provider tells of the application's exit code: spark-submit's, or on Kubernetes that of the driver's pod."""


class SparkJob(SparkSubmitOperator):
    """spark-submit that is red at once where the application says that no waiting helps (`FINAL_CODE`)."""

    def execute(self, context: Any) -> None:
        """Submit and wait; any other failure is tried again."""
        try:
            super().execute(context)
        except AirflowException as error:
            if _FINAL.search(str(error)):
                raise AirflowFailException("the application failed for good; its last lines above say why") from error
            raise

    def _get_hook(self) -> SparkSubmitHook:
        """The provider's hook, whose spark-submit gets only the variables that a job needs: `env -u` drops others."""
        hook = super()._get_hook()
        build, further = hook._build_spark_submit_command, (self.env_vars or {}).get("SLUICE_JOB_VARIABLES", "")

        def command(application: str) -> list[str]:
            dropped = [part for name in foreign_names(os.environ, further) for part in ("-u", name)]
            return ["env", *dropped, *build(application)]

        hook._build_spark_submit_command = command  # type: ignore[method-assign]
        return hook


class ConnectedJob(BaseOperator):
    """The same application in this task's own process, by a session of the Spark that is up already."""

    template_fields = ("application_args",)

    def __init__(self, *, job: str, application_args: list[str], **options: Any) -> None:
        super().__init__(**options)
        self.job, self.application_args = job, application_args

    def execute(self, context: Any) -> None:
        """Run the application's `main`; red at once where no waiting helps."""
        code = importlib.import_module(f"jobs.{self.job}").main(self.application_args)
        if code == FINAL_CODE:
            raise AirflowFailException("the application failed for good; its last lines above say why")
        if code:
            raise AirflowException(f"the application ended with code {code}; its last lines above say why")


def slot_job(settings: Settings, job: str, arguments: list[str], **options: Any) -> BaseOperator:
    """A job of one slot: in the shared Spark where there is one, else as an application of its own."""
    if not settings.connected:
        return spark_job(settings, job, arguments, **options)
    return ConnectedJob(job=job, application_args=arguments, pool=POOL, **{**RETRIES, **options})


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
