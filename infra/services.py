"""Airflow's processes, and the Spark that slots share, as children of this one: started, watched, all stopped."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from infra.airflow_home import AirflowHome
from infra.family import Family, stop
from shedding.errors import ConfigError

SERVICES = {
    "api-server": (),
    # Their log servers listen on all addresses; the API server reads the same files without them.
    "scheduler": ("--skip-serve-logs",),
    "dag-processor": (),
    "triggerer": ("--skip-serve-logs",),
}
"""What is started, with which options."""
SPARK = "spark"
"""The Spark Connect server, where slots share one."""
PATIENCE = 20.0
TAIL = 15
RESTARTS = 3
"""How often a service that died is started again: over SQLite, scheduler and API server now and then lose a race."""


class Services:
    """The running services; `check` starts one again that has died, and raises when it keeps dying."""

    def __init__(self, home: AirflowHome) -> None:
        self._logs, self._database = home.logs, home.database
        self._logs.mkdir(parents=True, exist_ok=True)
        self._environment = home.environment()
        self._server = home.spark_server()
        self._families: dict[str, Family] = {}
        self._restarts = dict.fromkeys([*SERVICES, SPARK], 0)

    def migrate(self) -> None:
        """Create or upgrade the metadata database."""
        with self._log("migrate").open("wb") as log:
            code = subprocess.run(
                self._command("db", "migrate"), check=False, stdout=log, stderr=log, env=self._environment
            ).returncode
        if code:
            raise ConfigError(f"Airflow's database could not be made: {self._last_lines('migrate')}")
        with contextlib.closing(sqlite3.connect(self._database)) as database:
            database.execute("PRAGMA journal_mode=WAL")  # kept in the file: readers and the writer no longer wait

    def start(self) -> None:
        """Start every service; each logs to a file of its own."""
        for name in [*SERVICES, *([SPARK] if self._server else [])]:
            self._start(name)

    def check(self) -> None:
        """Start a service again that has ended; raise, with the end of its log, where that did not help.

        What the ended one has left goes first: a scheduler's workers would go on taking tasks and hold its sockets.
        """
        for name, family in list(self._families.items()):
            code = family.exit_code()
            if code is None:
                continue
            del self._families[name]
            stop([family])
            if self._restarts[name] >= RESTARTS:
                raise ConfigError(f"{name} ended with code {code}: {self._last_lines(name)}")
            self._restarts[name] += 1
            self._start(name)

    def stop(self) -> None:
        """Stop every service and whatever they started, Spark's JVMs too; returns when all are gone."""
        stop(self._families.values(), PATIENCE)
        self._families.clear()

    def _start(self, name: str) -> None:
        # A session of its own: Ctrl-C reaches this process only, which then stops them in order.
        if name == SPARK and self._server:
            command, environment = self._server.command(), self._server.environment()
        else:
            command, environment = self._command(name, *SERVICES[name]), self._environment
        self._families[name] = Family(command, environment, self._log(name))

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "airflow", *arguments]

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def _last_lines(self, name: str) -> str:
        return "\n".join(self._log(name).read_text(errors="replace").splitlines()[-TAIL:])


@contextlib.contextmanager
def running(services: Services) -> Iterator[Services]:
    """The services while the block runs; stopped whatever ends it."""
    try:
        services.start()
        yield services
    finally:
        services.stop()
