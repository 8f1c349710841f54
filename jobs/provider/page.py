"""The page of error budgets for who is logged in to Airflow and may see a query's runs there, and its metrics.

Every path is a route with a guard of its own: Airflow's security for pages, a token for the metrics, which Prometheus
pulls without a login. Blocking reads are in plain functions, which the server runs in threads.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable

from airflow.api_fastapi.auth.managers.models.resource_details import AccessView, DagAccessEntity
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag, requires_access_view
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, PlainTextResponse

from jobs.provider.data_docs import HEADERS, METHODS, NOT_FOUND, READ, is_allowed, may_read
from jobs.provider.deployment import deployed_settings
from jobs.report.figures import QueryFigures
from jobs.report.metrics import CONTENT_TYPE, metrics_text
from jobs.report.pages import Links, content_security_policy, front_page, message_page, query_page
from shedding.config import Settings
from shedding.spec import Catalog, load_catalog

NO_TOKEN = 401
DAG_PREFIX = "query_"
FRONT = Links(query="query/{}", front="./", keys=True)
BELOW = Links(query="../query/{}", front="../", keys=True)
LOGGED_IN = [Depends(requires_access_view(AccessView.WEBSITE))]


def may_read_dag(dag_id: str, request: Request, user: GetUserDep) -> None:
    """Refuse whoever may not see the runs of the DAG."""
    requires_access_dag("GET", DagAccessEntity.RUN, dag_id)(request, user)


def page_app(settings: Settings) -> FastAPI:
    """The pages and metrics of a warehouse."""
    app = FastAPI(title="Error budgets", openapi_url=None)

    @app.api_route("/", methods=READ, dependencies=LOGGED_IN)
    def front(request: Request, user: GetUserDep) -> HTMLResponse:
        catalog = load_catalog(settings.specs)
        names = [name for name in catalog.queries if is_allowed(name, request, user)]
        return _shown(front_page(settings, [_figures(settings, catalog, name) for name in names], FRONT))

    @app.api_route("/query/{query}", methods=READ, dependencies=[*LOGGED_IN, Depends(may_read)])
    def of_query(query: str, measure: str | None = None, key: str | None = None) -> HTMLResponse:
        return _query(settings, query, measure, key)

    @app.api_route("/dag/{dag_id}", methods=READ, dependencies=[*LOGGED_IN, Depends(may_read_dag)])
    def of_dag(dag_id: str, measure: str | None = None, key: str | None = None) -> HTMLResponse:
        name = dag_id.removeprefix(DAG_PREFIX)
        if not dag_id.startswith(DAG_PREFIX) or name not in load_catalog(settings.specs).queries:
            text = "This DAG publishes no windows, so it has no error budget. Those of the queries are one page up."
            return _shown(message_page("No error budget", text, BELOW))
        return _query(settings, name, measure, key)

    @app.api_route("/metrics", methods=READ, dependencies=[Depends(_token_of(settings))])
    def metrics() -> PlainTextResponse:
        catalog = load_catalog(settings.specs)
        figures = [_figures(settings, catalog, name) for name in sorted(catalog.queries)]
        return PlainTextResponse(metrics_text(settings, figures), media_type=CONTENT_TYPE)

    @app.api_route("/{path:path}", methods=METHODS, dependencies=LOGGED_IN)
    def nothing(path: str) -> None:
        raise HTTPException(NOT_FOUND, "no such page")

    return app


def app() -> FastAPI:
    """The app of this deployment."""
    return page_app(deployed_settings())


def _token_of(settings: Settings) -> Callable[[Request], None]:
    def has_token(request: Request) -> None:
        """Refuse whoever does not bring the metrics' own token; everybody where none is set."""
        given = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
        wanted = settings.metrics_token.encode()
        if not wanted or not hmac.compare_digest(given, wanted):
            raise HTTPException(NO_TOKEN, "the metrics need their token", {"WWW-Authenticate": "Bearer"})

    return has_token


def _query(settings: Settings, name: str, measure: str | None, key: str | None) -> HTMLResponse:
    catalog = load_catalog(settings.specs)
    if name not in catalog.queries:
        raise HTTPException(NOT_FOUND, "no such page")
    return _shown(query_page(settings, _figures(settings, catalog, name), BELOW, measure, key))


def _figures(settings: Settings, catalog: Catalog, name: str) -> QueryFigures:
    return QueryFigures.load(settings, catalog.query(name), time.time_ns() // 1000)


def _shown(page: str) -> HTMLResponse:
    return HTMLResponse(page, headers={**HEADERS, "Content-Security-Policy": content_security_policy()})
