"""The DAG tests' Airflow, for operators on their own."""

from tests.dags.conftest import airflow_home

__all__ = ["airflow_home"]
