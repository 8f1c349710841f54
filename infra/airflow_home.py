"""The embedded Airflow: its home in the project, bound to this machine, sized for its cores."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socket
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from infra.spark_server import SparkServer
from shedding.config import Settings
from shedding.errors import ConfigError

PROJECT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
FIRST_PORT, FIRST_SPARK_PORT, PORTS_TRIED = 8080, 15002, 50
USER = "admin"
SHORT_JOBS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java without its optimising compiler: a job over some 100,000 rows ends before that pays, and it takes 40 % of the
job's processor time. `SLUICE_JAVA_OPTIONS` takes its place, for slots of many millions of rows."""


def free_port(first: int = FIRST_PORT) -> int:
    """The first port at or after `first` that nobody listens on."""
    for port in range(first, first + PORTS_TRIED):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise ConfigError(f"ports {first} to {first + PORTS_TRIED - 1} of {HOST} are all taken; free one and run again")


@dataclass(frozen=True, slots=True)
class AirflowHome:
    """One Airflow installation in `directory`; its secrets are made once and kept there."""

    directory: Path
    port: int
    settings: Settings
    spark_port: int = field(default_factory=lambda: free_port(FIRST_SPARK_PORT))

    @property
    def url(self) -> str:
        """Where the UI and the API are."""
        return f"http://{HOST}:{self.port}"

    @property
    def logs(self) -> Path:
        """Where every component and task logs to."""
        return self.directory / "logs"

    @property
    def database(self) -> Path:
        """Airflow's metadata, in SQLite."""
        return self.directory / "airflow.db"

    def spark_server(self) -> SparkServer | None:
        """The Spark that slots share; None where each is to start its own, or another is named."""
        if self.settings.spark == "submit" or self.settings.connect_url:
            return None
        return SparkServer(self.settings, self.spark_port, str(self._kept()["secret"]))

    def password(self) -> str:
        """The password of the user `admin`."""
        return str(self._kept()["password"])

    def environment(self) -> dict[str, str]:
        """The whole environment of every Airflow process, and so of every task and job."""
        kept = self._kept()
        passwords = self.directory / "passwords.json"
        passwords.write_text(json.dumps({USER: kept["password"]}))
        passwords.chmod(0o600)
        spark = find_spec("pyspark")
        assert spark is not None
        assert spark.origin is not None
        cores = os.cpu_count() or 2
        server = self.spark_server()
        ours = {
            "AIRFLOW_HOME": self.directory,
            "AIRFLOW__CORE__DAGS_FOLDER": PROJECT / "dags",
            "AIRFLOW__CORE__LOAD_EXAMPLES": False,
            "AIRFLOW__CORE__EXECUTOR": "infra.executor.WarmExecutor",
            "AIRFLOW__CORE__PARALLELISM": max(4, 2 * cores),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": passwords,
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.database}?timeout=60",  # s
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": 60,  # s; a new specification shows after a minute
            # A parse that a busy machine makes slow must not end: every DAG of its file would be gone until the next.
            "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": 240,
            "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": 300,
            "AIRFLOW__DAG_PROCESSOR__STALE_DAG_THRESHOLD": 360,
            # What Ctrl-C interrupted is taken up again this soon after the next start (Airflow's own: 300 s).
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": 120,
            # Runs are examined so many at a time, those of backfills last: with as many held in `wait_for_raw`, which
            # Airflow's own 20 soon are, no task of a backfill is ever created.
            "AIRFLOW__SCHEDULER__MAX_DAGRUNS_PER_LOOP_TO_SCHEDULE": _runs_examined(self.settings.specs),
            "AIRFLOW__API__HOST": HOST,
            "AIRFLOW__API__PORT": self.port,
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__API__WORKERS": 1,
            "AIRFLOW__API__SECRET_KEY": kept["secret"],
            "AIRFLOW__API_AUTH__JWT_SECRET": kept["secret"],
            "AIRFLOW__LOGGING__BASE_LOG_FOLDER": self.logs,
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": self.settings.master}),
            "GX_ANALYTICS_ENABLED": False,
            "SLUICE_CONNECT_URL": server.url if server else self.settings.connect_url,
            "SLUICE_METRICS_TOKEN": self.settings.metrics_token or _token(kept["secret"]),
            "SLUICE_JAVA_OPTIONS": self.settings.java_options or SHORT_JOBS,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH")])),
            "SPARK_HOME": Path(spark.origin).parent,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        }
        return {**os.environ, **self.settings.environment(), **{name: str(value) for name, value in ours.items()}}

    def _kept(self) -> dict[str, str]:
        file = self.directory / "secrets.json"
        if not file.exists():
            self.directory.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            file.write_text(json.dumps({"password": secrets.token_urlsafe(9), "secret": secrets.token_urlsafe(32)}))
        kept: dict[str, str] = json.loads(file.read_text())
        return kept


def _token(secret: str) -> str:
    """A token of its own for the metrics; whoever has it cannot tell the secret."""
    return hmac.new(secret.encode(), b"metrics", "sha256").hexdigest()


def _runs_examined(specs: Path) -> int:
    """Several times the runs that may be active at once, two a specification, with room for more specifications."""
    return max(200, 4 * 2 * sum(1 for _ in specs.glob("*/*.y*ml")))
