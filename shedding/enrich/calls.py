"""Calls of a user's function: timed one by one, limited, silenced, and each failure kept to its row."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from shedding.errors import DataError

LONGEST_ERROR = 300
_HOLDS = {"bigint": int, "string": str, "boolean": bool}
BATCH = 256
"""Rows of one call of a `batch` function."""


class Overtime(BaseException):
    """Raised inside a call that takes longer than its limit; no `except Exception` of the function swallows it."""


class _WrongValueError(Exception):
    """Raised where a function returned what its column cannot hold."""


class _Nowhere:
    """A text stream that keeps nothing: a function may print as much as it likes."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one row came to: its value, None with an `error` where it has none, and what the call took."""

    value: Any
    cost_ns: int
    cpu_ns: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Calls:
    """How a function is called: by row or by `batch`, at most `limit` seconds a call, values of `kind`.

    Guarantee: one result a row, in order. A call that raises, returns the wrong type or length, or goes over its limit
    gives its row an error and no other; with `fail` it is a DataError that names the row's inputs. NaN is no value.
    The limit needs the main thread, where Spark's workers run functions; elsewhere a call is not limited.
    """

    function: Callable[..., Any]
    call: str
    kind: str = "double"
    batch: bool = False
    limit: float = 10.0
    fail: bool = False

    def results(self, rows: Sequence[tuple[Any, ...]]) -> list[Result]:
        """The results of rows of arguments."""
        with _silent():
            return self._by_batch(rows) if self.batch else [self._one(row) for row in rows]

    def _by_batch(self, rows: Sequence[tuple[Any, ...]]) -> list[Result]:
        found: list[Result] = []
        for start in range(0, len(rows), BATCH):
            part = rows[start : start + BATCH]
            values, cost, cpu, error = self._timed(partial(self._listed, part), self.limit * len(part))
            if error is None:
                found += [Result(value, cost // len(part), cpu // len(part)) for value in values]
            elif len(part) == 1:
                found.append(self._failed(part[0], cost, cpu, error))
            else:  # which row it was is found out one by one
                found += [result for row in part for result in self._by_batch([row])]
        return found

    def _one(self, row: tuple[Any, ...]) -> Result:
        value, cost, cpu, error = self._timed(lambda: typed(self.function(*row), self.kind), self.limit)
        return Result(value, cost, cpu) if error is None else self._failed(row, cost, cpu, error)

    def _listed(self, part: Sequence[tuple[Any, ...]]) -> list[Any]:
        values = self.function(*(list(column) for column in zip(*part, strict=True)))
        if not hasattr(values, "__len__") or isinstance(values, str | bytes) or len(values) != len(part):
            size = f"{len(values)} values" if hasattr(values, "__len__") else type(values).__name__
            raise _WrongValueError(f"returned {size} for {len(part)} rows; return a list of one value a row")
        return [typed(value, self.kind) for value in values]

    def _timed(self, work: Callable[[], Any], limit: float) -> tuple[Any, int, int, str | None]:
        value, error = None, None
        start, cpu = time.perf_counter_ns(), time.thread_time_ns()
        try:
            with _limited(limit):
                value = work()
        except Overtime:
            error = f"took longer than {limit:g} s"
        except _WrongValueError as wrong:
            error = str(wrong)
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        return value, time.perf_counter_ns() - start, time.thread_time_ns() - cpu, error

    def _failed(self, row: tuple[Any, ...], cost: int, cpu: int, error: str) -> Result:
        if self.fail:
            raise DataError(
                f"{self.call} failed on {_shown(row)}: {error[:LONGEST_ERROR]}; correct the function and raise its "
                f"version, or write on_error: null or quarantine"
            )
        return Result(None, cost, cpu, error[:LONGEST_ERROR])


def typed(value: Any, kind: str) -> Any:
    """The value as the column's type holds it; None and NaN are no value. Others are refused."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    value = value.item() if hasattr(value, "item") else value  # a NumPy scalar
    if kind == "double" and isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number):
            return number
        if math.isnan(number):
            return None
    elif type(value) is _HOLDS.get(kind) and (not isinstance(value, int) or -(2**63) <= value < 2**63):
        return value
    raise _WrongValueError(f"returned {_shown(value)} ({type(value).__name__}), which is no {kind}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "..."


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    nowhere: Any = _Nowhere()
    with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        yield


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise Overtime inside after so many seconds, again and again until the call ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise Overtime

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, max(seconds / 4, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
