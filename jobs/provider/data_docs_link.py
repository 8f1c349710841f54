"""The button on a gate's task that opens the verdict's page in Data Docs."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperatorLink

from jobs.provider.base_path import base_path

XCOM_KEY = "data_docs"
PREFIX = "/data-docs"


class DataDocsLink(BaseOperatorLink):
    """Opens the page that the gate wrote; the API server serves it under `/data-docs`."""

    name = "Data Docs"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The page's address; computed where the task ran, when it has ended."""
        page = ti_key.xcom_pull(task_ids=operator.task_id, key=XCOM_KEY)
        return f"{base_path()}{PREFIX}/{page or ''}"
