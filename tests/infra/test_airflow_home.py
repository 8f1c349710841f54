"""The embedded Airflow's home: loopback only, its own secrets, the next free port."""

from __future__ import annotations

import socket
import stat
from pathlib import Path

from infra.airflow_home import HOST, SHORT_JOBS, AirflowHome, free_port
from shedding.config import Settings
from shedding.spark.conf import spark_conf
from tests.small_specs import QUERY, write_specs


def test_a_taken_port_leads_to_the_next_free_one() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        found = free_port(port)
    assert found > port


def test_a_second_start_keeps_password_and_secret(tmp_path: Path) -> None:
    first = AirflowHome(tmp_path / "home", 8080, Settings()).environment()
    again = AirflowHome(tmp_path / "home", 8081, Settings()).environment()
    assert first["AIRFLOW__API_AUTH__JWT_SECRET"] == again["AIRFLOW__API_AUTH__JWT_SECRET"]
    other = AirflowHome(tmp_path / "other", 8080, Settings()).environment()
    assert other["AIRFLOW__API_AUTH__JWT_SECRET"] != first["AIRFLOW__API_AUTH__JWT_SECRET"]


def test_nothing_listens_beyond_this_machine_and_secrets_are_private(tmp_path: Path) -> None:
    home = AirflowHome(tmp_path / "home", 8083, Settings())
    environment = home.environment()
    assert environment["AIRFLOW__API__HOST"] == "127.0.0.1"
    assert home.url == "http://127.0.0.1:8083"
    for name in ("secrets.json", "passwords.json"):
        assert stat.S_IMODE((home.directory / name).stat().st_mode) == 0o600


def test_jobs_get_the_same_settings(tmp_path: Path) -> None:
    settings = Settings(warehouse=str(tmp_path / "here"), master="local[1]")
    environment = AirflowHome(tmp_path / "home", 8080, settings).environment()
    assert environment["SLUICE_WAREHOUSE"] == str(tmp_path / "here")
    assert '"host": "local[1]"' in environment["AIRFLOW_CONN_SPARK_DEFAULT"]


def test_java_is_set_for_short_jobs_unless_the_deployment_says_otherwise(tmp_path: Path) -> None:
    usual = AirflowHome(tmp_path / "home", 8080, Settings()).environment()
    assert usual["SLUICE_JAVA_OPTIONS"] == SHORT_JOBS
    own = AirflowHome(tmp_path / "home", 8080, Settings(java_options="-Xss8m")).environment()
    assert own["SLUICE_JAVA_OPTIONS"] == "-Xss8m"
    assert spark_conf(Settings(java_options="-Xss8m"))["spark.driver.extraJavaOptions"].endswith(" -Xss8m")


def test_the_scheduler_examines_several_times_the_runs_that_specifications_can_hold(tmp_path: Path) -> None:
    specs = write_specs(tmp_path / "specs", queries=[QUERY.replace("fares", f"fares_{number}") for number in range(90)])
    environment = AirflowHome(tmp_path, 8080, Settings(specs=specs)).environment()
    assert int(environment["AIRFLOW__SCHEDULER__MAX_DAGRUNS_PER_LOOP_TO_SCHEDULE"]) > 3 * 2 * 90
