"""The one exception root, and the kinds of failure a caller may want to tell apart."""

from __future__ import annotations

import sys


class SluiceError(Exception):
    """Raised when Sluice cannot go on; the message says what, where, and how to mend it."""


class SpecError(SluiceError):
    """Raised when a dataset's or query's YAML is wrong; names file, key, value and remedy."""


class ConfigError(SluiceError):
    """Raised when the environment lacks something a job needs (Java, jars, a directory)."""


class SourceError(SluiceError):
    """Raised when a whole source file cannot be ingested; nothing of it was kept."""


class DataError(SluiceError):
    """Raised when rows or tables contradict what the specification promises."""


class NotReadyError(SluiceError):
    """Raised when a slot's raw data has not arrived yet; waiting mends it."""


class ConflictError(SluiceError):
    """Raised when concurrent writers collided and retrying did not help; a later retry may."""


class BudgetError(SluiceError):
    """Raised when a budget or an allocation problem has no defined answer."""


class VerdictError(SluiceError):
    """Raised when the gate refused a slot; never retried, nothing was published."""


FINAL = (SpecError, DataError, BudgetError, VerdictError)
"""What no waiting mends: a task that fails by one of these is not tried again."""
FINAL_CODE = 3
"""The exit code by which an application tells that it failed by one of these."""


def reported(error: SluiceError) -> int:
    """Tell of an application's error in one line; its exit code: FINAL_CODE where trying again would not help."""
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    return FINAL_CODE if isinstance(error, FINAL) else 1


def innermost(error: BaseException) -> str:
    """What an error says, in one line; of one that carries Java's stack, the innermost cause it names."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes[-1] if causes else " ".join(lines) or type(error).__name__)[:300]
