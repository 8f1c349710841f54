"""Batches one after another: what cannot be ingested takes nothing with it but itself.

A batch that fails is cut in halves until what fails stands alone, and that file is refused by its name. So n files with
one that cannot be taken cost about 2 log2(n) batches more, whatever it is that is wrong with it.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from shedding.errors import ConfigError, ConflictError, FilesError, SchemaError, SourceError, SpecError, innermost
from shedding.ingest.landing import unfit
from shedding.ingest.source_plan import Intake

if TYPE_CHECKING:
    from shedding.ingest.batch import BatchReport

_OF_ALL = (ConfigError, ConflictError, SchemaError, SpecError)
"""What is wrong with the dataset, its tables or this machine, whatever file is read."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
_FULL_WORDS = ("No space left on device", "Disk quota exceeded", "Read-only file system")


def stored(
    batches: Iterable[list[Intake]],
    store: Callable[[list[Intake]], BatchReport],
    works: Callable[[], bool],
    refuse: Callable[[str], None],
) -> Iterator[BatchReport]:
    """The reports of all batches, as far as their sources can be stored; `refuse` gets words on each file that cannot.

    No error of a file leaves this. What does is an error that any file would meet: of the dataset's tables, of a full
    disk, of a Spark that does not work any more (`works`), or of a source that is no file.
    """
    waiting = deque(batches)
    while waiting:
        batch = waiting.popleft()
        try:
            report = store(batch)
        except Exception as error:
            if _is_of_all(error, batch) or not works():
                raise
            words, rest = _after(error, batch)
            for refused in words:
                refuse(refused)
            waiting.extendleft(reversed(rest))
        else:
            yield report


def _is_of_all(error: Exception, batch: list[Intake]) -> bool:
    if isinstance(error, _OF_ALL) or any(intake.file is None for intake in batch):
        return True
    full = isinstance(error, OSError) and error.errno in _FULL
    return full or any(words in innermost(error) for words in _FULL_WORDS)


def _after(error: Exception, batch: list[Intake]) -> tuple[list[str], list[list[Intake]]]:
    """Words on the files that are refused now, and the batches that the others are tried again in."""
    files = {intake.file.path: intake for intake in batch if intake.file is not None}
    if isinstance(error, FilesError) and files.keys() & error.words.keys():
        words = [error.words[path] for path in files if path in error.words]
        rest = [intake for path, intake in files.items() if path not in error.words]
        return words, [rest] if rest else []
    if isinstance(error, SourceError):  # of the layout that all files of a batch have
        return [str(error)], []
    if len(batch) == 1:
        return [unfit(path, error) for path in files], []
    half = len(batch) // 2
    return [], [batch[:half], batch[half:]]
