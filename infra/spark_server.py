"""The embedded Spark Connect server: one JVM that stays up, so that a slot does not wait for one of its own.

Sessions are apart: a slot that fails leaves the others' alone. A server that died is started again like the other
services, and the slots it was computing are tried again. Memory goes back to the system: Spark's cleaner makes Java
collect its garbage once a minute, after which the heap shrinks to what is in use.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from shedding.config import Settings
from shedding.errors import ConfigError
from shedding.job_environment import foreign_names
from shedding.spark.conf import spark_conf

PROJECT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
LONG_LIVED = "-XX:+UseSerialGC -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=30"
"""Java with its optimising compiler, which pays in a process that stays, and a heap that shrinks."""


@dataclass(frozen=True, slots=True)
class SparkServer:
    """The server at one port of this machine; only who knows the token gets a session."""

    settings: Settings
    port: int
    token: str

    @property
    def url(self) -> str:
        """What a client connects to; without TLS the client sends a token to `localhost` only."""
        return f"sc://localhost:{self.port}/;token={self.token}"

    def command(self) -> list[str]:
        """What starts it, in the foreground."""
        submit = shutil.which("spark-submit", path=str(Path(sys.executable).parent))
        if submit is None:
            raise ConfigError("spark-submit is missing beside this Python; run `make setup`")
        settings = self.settings.model_copy(update={"java_options": self.settings.java_options or LONG_LIVED})
        conf = {
            **spark_conf(settings),
            "spark.connect.grpc.binding.address": HOST,
            "spark.connect.grpc.binding.port": str(self.port),
            "spark.cleaner.periodicGC.interval": "1min",
            "spark.log.level": "WARN",
        }
        options = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
        return [submit, "--master", self.settings.master, "--class", CLASS, "--name", "sluice", *options,
                "spark-internal"]  # fmt: skip

    def environment(self) -> dict[str, str]:
        """A job's environment: nothing of Airflow's, and the token where no list of processes shows it."""
        foreign = set(foreign_names(os.environ, self.settings.job_variables))
        own = {name: value for name, value in os.environ.items() if name not in foreign}
        path = os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH")]))  # of its Python workers
        ours = {"SPARK_CONNECT_AUTHENTICATE_TOKEN": self.token, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}
        return {**own, **ours}
