"""Airflow's processes: one that dies is started again, one that keeps dying is reported with its log."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path

import psutil
import pytest

from infra.airflow_home import AirflowHome
from infra.services import MARK, RESTARTS, SERVICES, Services, running
from shedding.config import Settings
from shedding.errors import ConfigError


class Mortal(Services):
    """Services whose scheduler dies at once; the others sleep."""

    def _command(self, *arguments: str) -> list[str]:
        dies = "scheduler" in arguments
        return [sys.executable, "-c", "raise SystemExit('lost a race')" if dies else "import time; time.sleep(60)"]


def check_for_a_while(services: Services) -> None:
    for _ in range(1000):
        services.check()
        time.sleep(0.05)


def test_a_service_that_keeps_dying_is_reported_after_its_restarts(tmp_path: Path) -> None:
    services = Mortal(AirflowHome(tmp_path / "home", 8080, Settings(warehouse=str(tmp_path))))
    with running(services), pytest.raises(ConfigError, match=r"scheduler ended with code 1: (?s:.*)lost a race"):
        check_for_a_while(services)
    log = (tmp_path / "home" / "logs" / "scheduler.log").read_text()
    assert log.count("lost a race") == RESTARTS + 1


class Prolific(Services):
    """Services that leave a grandchild which nobody's tree of processes shows, and start another when stopped."""

    def _command(self, *arguments: str) -> list[str]:
        sleeper = "[sys.executable, '-c', 'import time; time.sleep(60)']"
        code = (
            "import signal, subprocess, sys, time\n"
            f"spawn = lambda *_: subprocess.Popen({sleeper}, start_new_session=True)\n"
            "signal.signal(signal.SIGTERM, lambda *_: (spawn(), sys.exit()))\n"
            "spawn(); print('ready', flush=True); time.sleep(60)"
        )
        return [sys.executable, "-c", code]


def test_nothing_is_left_of_what_the_services_started_not_even_while_they_were_stopped(tmp_path: Path) -> None:
    services = Prolific(AirflowHome(tmp_path / "home", 8080, Settings(warehouse=str(tmp_path))))
    logs = [tmp_path / "home" / "logs" / f"{name}.log" for name in SERVICES]
    with running(services):
        while not all(log.exists() and "ready" in log.read_text() for log in logs):
            time.sleep(0.05)
        mark = services._environment[MARK]
        assert len(marked(mark)) == 2 * len(SERVICES)
    assert not marked(mark)


def marked(mark: str) -> list[int]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.AccessDenied, psutil.NoSuchProcess):
            if process.environ().get(MARK) == mark:
                found.append(process.pid)
    return found
