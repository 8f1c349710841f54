"""The pages beside Airflow's UI: error budgets at /sluice and as a tab on query DAGs, Data Docs at /data-docs."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from jobs.provider import warnings_note
from jobs.provider.base_path import base_path
from jobs.provider.data_docs_link import PREFIX as DATA_DOCS
from jobs.provider.priority import DueFirst

PAGES = "/sluice"


@functools.cache
def _error_budgets() -> Any:
    from jobs.provider.page import app

    return app()


@functools.cache
def _data_docs() -> Any:
    from jobs.provider.data_docs import app

    return app()


async def error_budgets(scope: Any, receive: Any, send: Any) -> None:
    """The page; made by the first request, because every process of Airflow imports plugins and one serves them.

    Where it cannot be made, say because Airflow's security has moved, the answer is an error and never a page.
    """
    await _error_budgets()(scope, receive, send)


async def data_docs(scope: Any, receive: Any, send: Any) -> None:
    """The verdicts' pages; likewise."""
    await _data_docs()(scope, receive, send)


class SluicePlugin(AirflowPlugin):
    """Serves the pages, links them from the navigation, and knows the priority of runs.

    A tab appears only with a `url_route`.
    """

    name = "sluice"
    fastapi_apps: ClassVar = [
        {"app": error_budgets, "url_prefix": PAGES, "name": "Error budgets"},
        {"app": data_docs, "url_prefix": DATA_DOCS, "name": "Data Docs"},
    ]
    external_views: ClassVar = [
        {"name": "Error budgets", "href": f"{base_path()}{PAGES}/", "destination": "nav", "category": "browse",
         "url_route": "error-budgets"},
        {"name": "Error budget", "href": f"{base_path()}{PAGES}/dag/{{DAG_ID}}", "destination": "dag",
         "url_route": "error-budget"},
        {"name": "Data Docs", "href": f"{base_path()}{DATA_DOCS}/", "destination": "nav", "category": "browse"},
    ]  # fmt: skip
    priority_weight_strategies: ClassVar = [DueFirst]
    listeners: ClassVar = [warnings_note]
