"""Airflow's processes: one that dies is started again, one that keeps dying is reported with its log."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from infra.airflow_home import AirflowHome
from infra.services import RESTARTS, Services, running
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
