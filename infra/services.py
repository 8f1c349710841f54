"""Airflow's processes as children of this one: started, watched, and all stopped at the end."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil

from infra.airflow_home import AirflowHome
from shedding.errors import ConfigError

SERVICES = ("api-server", "scheduler", "dag-processor", "triggerer")
PATIENCE = 20.0
TAIL = 15
MARK = "SLUICE_SERVICES"
"""The variable by which whatever the services start, however deep, is known as theirs."""
RESTARTS = 3
"""How often a service that died is started again: over SQLite, scheduler and API server now and then lose a race."""


class Services:
    """The running services; `check` starts one again that has died, and raises when it keeps dying."""

    def __init__(self, home: AirflowHome) -> None:
        self._logs, self._database = home.logs, home.database
        self._logs.mkdir(parents=True, exist_ok=True)
        self._environment = home.environment() | {MARK: uuid.uuid4().hex}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._restarts = dict.fromkeys(SERVICES, 0)

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
        for name in SERVICES:
            self._start(name)

    def check(self) -> None:
        """Start a service again that has ended; raise, with the end of its log, where that did not help."""
        for name, process in list(self._processes.items()):
            if process.poll() is None:
                continue
            if self._restarts[name] >= RESTARTS:
                raise ConfigError(f"Airflow's {name} ended with code {process.returncode}: {self._last_lines(name)}")
            self._restarts[name] += 1
            self._start(name)

    def stop(self) -> None:
        """Stop every service and whatever they started, Spark's JVMs too; returns when all are gone.

        A task may start one more while its service is being stopped, so they are looked for until there is none.
        """
        family = self._family({psutil.Process(p.pid) for p in self._processes.values() if psutil.pid_exists(p.pid)})
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        psutil.wait_procs(family, timeout=PATIENCE)
        while survivors := self._family(family):
            for survivor in survivors:
                with contextlib.suppress(psutil.NoSuchProcess):
                    survivor.kill()
            psutil.wait_procs(survivors, timeout=PATIENCE)
            family |= survivors
        self._processes.clear()

    def _family(self, known: set[psutil.Process]) -> set[psutil.Process]:
        """The living of the `known`, what carries the mark, orphans too, and all that descends from these.

        A process that has given itself a title has lost its environment, so the mark alone does not do.
        """
        found = set(known)
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.AccessDenied, psutil.NoSuchProcess):
                if process.environ().get(MARK) == self._environment[MARK]:
                    found.add(process)
        for process in list(found):
            with contextlib.suppress(psutil.NoSuchProcess):
                found.update(process.children(recursive=True))
        return {process for process in found if _lives(process)}

    def _start(self, name: str) -> None:
        with self._log(name).open("ab") as log:
            # A session of its own: Ctrl-C reaches this process only, which then stops them in order.
            self._processes[name] = subprocess.Popen(
                self._command(name), stdout=log, stderr=log, env=self._environment, start_new_session=True
            )

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "airflow", *arguments]

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def _last_lines(self, name: str) -> str:
        return "\n".join(self._log(name).read_text(errors="replace").splitlines()[-TAIL:])


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextlib.contextmanager
def running(services: Services) -> Iterator[Services]:
    """The services while the block runs; stopped whatever ends it."""
    try:
        services.start()
        yield services
    finally:
        services.stop()
