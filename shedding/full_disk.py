"""Writes that the storage refuses: one error that says so, and nothing on the screen before it."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import threading
import time
from collections.abc import Iterator

from shedding.errors import ConfigError

_CODES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_CODE = re.compile(r"\(os error (\d+)\)")
_PANIC = b"panicked at "
_SETTLES = 0.05  # s, in which the threads of a write that failed have said what they say
_one_at_a_time = threading.Lock()


@contextlib.contextmanager
def told_if_full(uri: str) -> Iterator[None]:
    """ConfigError, and no line before it, where what is written inside finds no room at `uri`.

    delta-rs's own threads panic on a write that failed, and say so on standard error, before its error is raised. What
    they say of it is left out; anything else that was said meanwhile is said after it.
    """
    try:
        with _one_at_a_time, _without_panics():
            yield
    except Exception as error:
        code = _code(error)
        if code not in _CODES:
            raise
        raise ConfigError(
            f"{uri} cannot be written: {os.strerror(code)}; free some space, then run again: nothing was committed"
        ) from error


def _code(error: Exception) -> int:
    """The operating system's number of an error, which delta-rs puts into its words; 0 where it has none."""
    named = _CODE.findall(str(error))
    return int(named[-1]) if named else error.errno or 0 if isinstance(error, OSError) else 0


@contextlib.contextmanager
def _without_panics() -> Iterator[None]:
    stderr, said = os.dup(2), os.memfd_create("stderr")
    os.dup2(said, 2)
    try:
        yield
    except Exception:
        time.sleep(_SETTLES)
        raise
    finally:
        os.dup2(stderr, 2)
        text = os.pread(said, os.fstat(said).st_size, 0)
        if _PANIC not in text:
            os.write(2, text)
        os.close(stderr)
        os.close(said)
