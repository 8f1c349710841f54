"""A real Airflow with a fresh database for the DAG tests: set before anything imports Airflow."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.airflow_home import AirflowHome
from shedding.config import Settings

DAGS = Path(__file__).resolve().parent.parent.parent / "dags"


@pytest.fixture(scope="module")
def airflow_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """The settings of a fresh warehouse, and an environment in which Airflow's database exists.

    The environment is the process's own while a module runs, and put back after it.
    """
    root = tmp_path_factory.mktemp("airflow")
    settings = Settings(
        warehouse=str(root / "warehouse"), landing=root / "landing", docs=root / "docs", master="local[2]"
    )
    environment = AirflowHome(root / "home", 8080, settings).environment()
    environment["AIRFLOW__CORE__UNIT_TEST_MODE"] = "False"
    before = dict(os.environ)
    os.environ.update(environment)
    sys.path.append(str(DAGS))
    subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=True, capture_output=True)
    yield settings
    sys.path.remove(str(DAGS))
    os.environ.clear()
    os.environ.update(before)
