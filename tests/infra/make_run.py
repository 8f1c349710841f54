"""A `make run` of a small example as a process of its own, with everything that its tree of processes listened on."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import yaml

from infra.airflow_api import AirflowApi
from infra.airflow_home import AirflowHome
from infra.family import lives
from shedding.config import Settings
from tests.small_specs import DATASET, QUERY, small_world

ROOT = Path(__file__).resolve().parent.parent.parent
LOOK_EVERY = 1.0  # s; a job listens for longer, and every look at all sockets of the machine costs


def small_example(directory: Path, held: int = 0) -> Settings:
    """The embedded example with fewer rows and two slots a day, and `held` queries on a dataset without rows."""
    taxi, fare = (
        yaml.safe_load((ROOT / "jobs" / kind / f"{name}.yaml").read_text())
        for kind, name in (("datasets", "taxi"), ("queries", "taxi_route_fare"))
    )
    taxi["source"]["rows_per_hour"] = 500
    fare |= {"schedule": {"every": "12 hours"}, "gate": {"mean_relative_error": 5}}
    waiting = [QUERY.replace("name: fares", f"name: held_{number}") for number in range(held)]
    return small_world(directory, [taxi, *([DATASET] if held else [])], [fare, *waiting])


class Listener(NamedTuple):
    """A socket that takes connections or datagrams from others."""

    address: str
    port: int
    command: str


class MakeRun:
    """`make run` below `directory`; looks at its processes for as long as it runs."""

    def __init__(self, settings: Settings, directory: Path, *options: str) -> None:
        self.directory, self.settings, self._log = directory, settings, directory / "run.log"
        self.seen: set[psutil.Process] = set()
        self.listeners: set[Listener] = set()
        with self._log.open("wb") as log:
            self.process = psutil.Popen(
                [sys.executable, "-m", "infra.run", "--home", str(directory / "home"), *options],
                cwd=ROOT, env={**os.environ, **settings.environment()}, stdout=log, stderr=log,
            )  # fmt: skip
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()

    def said(self) -> str:
        """All that it has printed."""
        return self._log.read_text()

    def wait(self, what: str, found: Callable[[], Any], patience: float = 600.0) -> Any:
        """The first true value that `found` gives while it runs."""
        give_up = time.monotonic() + patience
        while time.monotonic() < give_up:
            self.alive()
            if value := found():
                return value
            time.sleep(1.0)
        raise TimeoutError(f"{what} did not happen within {patience:.0f} s: {self.said()[-2000:]}")

    def alive(self) -> None:
        """Raise with what it said if it has ended."""
        assert self.process.poll() is None, self.said()

    def api(self) -> AirflowApi:
        """A client of its Airflow, logged in."""
        port = re.search(r"starting Airflow at http://127\.0\.0\.1:(\d+) ", self.said())
        assert port
        api = AirflowApi(AirflowHome(self.directory / "home", int(port[1]), self.settings), self.alive)
        api.wait_until_up()
        return api

    def service(self, name: str, besides: psutil.Process | None = None) -> psutil.Process | None:
        """The process of one of Airflow's services, other than `besides`, if it has begun."""
        for child in self.process.children():
            with contextlib.suppress(psutil.NoSuchProcess):
                if name in " ".join(child.cmdline()).split() and lives(child) and child != besides:
                    return child
        return None

    def left(self) -> list[str]:
        """What lives of all that it ever started, and whatever has its Airflow's home in its environment."""
        return [f"{process.pid} {_command(process)}" for process in self.seen | set(self._of_home()) if lives(process)]

    def interrupt(self) -> int:
        """Ctrl-C; how it ended."""
        self.process.send_signal(signal.SIGINT)
        code = int(self.process.wait(timeout=120))
        self._watch.join()
        return code

    def _of_home(self) -> Iterator[psutil.Process]:
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("AIRFLOW_HOME") == str(self.directory / "home"):
                    yield process

    def _look(self) -> None:
        while self.process.poll() is None:
            with contextlib.suppress(psutil.Error):
                self.seen.update(self.process.children(recursive=True))
            ours = {process.pid: process for process in self.seen if lives(process)}
            for socket in psutil.net_connections("inet"):
                takes = socket.status == psutil.CONN_LISTEN or (socket.status == psutil.CONN_NONE and not socket.raddr)
                if takes and socket.pid in ours:
                    command = _command(ours[socket.pid])
                    self.listeners.add(Listener(_address(socket.laddr.ip), socket.laddr.port, command))
            time.sleep(LOOK_EVERY)


def _address(text: str) -> str:
    """An address of the old kind as such, also where a socket of the new kind listens on it."""
    return text.removeprefix("::ffff:")


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())[:200]
    except psutil.Error:
        return "gone"


def run_once(settings: Settings, directory: Path) -> subprocess.CompletedProcess[str]:
    """`make run` that stops after the table; for what ends before Airflow starts."""
    return subprocess.run(
        [sys.executable, "-m", "infra.run", "--once", "--home", str(directory / "home")],
        cwd=ROOT, env={**os.environ, **settings.environment()}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
