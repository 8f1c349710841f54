"""Great Expectations' Data Docs beside Airflow's UI, at /data-docs, and in its navigation."""

from __future__ import annotations

import html
from typing import ClassVar

from airflow.plugins_manager import AirflowPlugin
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

from shedding.config import Settings

PREFIX = "/data-docs"


def data_docs_app(settings: Settings) -> FastAPI:
    """The pages below the settings' `docs`, with a list of the queries as the front page."""
    app = FastAPI(title="Data Docs", openapi_url=None)

    @app.get("/", response_class=HTMLResponse)
    def queries() -> str:
        found = sorted(page.parent.name for page in settings.docs.glob("*/index.html"))
        items = "".join(f'<li><a href="{html.escape(name)}/index.html">{html.escape(name)}</a></li>' for name in found)
        return f"<!doctype html><title>Data Docs</title><h1>Verdicts of the gate</h1><ul>{items or 'none yet'}</ul>"

    app.mount("/", StaticFiles(directory=settings.docs, html=True, check_dir=False))
    return app


class DataDocsPlugin(AirflowPlugin):
    """Serves the pages and links them from the navigation."""

    name = "sluice_data_docs"
    fastapi_apps: ClassVar = [{"app": data_docs_app(Settings.load()), "url_prefix": PREFIX, "name": "Data Docs"}]
    external_views: ClassVar = [{"name": "Data Docs", "href": f"{PREFIX}/", "destination": "nav", "category": "browse"}]
