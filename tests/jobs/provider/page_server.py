"""`python -m tests.jobs.provider.page_server DIR`: the pages of a warehouse below Airflow's security, on a free port.

The users are made here: `ann` may see every DAG, `bob` none but that of one query. The first line it prints has the
port and every route.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TOKEN, OTHER = "for-prometheus", "elsewhere"


class Users:
    """Stands in for the deployment's auth manager."""

    async def get_user_from_token(self, token: str) -> str:
        from jwt import InvalidTokenError

        if token not in ("ann", "bob"):
            raise InvalidTokenError
        return token

    def is_authorized_view(self, *, user: str, **_: Any) -> bool:
        return True

    def is_authorized_dag(self, *, user: str, details: Any, **_: Any) -> bool:
        return user == "ann" or details.id == f"query_{OTHER}"


@contextmanager
def serving(directory: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a server of the warehouse in `directory`, and its routes; a process of its own."""
    environment = {**os.environ, "AIRFLOW_HOME": tempfile.mkdtemp(prefix="sluice-airflow-")}
    command = [sys.executable, "-m", "tests.jobs.provider.page_server", str(directory)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = next(line for line in process.stdout if line.startswith("{"))
        told = json.loads(line)
        yield f"http://127.0.0.1:{told['port']}", told["routes"]
    finally:
        process.kill()
        process.wait()


def main(directory: Path) -> None:
    """Serve until killed."""
    import uvicorn
    from airflow.api_fastapi.core_api import security
    from fastapi import FastAPI

    from jobs.provider.data_docs import data_docs_app
    from jobs.provider.page import page_app
    from tests.jobs.report.world import settings_of

    settings = settings_of(directory).model_copy(update={"metrics_token": TOKEN})
    security.get_auth_manager = Users  # type: ignore[assignment]
    security.DagModel.get_team_name = lambda *_: None  # type: ignore[method-assign, assignment]
    apps = {"/sluice": page_app(settings), "/data-docs": data_docs_app(settings.docs)}
    airflow = FastAPI(openapi_url=None)
    for prefix, app in apps.items():
        airflow.mount(prefix, app)
    routes = [f"{prefix}{route.path}" for prefix, app in apps.items() for route in app.routes]  # type: ignore[attr-defined]
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # who knows the port may connect, before uvicorn answers
        print(json.dumps({"port": listening.getsockname()[1], "routes": routes}), flush=True)
        uvicorn.Server(uvicorn.Config(airflow, log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
