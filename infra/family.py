"""A process with everything it has started, however deep: known though its parents died, and stopped with nothing left.

Its session outlives it and is inherited, so that finds orphans, also those that lost their environment to a title of
their own; the mark in the environment finds those that began a session of their own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Collection, Mapping
from pathlib import Path

import psutil

MARK = "SLUICE_FAMILY"
POLL_SECONDS = 0.1
_START = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: this is what it gets when its parent has died
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Family:
    """The processes that began with one command; they are asked to end if this process dies, whatever kills it."""

    def __init__(self, command: list[str], environment: Mapping[str, str], log: Path) -> None:
        self.mark = uuid.uuid4().hex
        starter = [sys.executable, "-c", _START, *command]
        with log.open("ab") as output:
            self._leader = subprocess.Popen(
                starter, stdout=output, stderr=output, env={**environment, MARK: self.mark}, start_new_session=True
            )

    @property
    def session(self) -> int:
        """The session of all that did not begin another."""
        return self._leader.pid

    def exit_code(self, wait: bool = False) -> int | None:
        """How the first process ended, minus a signal's number; None while it runs.

        It stays a zombie until `stop`: no other process may be given its number, and so its session.
        """
        ended = os.waitid(os.P_PID, self._leader.pid, os.WEXITED | os.WNOWAIT | (0 if wait else os.WNOHANG))
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def reap(self) -> None:
        """Let go of the first process; the others must be gone."""
        self._leader.wait()


def stop(families: Collection[Family], patience: float = 0.0) -> None:
    """Ask the first processes to end, kill what is left when they have or have not for `patience` seconds.

    Returns when all are gone: a process may start one more while it is being stopped, so they are looked for until
    there is none.
    """
    if patience:
        for family in families:
            with contextlib.suppress(ProcessLookupError):
                os.kill(family.session, signal.SIGTERM)
    give_up = time.monotonic() + patience
    with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C: there is no more patience
        while any(family.exit_code() is None for family in families) and time.monotonic() < give_up:
            time.sleep(POLL_SECONDS)
    while left := members(families):
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        time.sleep(POLL_SECONDS)
    for family in families:
        family.reap()


def members(families: Collection[Family]) -> set[psutil.Process]:
    """The living processes of the families: of their sessions, with their marks, and all that descends from these."""
    sessions, marks = {family.session for family in families}, {family.mark for family in families}
    found: set[psutil.Process] = set()
    children: dict[int, list[psutil.Process]] = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError):
            children.setdefault(process.ppid(), []).append(process)
            if os.getsid(process.pid) in sessions or process.environ().get(MARK) in marks:
                found.add(process)
    looked_at = list(found)
    while looked_at:
        younger = set(children.get(looked_at.pop().pid, ())) - found
        found |= younger
        looked_at += younger
    return {process for process in found if lives(process)}


def lives(process: psutil.Process) -> bool:
    """Whether the process runs; one that has ended and that nobody has waited for does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
