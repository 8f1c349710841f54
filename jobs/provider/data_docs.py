"""The pages that gates write, for who is logged in to Airflow and may see the query's runs there; nobody else.

Every path below the app is a route that Airflow's own security guards: no files are mounted, because a mounted
directory knows nothing of the app's dependencies.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import NoReturn

from airflow.api_fastapi.auth.managers.models.resource_details import AccessView, DagAccessEntity
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag, requires_access_view
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse

from jobs.provider.deployment import deployed_settings

HEADERS = {
    # A page shows values that came with the data: whatever they hold, nothing runs and nothing is loaded.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
READ = ["GET", "HEAD"]
METHODS = [*READ, "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
NOT_FOUND = 404
_HEAD = "<!doctype html><meta charset='utf-8'><title>Data Docs</title><h1>Verdicts of the gate</h1>"
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,200}")


def may_read(query: str, request: Request, user: GetUserDep) -> None:
    """Refuse whoever may not see the runs of the query's DAG."""
    requires_access_dag("GET", DagAccessEntity.RUN, f"query_{query}")(request, user)


def data_docs_app(docs: Path) -> FastAPI:
    """The pages below `docs`, with a list of the caller's queries as the front page."""
    app = FastAPI(title="Data Docs", openapi_url=None, dependencies=[Depends(requires_access_view(AccessView.WEBSITE))])

    @app.api_route("/", methods=READ)
    def queries(request: Request, user: GetUserDep) -> HTMLResponse:
        found = (page.parent.name for page in docs.glob("*/index.html"))
        names = [html.escape(name) for name in sorted(found) if is_allowed(name, request, user)]
        items = "".join(f'<li><a href="{name}/index.html">{name}</a></li>' for name in names)
        return _shown(
            f"<!doctype html><title>Data Docs</title><h1>Verdicts of the gate</h1><ul>{items or 'none yet'}</ul>"
        )

    @app.api_route("/{query}/{name}", methods=READ, dependencies=[Depends(may_read)])
    def page(query: str, name: str) -> HTMLResponse:
        return _shown(_text(docs, query, name))

    @app.api_route("/{path:path}", methods=METHODS)
    def nothing(path: str) -> None:
        _missing()

    return app


def app() -> FastAPI:
    """The app of this deployment."""
    return data_docs_app(deployed_settings().docs)


def _missing() -> NoReturn:
    raise HTTPException(NOT_FOUND, "no such page")


def is_allowed(query: str, request: Request, user: GetUserDep) -> bool:
    """Whether the caller may see the runs of the query's DAG."""
    try:
        may_read(query, request, user)
    except HTTPException:
        return False
    return True


def _shown(page: str) -> HTMLResponse:
    return HTMLResponse(page, headers=HEADERS)


def _text(docs: Path, query: str, name: str) -> str:
    """The page's text; a file that is not below `docs` by a plain name, link or not, is none."""
    if not (_NAME.fullmatch(query) and _NAME.fullmatch(name)):
        _missing()
    root = docs.resolve()
    file = (root / query / name).resolve()
    if not file.is_relative_to(root):
        _missing()
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        _missing()
