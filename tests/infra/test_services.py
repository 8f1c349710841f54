"""Airflow's processes: one that dies is started again, one that keeps dying is reported with its log."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from infra.airflow_home import HOST, AirflowHome, free_port
from infra.family import lives, members
from infra.services import RESTARTS, SERVICES, Services, running
from shedding.config import Settings
from shedding.errors import ConfigError

pytestmark = pytest.mark.slow


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
    services = Mortal(AirflowHome(tmp_path / "home", 8080, Settings(warehouse=str(tmp_path), spark="submit")))
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
    services = Prolific(AirflowHome(tmp_path / "home", 8080, Settings(warehouse=str(tmp_path), spark="submit")))
    logs = [tmp_path / "home" / "logs" / f"{name}.log" for name in SERVICES]
    with running(services):
        while not all(log.exists() and "ready" in log.read_text() for log in logs):
            time.sleep(0.05)
        families = list(services._families.values())
        assert len(members(families)) == 2 * len(SERVICES)
    assert not members(families)


class Busy(Services):
    """Services whose scheduler has a worker that shares its socket and has given itself another title."""

    def _command(self, *arguments: str) -> list[str]:
        port = self._environment["AIRFLOW__API__PORT"]
        code = (
            "import os, setproctitle, socket, time\n"
            f"door = socket.create_server(('{HOST}', {port}))\n"
            "if not os.fork():\n    setproctitle.setproctitle('worker ' + 'x' * 4000)\n    time.sleep(60)\n"
            "print('ready', flush=True); time.sleep(60)"
        )
        return [sys.executable, "-c", code if "scheduler" in arguments else "import time; time.sleep(60)"]


def test_what_a_killed_scheduler_leaves_is_gone_before_it_is_started_again(tmp_path: Path) -> None:
    services = Busy(AirflowHome(tmp_path / "home", free_port(18080), Settings(warehouse=str(tmp_path))))
    log = tmp_path / "home" / "logs" / "scheduler.log"
    with running(services):
        for starts in range(1, 3):
            while log.read_text().count("ready") < starts:
                time.sleep(0.05)
            scheduler = services._families["scheduler"]
            left = members([scheduler])
            assert len(left) == 2
            os.kill(scheduler.session, signal.SIGKILL)
            while services._families["scheduler"] is scheduler:
                services.check()
            assert not [process for process in left if lives(process)]
        while log.read_text().count("ready") < 3:
            time.sleep(0.05)
        families = list(services._families.values())
    assert not members(families)
    assert "in use" not in log.read_text()
