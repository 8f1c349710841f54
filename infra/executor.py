"""Airflow's local executor with the large packages of the tasks loaded before its workers are forked.

A gate needs Great Expectations, pandas and SciPy: many seconds of imports for half a second of judging. Workers are
forks of the scheduler and tasks are forks of workers, so what the scheduler has loaded costs them nothing. Only
packages are loaded, none of the project's own code: what an engineer changes there holds from the next task on.
"""

from __future__ import annotations

import importlib
import logging

from airflow.executors.local_executor import LocalExecutor

PACKAGES = (
    "airflow.dag_processing.dagbag",
    "airflow.providers.apache.spark.operators.spark_submit",
    "airflow.providers.standard.operators.hitl",
    "airflow.providers.standard.operators.trigger_dagrun",
    "airflow.providers.standard.operators.branch",
    "airflow.sdk.execution_time.task_runner",
    "great_expectations",
    "pandas",
    "pyarrow.dataset",
    "pyspark.sql.connect.session",
    "scipy.stats",
)
"""Each bears a fork once it is imported. delta-rs does not once it is used, so nothing here may read a table."""


class WarmExecutor(LocalExecutor):
    """A local executor whose tasks find PACKAGES in memory."""

    def start(self) -> None:
        """Load the packages, then fork the workers."""
        logging.getLogger("great_expectations").setLevel(logging.WARNING)  # it tells of every method it registers
        for name in PACKAGES:
            importlib.import_module(name)
        super().start()
