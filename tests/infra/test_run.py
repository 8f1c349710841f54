"""`make run`: Airflow comes up, the example is ingested, backfilled and published, and everything is stopped again."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import yaml

from infra.airflow_home import FIRST_PORT, HOST

ROOT = Path(__file__).resolve().parent.parent.parent


def small_example(specs: Path) -> Path:
    """The embedded example with fewer rows and two slots a day."""
    for kind, name, changes in (
        ("datasets", "taxi", {}),
        ("queries", "taxi_route_fare", {"schedule": {"every": "12 hours"}, "gate": {"mean_relative_error": 5}}),
    ):
        content = yaml.safe_load((ROOT / "jobs" / kind / f"{name}.yaml").read_text()) | changes
        if kind == "datasets":
            content["source"]["rows_per_hour"] = 500
        (specs / kind).mkdir(parents=True)
        (specs / kind / f"{name}.yaml").write_text(yaml.safe_dump(content))
    return specs


def run_once(tmp_path: Path, specs: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "SLUICE_SPECS": str(specs), "SLUICE_WAREHOUSE": str(tmp_path / "warehouse"),
        "SLUICE_DOCS": str(tmp_path / "docs"), "SLUICE_LANDING": str(tmp_path / "landing"),
    }  # fmt: skip
    command = [sys.executable, "-m", "infra.run", "--once", "--home", str(tmp_path / "home")]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=900)


def processes_of(home: Path) -> list[str]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("AIRFLOW_HOME") == str(home):
                found.append(" ".join(process.cmdline()))
        except (psutil.AccessDenied, psutil.NoSuchProcess):
            continue
    return found


@pytest.mark.airflow
def test_the_example_is_published_and_nothing_is_left_running(tmp_path: Path) -> None:
    with socket.socket() as taken:  # somebody else's server: the next free port is used
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((HOST, FIRST_PORT))
            taken.listen()
        except OSError:
            pass  # taken already, which is as good
        done = run_once(tmp_path, small_example(tmp_path / "specs"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"http://{HOST}:{FIRST_PORT} " not in done.stdout
    assert "2 success" in done.stdout
    assert "published/taxi_route_fare:" in done.stdout
    assert "mean_fare_low" in done.stdout
    assert "warning" not in done.stdout
    assert processes_of(tmp_path / "home") == []


def test_a_second_make_run_is_refused_in_one_line(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with (home / "running.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run_once(tmp_path, small_example(tmp_path / "specs"))
    assert done.returncode == 2
    assert "another `make run`" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
