"""The page of error budgets in Airflow's navigation, at /sluice, and as a tab on every query's DAG."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from infra.base_path import base_path

PREFIX = "/sluice"


@functools.cache
def _app() -> Any:
    from infra.page import app

    return app()


async def error_budgets(scope: Any, receive: Any, send: Any) -> None:
    """The pages; made by the first request, because every process of Airflow imports plugins and one serves them."""
    await _app()(scope, receive, send)


class ErrorBudgetsPlugin(AirflowPlugin):
    """Serves the page, in the navigation and as a tab; a tab appears only with a `url_route`."""

    name = "sluice_error_budgets"
    fastapi_apps: ClassVar = [{"app": error_budgets, "url_prefix": PREFIX, "name": "Error budgets"}]
    external_views: ClassVar = [
        {"name": "Error budgets", "href": f"{base_path()}{PREFIX}/", "destination": "nav", "category": "browse",
         "url_route": "error-budgets"},
        {"name": "Error budget", "href": f"{base_path()}{PREFIX}/dag/{{DAG_ID}}", "destination": "dag",
         "url_route": "error-budget"},
    ]  # fmt: skip
