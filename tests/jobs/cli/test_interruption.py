"""Ctrl-C ends a command with one line, whatever it is doing, and leaves nothing running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infra.airflow_home import SHORT_JOBS
from tests.small_specs import generated_trips, write_specs

COMMAND = """
import sys, time
import jobs.cli.status
import shedding.interruption
shedding.interruption.PATIENCE_SECONDS = 1
{command}
jobs.cli.status.run = run
from jobs.cli.application import main
sys.exit(main(["status"]))
"""
SWALLOWS = """
def run(*_):
    {spark_runs}
    print("running", flush=True)
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass  # as packages do that are being imported, and destructors
"""
FAILS_IN_CLEANING_UP = """
def run(*_):
    shedding.interruption.raise_quietly()
    try:
        print("running", flush=True)
        time.sleep(60)
    finally:
        raise ConnectionError("Java is gone")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "run",
    [
        pytest.param(SWALLOWS.format(spark_runs=""), id="before Spark runs nothing can swallow it"),
        pytest.param(SWALLOWS.format(spark_runs="shedding.interruption.raise_quietly()"), id="nor while it runs"),
        pytest.param(FAILS_IN_CLEANING_UP, id="a clean-up that fails is no other error"),
    ],
)
def test_it_is_one_line(run: str) -> None:
    command = [sys.executable, "-c", COMMAND.format(command=run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (130, "sluice: error: interrupted\n")


@pytest.mark.slow
def test_outside_a_command_nothing_ends_the_process_later() -> None:
    script = "import signal, time, shedding.interruption as i; i.PATIENCE_SECONDS = 1; i.raise_quietly()\n"
    script += "try: signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt: time.sleep(2); print('lives')"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout == b"lives\n"


@pytest.mark.spark
def test_while_spark_runs_it_is_one_line(tmp_path: Path) -> None:
    specs = write_specs(tmp_path / "specs", [generated_trips(3_000_000, "1 hour")], [])
    command = [sys.executable, "-m", "jobs.cli", "--specs", str(specs), "--warehouse", str(tmp_path / "warehouse")]
    command += ["ingest", "trips", "--from", "2026-11-02T00:00:00Z", "--to", "2026-11-02T08:00:00Z"]
    own = os.environ | {"SLUICE_MASTER": "local[2]", "SLUICE_JAVA_OPTIONS": SHORT_JOBS}
    said = tmp_path / "said"
    with said.open("w") as stream, subprocess.Popen(command, stderr=stream, env=own, start_new_session=True) as process:
        until = time.monotonic() + 120
        while "batch 1 of" not in said.read_text() and time.monotonic() < until:
            time.sleep(0.2)
        time.sleep(4)  # Spark writes raw rows
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=60) == 130
    lines = [line for line in said.read_text().splitlines() if not line.startswith(("ingest trips: ", "WARNING: "))]
    assert lines == ["sluice: error: interrupted"]
