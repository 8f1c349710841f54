"""Whatever is wrong with a file, the files beside it are stored, each once."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.ingest_queue import stored
from shedding.errors import ConflictError, DataError, FilesError, SchemaError
from shedding.ingest.batch import BatchReport
from shedding.ingest.landing import LandedFile
from shedding.ingest.source_plan import Intake

KINDS = [RuntimeError, KeyError, DataError, UnicodeError, RecursionError, MemoryError, AssertionError, OSError]


def landed(name: str) -> Intake:
    return Intake(name, name, file=LandedFile(Path(name), name, name, 1, ()))


def report(batch: list[Intake]) -> BatchReport:
    return BatchReport(len(batch), len(batch), 0, 0, 0, [intake.name for intake in batch])


@given(st.integers(1, 300), st.sets(st.integers(0, 299), max_size=6), st.sampled_from(KINDS), st.booleans())
def test_every_sound_file_is_stored_once_and_every_other_refused_by_name(
    count: int, bad: set[int], kind: type[Exception], named: bool
) -> None:
    names = [f"f{number}" for number in range(count)]
    wrong = {f"f{number}" for number in bad if number < count}
    tries = 0
    refused: list[str] = []

    def store(batch: list[Intake]) -> BatchReport:
        nonlocal tries
        tries += 1
        found = [intake.name for intake in batch if intake.name in wrong]
        if found and named:
            raise FilesError({Path(found[0]): f"{found[0]} cannot be ingested"})
        if found:
            raise kind("what nobody thought of")
        return report(batch)

    batches = [[landed(name) for name in names[start : start + 64]] for start in range(0, count, 64)]
    done = [name for one in stored(batches, store, lambda: True, refused.append) for name in one.sources]
    assert sorted(done) == sorted(set(names) - wrong)
    assert sorted(words.split()[0] for words in refused) == sorted(wrong)
    assert all("cannot be ingested" in words for words in refused)
    assert tries <= len(batches) + 2 * 6 * len(wrong)


@pytest.mark.parametrize(
    "error",
    [
        ConflictError("others"),
        SchemaError("another type"),
        OSError(errno.ENOSPC, "No space left on device"),
        RuntimeError("Caused by: java.io.IOException: No space left on device"),
    ],
    ids=str,
)
def test_what_any_file_would_meet_ends_the_run_at_once(error: Exception) -> None:
    tries = []

    def store(batch: list[Intake]) -> BatchReport:
        tries.append(batch)
        raise error

    with pytest.raises(type(error)):
        list(stored([[landed("a"), landed("b")], [landed("c")]], store, lambda: True, pytest.fail))
    assert len(tries) == 1


def test_a_spark_that_is_gone_is_no_fault_of_the_files() -> None:
    def store(batch: list[Intake]) -> BatchReport:
        raise RuntimeError("the context was stopped")

    with pytest.raises(RuntimeError, match="was stopped"):
        list(stored([[landed("a"), landed("b")]], store, lambda: False, pytest.fail))


def test_an_interval_that_cannot_be_made_is_told_as_it_is() -> None:
    def store(batch: list[Intake]) -> BatchReport:
        raise RuntimeError("no such generator")

    with pytest.raises(RuntimeError, match="no such generator"):
        list(stored([[Intake("a", "a", interval=(0, 1))]], store, lambda: True, pytest.fail))
