"""Spark's processes get what they need of the environment, and none of Airflow's secrets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from infra.airflow_home import AirflowHome
from shedding.config import Settings
from shedding.job_environment import foreign_names, job_environment

SECRETS = {
    "AIRFLOW__API_AUTH__JWT_SECRET": "s", "AIRFLOW__CORE__FERNET_KEY": "f", "AIRFLOW_CONN_SPARK_DEFAULT": "{}",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "sqlite://", "_AIRFLOW__SECRET": "x", "DB_PASSWORD": "p",
}  # fmt: skip


def test_nothing_of_airflows_own_environment_reaches_a_job_but_what_it_needs(tmp_path: Path) -> None:
    environment = AirflowHome(tmp_path / "home", 8080, Settings()).environment() | SECRETS
    left = set(environment) - set(foreign_names(environment))
    assert not [name for name in left if "AIRFLOW" in name.upper() or name in SECRETS]
    assert left >= {"PATH", "SPARK_HOME", "PYTHONPATH", "SLUICE_WAREHOUSE", "SLUICE_JAVA_OPTIONS"}


def test_a_deployment_may_name_what_else_its_jobs_get() -> None:
    assert foreign_names({"DB_PASSWORD": "p", "CORP_CA": "c"}, "CORP_CA, OTHER") == ["DB_PASSWORD"]


def test_this_process_has_its_environment_again() -> None:
    before = dict(os.environ)
    with job_environment():
        assert "PATH" in os.environ
    assert dict(os.environ) == before


def test_java_is_started_without_them(tmp_path: Path) -> None:
    submit = tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(f"#!/bin/sh\nenv > {tmp_path}/environment\nexit 1\n")
    submit.chmod(0o755)
    program = "from shedding.config import Settings\nfrom shedding.spark.session import start_session\n"
    program += "start_session(Settings.load(), 'x')\n"
    own = {**os.environ, **SECRETS, "SPARK_HOME": str(tmp_path), "SLUICE_MASTER": "local[1]"}
    subprocess.run([sys.executable, "-c", program], env=own, capture_output=True, check=False)
    seen = (tmp_path / "environment").read_text()
    assert "SLUICE_MASTER=local[1]" in seen
    assert not [name for name in SECRETS if f"{name}=" in seen]
