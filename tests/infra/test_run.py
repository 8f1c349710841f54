"""`make run`: the example is published, no door is open, held runs starve nobody, and nothing outlives Ctrl-C.

One Airflow for the whole file; its stories are told in order, and the last one stops it.
"""

from __future__ import annotations

import fcntl
import http.client
import ipaddress
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.airflow_api import AirflowApi
from infra.airflow_home import FIRST_PORT, HOST
from infra.family import lives
from shedding.spec.times import as_datetime, parse_instant
from shedding.tables import Table
from tests.infra.make_run import MakeRun, run_once, small_example
from tests.live.airflow import tasks_of

QUERY = "taxi_route_fare"
HELD = 13
"""Queries whose rows never come: two runs each, the most that are active at once, are held in `wait_for_raw`."""
ROUTES = """
import json, sys
from airflow.plugins_manager import get_fastapi_plugins
from jobs.provider import data_docs, page
served = [*data_docs.app().routes, *page.app().routes]
print(json.dumps({
    "prefixes": [plugin["url_prefix"] for plugin in get_fastapi_plugins()[0]],
    "routes": [route.path for route in served], "kinds": sorted({type(route).__name__ for route in served}),
}), file=sys.stderr)
"""
SECRET = "home/secrets.json"
"""Beside the folder of the pages; its content must never be seen."""
ODD_PATHS = (
    "//", "/.", "/..", "/index.html", "/favicon.ico", "/static/app.js", "/openapi.json", "/docs", "/redoc", "/metrics",
    f"/../{SECRET}", f"/%2e%2e/{SECRET}", "/..%2fhome%2fsecrets.json", "/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "//etc/passwd", "/%2fetc%2fpasswd", f"/{QUERY}", f"/{QUERY}/", f"/{QUERY}//index.html", f"/{QUERY}/..",
    f"/{QUERY}/../{QUERY}/index.html", f"/{QUERY}/../../{SECRET}", f"/{QUERY}/..%2f..%2fhome%2fsecrets.json",
    f"/{QUERY}/%2e%2e%2f%2e%2e%2fhome%2fsecrets.json", f"/{QUERY}/....//....//{SECRET}", f"/{QUERY}/%00",
    f"/{QUERY}/..%5c..%5chome%5csecrets.json", f"/{QUERY}/{'x' * 4000}", f"/{QUERY}/link.html",
    f"/{QUERY}/index.html?dag_id=query_{QUERY}&token=x",
)  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeRun]:
    """A `make run` that has filled and published the example; somebody else's server has its first port."""
    directory = tmp_path_factory.mktemp("run")
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((HOST, FIRST_PORT))
            taken.listen()
        except OSError:
            pass  # taken already, which is as good
        started = MakeRun(small_example(directory, HELD), directory)
        try:
            started.wait("the table", lambda: "Ctrl-C stops everything" in started.said(), 900.0)
            yield started
        finally:
            if started.process.poll() is None:
                started.interrupt()


@pytest.fixture(scope="module")
def api(run: MakeRun) -> AirflowApi:
    return run.api()


@pytest.fixture(scope="module")
def paths(run: MakeRun) -> list[str]:
    """Every path of the plugins that there is, and many that there should not be."""
    environment = run.api().home.environment()
    done = subprocess.run([sys.executable, "-c", ROUTES], env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stderr.strip().splitlines()[-1])
    assert found["kinds"] == ["APIRoute"]  # a mounted folder would know nothing of the app's guards
    docs = run.settings.docs
    (docs / QUERY / "link.html").symlink_to(run.directory / SECRET)
    pages = [f"/{page.relative_to(docs)}" for page in docs.rglob("*.html") if not page.is_symlink()]
    assert len(pages) > 2
    routes = [
        re.sub(r":path}", "}", path).format(query=QUERY, name="x.html", path="x/y", dag_id=f"query_{QUERY}")
        for path in found["routes"]
    ]
    return [f"{prefix}{path}" for prefix in found["prefixes"] for path in [*pages, *routes, *ODD_PATHS]]


def ask(api: AirflowApi, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """One request with the path as it stands: no client tidies it up."""
    connection = http.client.HTTPConnection(HOST, api.home.port, timeout=60)
    try:
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


@pytest.mark.airflow
def test_the_example_is_published(run: MakeRun) -> None:
    said = run.said()
    assert f"http://{HOST}:{FIRST_PORT} " not in said
    assert "2 success" in said
    assert f"published/{QUERY}:" in said
    assert "mean_fare_low" in said
    assert "warning" not in said


@pytest.mark.airflow
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
def test_no_path_of_a_plugin_answers_who_is_not_logged_in(
    run: MakeRun, api: AirflowApi, paths: list[str], method: str
) -> None:
    answers = {path: ask(api, path, method) for path in paths}
    assert {path: code for path, (code, _, _) in answers.items() if code not in (401, 403)} == {}
    assert not any(b"erdicts" in body or api.home.password().encode() in body for _, _, body in answers.values())
    for headers in ({"Authorization": "Bearer x.y.z"}, {"Cookie": "_token=x.y.z"}, {"Authorization": "Basic eDp5"}):
        assert ask(api, f"/data-docs/{QUERY}/index.html", method, **headers)[0] in (401, 403)


@pytest.mark.airflow
def test_who_is_logged_in_sees_the_pages_and_nothing_else(run: MakeRun, api: AirflowApi, paths: list[str]) -> None:
    for headers in ({"Authorization": f"Bearer {api.token}"}, {"Cookie": f"_token={api.token}"}):
        pages = ["/data-docs/", *(path for path in paths if path.startswith("/data-docs/")
                                   and path.endswith(("passed.html", f"{QUERY}/index.html")))]  # fmt: skip
        for path in pages:
            code, given, body = ask(api, path, **headers)
            if ".." in path or "//" in path:
                assert code == 404, path
                continue
            assert (code, QUERY.encode() in body) == (200, True), path
            assert "default-src 'none'" in given["content-security-policy"]
            assert ask(api, path, "HEAD", **headers)[0] == 200
        for path in paths:
            code, _, body = ask(api, path, **headers)
            assert code in (200, 404) or "/metrics" in path, path  # a login is no token for these
            assert api.home.password().encode() not in body
            assert b"root:" not in body


@pytest.mark.airflow
def test_the_page_shows_the_examples_slots_at_once(run: MakeRun, api: AirflowApi) -> None:
    cookie = {"Cookie": f"_token={api.token}"}
    code, given, body = ask(api, "/sluice/", **cookie)
    assert (code, f"query/{QUERY}".encode() in body) == (200, True)
    assert "default-src 'none'" in given["content-security-policy"]
    for path in (f"/sluice/query/{QUERY}", f"/sluice/dag/query_{QUERY}"):
        code, _, body = ask(api, path, **cookie)
        assert (code, b"2 published" in body) == (200, True)
    assert ask(api, "/sluice/dag/ingest_taxi", **cookie)[0] == 200
    views = api.call("GET", "/api/v2/plugins?limit=100")["plugins"]
    tabs = [view for plugin in views for view in plugin["external_views"] if view["destination"] == "dag"]
    assert [tab["href"] for tab in tabs] == ["/sluice/dag/{DAG_ID}"]


@pytest.mark.airflow
def test_a_backfill_is_published_while_25_runs_wait_for_rows(run: MakeRun, api: AirflowApi) -> None:
    dags = [f"query_held_{number}" for number in range(HELD)]
    for dag_id in dags:
        api.wait_for_dag(dag_id)
        for _ in range(2):
            api.trigger(dag_id, {})
        api.unpause(dag_id)

    def held() -> int:
        return int(
            api.call("GET", "/api/v2/dags/~/dagRuns?state=running&dag_id_pattern=query_held&limit=1")["total_entries"]
        )

    run.wait("25 held runs", lambda: held() >= 25)
    table = Table(run.settings.table("published", QUERY))
    before = table.read(columns=["slot", "revision"]).to_pylist()
    first = re.search(r"2 slots from (\S+) on", run.said())
    assert first
    slot = as_datetime(parse_instant(first[1]))
    asked = run.wait("a backfill", lambda: api.backfill(f"query_{QUERY}", slot, slot, 1, reprocess="completed"))
    run.wait("its end", lambda: api.call("GET", f"/api/v2/backfills/{asked}")["completed_at"], 300.0)
    after = table.read(columns=["slot", "revision"]).to_pylist()
    assert max(row["revision"] for row in after) == max(row["revision"] for row in before) + 1
    assert held() >= 25


@pytest.mark.airflow
def test_a_tasks_log_is_read_without_a_log_server(api: AirflowApi) -> None:
    task = next(task for task in tasks_of(api, f"query_{QUERY}") if task["task_id"] == "publish")
    path = f"/api/v2/dags/query_{QUERY}/dagRuns/{task['dag_run_id']}/taskInstances/publish/logs/1"
    assert "Could not read served logs" not in str(api.call("GET", path))


@pytest.mark.airflow
def test_all_that_listened_did_so_on_this_machine_only(run: MakeRun, api: AirflowApi) -> None:
    print(*sorted(run.listeners), sep="\n")  # `pytest -rP` shows them all
    open_to_others = [who for who in run.listeners if not ipaddress.ip_address(who.address).is_loopback]
    assert open_to_others == []
    assert any(who.port == api.home.port for who in run.listeners)
    assert any("java" in who.command for who in run.listeners)


@pytest.mark.airflow
def test_nothing_is_left_of_a_killed_scheduler_nor_after_ctrl_c(run: MakeRun) -> None:
    scheduler = run.service("scheduler")
    assert scheduler
    workers = [process for process in run.seen if lives(process) and os.getsid(process.pid) == scheduler.pid]
    assert len(workers) > 2
    scheduler.kill()
    again = run.wait("another scheduler", lambda: run.service("scheduler", besides=scheduler), 60.0)
    assert not [process for process in workers if lives(process)]
    run.wait("its workers", lambda: len(again.children(recursive=True)) > 2, 120.0)
    os.kill(again.pid, signal.SIGKILL)
    assert run.interrupt() == 0
    assert run.said().rstrip().endswith("stopped")
    assert run.left() == []


def test_a_second_make_run_is_refused_in_one_line(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with (home / "running.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run_once(small_example(tmp_path), tmp_path)
    assert done.returncode == 2
    assert "another `make run`" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
