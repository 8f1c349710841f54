"""The served page: its doors, by Airflow's own security over a manager of users made here, and what it says."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from jobs.cli import main
from jobs.report.alerts import grafana_board
from shedding.config import Settings
from tests.jobs.provider.page_server import OTHER, TOKEN, serving
from tests.jobs.report.specs import HOSTILE, make_query
from tests.jobs.report.world import world, write_specs

pytestmark = pytest.mark.airflow
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    made = world(tmp_path_factory.mktemp("world"))
    write_specs(made, make_query(), make_query(name=OTHER))
    return made


@pytest.fixture(scope="module")
def served(settings: Settings) -> Iterator[tuple[str, list[str]]]:
    with serving(settings.specs.parent) as found:
        yield found


@pytest.fixture
def client(served: tuple[str, list[str]]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served[0], timeout=60) as made:
        yield made


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def paths(routes: list[str]) -> list[str]:
    """Every path that is, by walking the routes, and some that should not be."""
    names = {"query": "fares", "dag_id": "query_fares", "name": "x.html", "path": "x/y"}
    found = [re.sub(r":path}", "}", route).format(**names) for route in routes]
    assert len(found) >= 8
    return [*found, "/sluice/static/app.js", "/sluice/openapi.json", "/sluice/docs", "/sluice//", "/sluice/%2e%2e/x"]


@pytest.mark.parametrize("method", METHODS)
def test_nobody_without_a_login_gets_an_answer(
    client: httpx.Client, served: tuple[str, list[str]], method: str
) -> None:
    for path in paths(served[1]):
        answer = client.request(method, path)
        assert answer.status_code == 401, path
        assert client.request(method, path, headers=bearer("x.y.z")).status_code in (401, 403), path
        assert "fares" not in answer.text
    assert client.get("/sluice/").status_code == 401


def test_who_may_not_see_a_dag_is_refused_its_page_and_not_told_of_it(client: httpx.Client) -> None:
    for path in ("/sluice/query/fares", "/sluice/dag/query_fares"):
        assert client.get(path, headers=bearer("bob")).status_code == 403
    front = client.get("/sluice/", headers=bearer("bob")).text
    assert OTHER in front
    assert "fares" not in front


def test_who_may_sees_the_front_page_the_query_and_the_tab(client: httpx.Client) -> None:
    client.cookies.set("_token", "ann")
    assert "query/fares" in client.get("/sluice/").text
    for path in ("/sluice/query/fares", "/sluice/dag/query_fares"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert "Error against its limit" in answer.text
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "'unsafe" not in policy
        assert "frame-ancestors 'self'" in policy
    assert client.get("/sluice/query/nope").status_code == 404
    other = client.get("/sluice/dag/ingest_trips")
    assert (other.status_code, "no error budget" in other.text) == (200, True)


def test_any_key_may_be_asked_for_and_its_text_is_escaped(client: httpx.Client) -> None:
    page = client.get("/sluice/query/fares", params={"key": HOSTILE, "measure": "trips"}, headers=bearer("ann")).text
    assert HOSTILE not in page
    assert "<figcaption>&lt;script&gt;alert(1)" in page
    asked = client.get("/sluice/query/fares", params={"key": "<img src=x>"}, headers=bearer("ann")).text
    assert "<img" not in asked


def test_metrics_need_their_own_token_and_no_login(client: httpx.Client) -> None:
    assert client.get("/sluice/metrics", headers=bearer("ann")).status_code == 401
    assert client.get("/sluice/metrics").status_code == 401
    answer = client.get("/sluice/metrics", headers=bearer(TOKEN))
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'sluice_budget_left_ratio{query="fares"}' in answer.text
    assert "k001" not in answer.text
    assert client.get("/sluice/metrics", headers=bearer("x")).status_code == 401
    done = promtool("check", "metrics", text=answer.text)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_accepts_the_rules_and_every_rule_asks_for_a_metric_that_is_there(
    client: httpx.Client, settings: Settings, tmp_path: Path
) -> None:
    options = ["--warehouse", settings.warehouse, "--specs", str(settings.specs)]
    assert main([*options, "alerts", "--out", str(tmp_path)]) == 0
    assert main([*options, "alerts", "--out", str(tmp_path / "no")]) == 2
    done = promtool("check", "rules", str(tmp_path / "sluice-rules.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr
    told = client.get("/sluice/metrics", headers=bearer(TOKEN)).text
    rules = yaml.safe_load((tmp_path / "sluice-rules.yaml").read_text())
    own = next(group for group in rules["groups"] if group["name"] == "sluice_fares")["rules"]
    assert {rule["labels"]["severity"] for rule in own} == {"page", "ticket"}
    for rule in own:
        for asked in re.findall(r"sluice_\w+\{[^}]*\}", rule["expr"]):
            assert asked in told, asked
    for panel in grafana_board()["panels"]:
        assert panel["targets"][0]["expr"].partition("{")[0] in told


def promtool(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    tool = shutil.which("promtool")
    assert tool, "promtool is missing; infra/setup.sh installs Debian's prometheus package"
    return subprocess.run([tool, *arguments], input=text, capture_output=True, text=True, check=False)
