"""Calls of a user's function: timed one by one, limited, silenced, and each failure kept to its row."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from shedding.errors import DataError

LONGEST_ERROR = 300
_HOLDS = {"bigint": int, "string": str, "boolean": bool}
OWN_COST = "cost_seconds"
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


Called = tuple[Any, int, str | None]
"""Value, nanoseconds and error of a call."""


class Result(NamedTuple):
    """What one row came to: its value, None with an `error` where it has none, and what the call took.

    `cpu_ns` is the row's part of the processor time of its batch, by what the calls took: a check on noisy machines.
    """

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

    A function with an attribute `cost_seconds`, itself a function of the same arguments, is not timed: its calls cost
    what that says. So a service that is paid by the character is budgeted, and tests need no clock.
    """

    function: Callable[..., Any]
    call: str
    kind: str = "double"
    batch: bool = False
    limit: float = 10.0
    fail: bool = False

    def results(self, rows: Sequence[tuple[Any, ...]]) -> list[Result]:
        """The results of rows of arguments."""
        with _silent(), Watch(self.limit) as watch:
            start = time.thread_time_ns()
            found = self._by_batch(rows, watch) if self.batch else [self._one(row, watch) for row in rows]
            spent = _results(found, time.thread_time_ns() - start)
            own = getattr(self.function, OWN_COST, None)
            return spent if own is None else [self._told(own, *both) for both in zip(spent, rows, strict=True)]

    def _told(self, own: Callable[..., float], result: Result, row: tuple[Any, ...]) -> Result:
        """The result at the cost that the function states of itself."""
        try:
            return result._replace(cost_ns=math.ceil(1e9 * max(0.0, float(own(*row)))))
        except Exception as error:
            raise DataError(
                f"{self.call}.{OWN_COST} of {_shown(row)} is no number of seconds ({type(error).__name__}: {error}); "
                f"correct it, or remove it so that calls are timed"
            ) from error

    def _by_batch(self, rows: Sequence[tuple[Any, ...]], watch: Watch) -> list[Called]:
        found: list[Called] = []
        for start in range(0, len(rows), BATCH):
            part = rows[start : start + BATCH]
            values, cost, error = self._timed(self._listed, (part,), watch, len(part))
            if error is None:
                found += [(value, cost // len(part), None) for value in values]
            elif len(part) == 1:
                found.append(self._failed(part[0], cost, error))
            else:  # which row it was is found out one by one
                found += [result for row in part for result in self._by_batch([row], watch)]
        return found

    def _one(self, row: tuple[Any, ...], watch: Watch) -> Called:
        called = self._timed(self.function, row, watch)
        value, cost, error = called
        if error is None:
            if type(value) is float and value - value == 0.0 and self.kind == "double":
                return called  # finite, as nearly all are
            try:
                return typed(value, self.kind), cost, None
            except _WrongValueError as wrong:
                error = str(wrong)
        return self._failed(row, cost, error)

    def _listed(self, part: Sequence[tuple[Any, ...]]) -> list[Any]:
        values = self.function(*(list(column) for column in zip(*part, strict=True)))
        if not hasattr(values, "__len__") or isinstance(values, str | bytes) or len(values) != len(part):
            size = f"{len(values)} values" if hasattr(values, "__len__") else type(values).__name__
            raise _WrongValueError(f"returned {size} for {len(part)} rows; return a list of one value a row")
        return [typed(value, self.kind) for value in values]

    def _timed(self, work: Callable[..., Any], given: tuple[Any, ...], watch: Watch, rows: int = 1) -> Called:
        """The value, the nanoseconds and the error of one call; a microsecond beside the call itself."""
        value, error = None, None
        watch.rows = rows
        watch.since = start = time.perf_counter_ns()
        try:
            try:
                value = work(*given)
            finally:
                watch.since = 0
        except Overtime:
            error = f"took longer than {self.limit * rows:g} s"
        except _WrongValueError as wrong:
            error = str(wrong)
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        return value, time.perf_counter_ns() - start, error

    def _failed(self, row: tuple[Any, ...], cost: int, error: str) -> Called:
        if self.fail:
            raise DataError(
                f"{self.call} failed on {_shown(row)}: {error[:LONGEST_ERROR]}; correct the function and raise its "
                f"version, or write on_error: null or quarantine"
            )
        return None, cost, error[:LONGEST_ERROR]


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


def _results(calls: list[Called], cpu: int) -> list[Result]:
    """The processor time of a batch shared out, each row's part by what its call took."""
    part = cpu / max(1, sum(cost for _, cost, _ in calls))
    return [Result(value, cost, int(part * cost), error) for value, cost, error in calls]


class Watch:
    """Raises Overtime inside a call that is over its limit, again and again until it ends, and at no other time.

    One repeating alarm looks at all calls of a batch, a quarter of the limit apart: an alarm for each call would take
    longer than a quick call itself.
    """

    def __init__(self, limit: float) -> None:
        self.limit, self.since, self.rows = limit, 0, 1
        self._main = threading.current_thread() is threading.main_thread()
        self._before: Any = None

    def __enter__(self) -> Watch:
        if self._main:
            self._before = signal.signal(signal.SIGALRM, self._look)
            often = max(self.limit / 4, 0.001)
            signal.setitimer(signal.ITIMER_REAL, often, often)
        return self

    def __exit__(self, *_: object) -> None:
        if self._main:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    def _look(self, *_: object) -> None:
        if self.since and time.perf_counter_ns() - self.since > 1e9 * self.limit * self.rows:
            raise Overtime
