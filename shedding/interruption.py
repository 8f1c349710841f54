"""Ctrl-C: nothing is said but by whoever ends the process, and it is never lost."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""The exit code of a process that Ctrl-C ended."""
PATIENCE_SECONDS = 20
"""How long the clean-up after Ctrl-C may take before the process is ended all the same."""

_interrupted = threading.Event()


@contextmanager
def ending_at_once(line: str) -> Iterator[None]:
    """Inside, Ctrl-C prints the line and ends the process, until `raise_quietly` takes over.

    An exception would be lost in packages that are being imported: some of them swallow it.
    """

    def end(*_: object) -> NoReturn:
        print(line, file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _interrupted.clear()
    before = signal.signal(signal.SIGINT, end), signal.signal(signal.SIGALRM, end)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGALRM, before[1])


def raise_quietly() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt, and no logger says anything of what that cuts short."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _interrupt)


def was_interrupted() -> bool:
    """Whether Ctrl-C was pressed: an error raised after it is its consequence, such as a call to Java cut in two."""
    return _interrupted.is_set()


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    _interrupted.set()
    if signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:  # `ending_at_once` waits for it
        # Python drops what is raised in a destructor, and a clean-up may wait for a Java that is gone.
        signal.alarm(PATIENCE_SECONDS)
    logging.disable(logging.CRITICAL)  # Py4J logs the interrupt, with all its frames, before it passes it on
    raise KeyboardInterrupt
