"""A process with all it has started: whoever dies, whatever a child makes of itself, nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from infra.family import Family, lives, members, stop

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent.parent
FORK = "if not os.fork():\n    {child}\n    print('ready', flush=True)\n    time.sleep(60)\n"
CHILDREN = {
    "plain": "pass",
    "with another title": "setproctitle.setproctitle('airflow worker -- ' + 'x' * 4000)",
    "with a group of its own": "os.setpgid(0, 0)",
    "with a session of its own": "os.setsid()",
    "deaf": "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "of a dead parent": "os.fork() and os._exit(0)",
}


def start(tmp_path: Path, child: str) -> Family:
    """A family whose first process has such a child."""
    code = "import os, setproctitle, signal, time\n" + FORK.format(child=CHILDREN[child]) + "time.sleep(60)"
    log = tmp_path / "log"
    family = Family([sys.executable, "-c", code], os.environ, log)
    until(lambda: "ready" in log.read_text())
    return family


def until(true: Callable[[], Any]) -> None:
    give_up = time.monotonic() + 30
    while not true():
        assert time.monotonic() < give_up
        time.sleep(0.05)


@pytest.mark.parametrize("child", CHILDREN)
def test_what_a_killed_process_leaves_is_found_and_stopped(tmp_path: Path, child: str) -> None:
    family = start(tmp_path, child)
    before = members([family])
    assert len(before) == 2
    os.kill(family.session, signal.SIGKILL)
    until(lambda: family.exit_code() == -signal.SIGKILL)
    assert len(members([family])) == 1
    stop([family])
    assert not members([family])
    assert not [process for process in before if lives(process)]


@pytest.mark.parametrize("child", CHILDREN)
def test_a_living_family_is_stopped_whole(tmp_path: Path, child: str) -> None:
    family = start(tmp_path, child)
    before = members([family])
    assert family.exit_code() is None
    stop([family], patience=1.0)
    assert not [process for process in before if lives(process)]


def test_a_second_ctrl_c_ends_the_patience_and_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
    )
    family = Family([sys.executable, "-c", code], os.environ, tmp_path / "log")
    until(lambda: "ready" in (tmp_path / "log").read_text())
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    stop([family], patience=50.0)
    assert time.monotonic() - started < 40.0
    assert not members([family])


def test_a_family_ends_when_the_process_that_started_it_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys, time\nfrom infra.family import Family\n"
        "command = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
        "family = Family(command, os.environ, pathlib.Path(sys.argv[1]))\n"
        "print(family.session, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "log")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = psutil.Process(int(parent.stdout.readline()))
        until(lambda: "sleep" in child.cmdline()[-1] and "prctl" not in child.cmdline()[2])
        parent.kill()
    until(lambda: not lives(child))
