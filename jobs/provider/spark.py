"""A Spark application of Sluice as an Airflow task: a session of the Spark that is up, or spark-submit."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException

import jobs
from jobs.provider.deployment import deployed_settings
from jobs.provider.priority import PRIORITY
from jobs.provider.retries import RETRIES, ApplicationError
from shedding.config import Settings
from shedding.errors import FINAL_CODE
from shedding.job_environment import foreign_names
from shedding.spark.conf import spark_conf

POOL = "spark"
"""Spark tasks share this pool; its size is how many JVMs the machine bears at once."""


class SparkJob(SparkSubmitOperator):
    """The application `jobs/<job>.py`; red at once where it says that no waiting helps (`FINAL_CODE`).

    `shared`: a job of one slot, which takes a session of the deployment's Spark where one is up, in this task's own
    process. Otherwise the task starts one JVM.
    """

    def __init__(
        self,
        *,
        job: str,
        arguments: Sequence[str] = (),
        settings: Settings | None = None,
        shared: bool = False,
        **options: Any,
    ) -> None:
        settings = settings or deployed_settings()
        self.job, self.in_process = job, shared and settings.connected
        super().__init__(
            **{
                "application": str(Path(jobs.__file__).parent / f"{job}.py"),
                "application_args": list(arguments),
                "name": f"sluice {job}",
                "conf": {**spark_conf(settings), "spark.log.level": "WARN"},
                "env_vars": {**settings.environment(), "PYSPARK_PYTHON": sys.executable},
                "pool": POOL,
                "weight_rule": PRIORITY,
                "durable": False,  # a submission that is let go of does not bring the application's exit code
                **RETRIES,
                **options,
            }
        )

    def execute(self, context: Any) -> None:
        """Run the application; any failure that it does not call final is tried again."""
        if self.in_process:
            self._ended(importlib.import_module(f"jobs.{self.job}").main(list(self.application_args)))
            return
        try:
            super().execute(context)
        except AirflowException as error:
            if self._exit_code() == FINAL_CODE:
                raise _final() from error
            raise

    def _ended(self, code: int) -> None:
        if code == FINAL_CODE:
            raise _final()
        if code:
            raise AirflowException(f"the application ended with code {code}; its last lines above say why")

    def _exit_code(self) -> int | None:
        """The application's: spark-submit's own, or on Kubernetes that of the driver's pod."""
        hook = self._hook
        if hook is None or hook._submit_sp is None:
            return None
        code: int | None = hook._spark_exit_code if hook._is_kubernetes else hook._submit_sp.returncode
        return code

    def _get_hook(self) -> SparkSubmitHook:
        """The provider's hook, whose spark-submit gets only the variables that a job needs: `env -u` drops others."""
        hook = super()._get_hook()
        build, further = hook._build_spark_submit_command, (self.env_vars or {}).get("SLUICE_JOB_VARIABLES", "")

        def command(application: str) -> list[str]:
            dropped = [part for name in foreign_names(os.environ, further) for part in ("-u", name)]
            return ["env", *dropped, *build(application)]

        hook._build_spark_submit_command = command
        return hook


def _final() -> ApplicationError:
    return ApplicationError("the application failed for good; its last lines above say why")
