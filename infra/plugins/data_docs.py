"""Great Expectations' Data Docs beside Airflow's UI, at /data-docs, and in its navigation."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from infra.base_path import base_path

PREFIX = "/data-docs"


@functools.cache
def _app() -> Any:
    from infra.data_docs import app

    return app()


async def data_docs(scope: Any, receive: Any, send: Any) -> None:
    """The pages; made by the first request, because every process of Airflow imports plugins and one serves them.

    Where it cannot be made, say because Airflow's security has moved, the answer is an error and never a page.
    """
    await _app()(scope, receive, send)


class DataDocsPlugin(AirflowPlugin):
    """Serves the pages and links them from the navigation."""

    name = "sluice_data_docs"
    fastapi_apps: ClassVar = [{"app": data_docs, "url_prefix": PREFIX, "name": "Data Docs"}]
    external_views: ClassVar = [
        {"name": "Data Docs", "href": f"{base_path()}{PREFIX}/", "destination": "nav", "category": "browse"}
    ]
