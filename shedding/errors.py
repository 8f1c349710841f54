"""The one exception root, and the kinds of failure a caller may want to tell apart."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


class SluiceError(Exception):
    """Raised when Sluice cannot go on; the message says what, where, and how to fix it."""


class SpecError(SluiceError):
    """Raised when a dataset's or query's YAML is wrong; names file, key, value and remedy."""


class ConfigError(SluiceError):
    """Raised when the environment lacks something a job needs (Java, jars, a directory)."""


class SourceError(SluiceError):
    """Raised when a whole source file cannot be ingested; nothing of it was kept.

    `each` says what of every file, where they are too many for one line.
    """

    def __init__(self, message: str, each: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.each = tuple(each)


class FilesError(SourceError):
    """Raised when some files of a batch cannot be ingested and the others can; `words` are on each of the former."""

    def __init__(self, words: Mapping[Path, str]) -> None:
        super().__init__("; ".join(words.values()))
        self.words = dict(words)


class DataError(SluiceError):
    """Raised when rows or tables contradict what the specification promises."""


class SchemaError(DataError):
    """Raised when rows have a column of another type than the table they belong in, whatever file they came from."""


class NotReadyError(SluiceError):
    """Raised when a slot's raw data has not arrived yet; waiting helps."""


class ConflictError(SluiceError):
    """Raised when concurrent writers collided and retrying did not help; a later retry may."""


class BudgetError(SluiceError):
    """Raised when a budget or an allocation problem has no defined answer."""


class VerdictError(SluiceError):
    """Raised when the gate refused a slot; never retried, nothing was published."""


class PromiseError(SluiceError):
    """Raised when published windows turn out to be over their limits more often than the gate's risk allows."""


FEW_FILES = 3
FINAL = (SpecError, DataError, BudgetError, VerdictError, PromiseError)
"""Errors that a retry cannot fix; tasks that raise one are not retried."""
FINAL_CODE = 3
"""The exit code by which an application tells that it failed by one of these."""


def refusal(reasons: Sequence[str]) -> SourceError:
    """The error of files that were refused: what of a few in its message, of many each in a line of its own."""
    if len(reasons) <= FEW_FILES:
        return SourceError("; ".join(reasons))
    return SourceError(f"{len(reasons)} files were refused, each in a line above; the first: {reasons[0]}", reasons)


def lines(error: SluiceError) -> tuple[str, ...]:
    """What an error has to say before its one line."""
    return error.each if isinstance(error, SourceError) else ()


def reported(error: SluiceError) -> int:
    """Tell of an application's error in one line; its exit code: FINAL_CODE where trying again would not help."""
    for line in lines(error):
        print(line, file=sys.stderr)
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    return FINAL_CODE if isinstance(error, FINAL) else 1


def innermost(error: BaseException) -> str:
    """What an error says, in one line; of one that carries Java's stack, the innermost cause it names."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes[-1] if causes else " ".join(lines) or type(error).__name__)[:300]
