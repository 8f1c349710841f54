"""What an ingest run decides to do."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.ingest.arrivals import HOUR, Arrivals, Source
from shedding.ingest.landing import LandedFile
from shedding.ingest.source_plan import BATCH_BYTES, BATCH_SOURCES, Intake, batches, plan_files, plan_interval, reading
from shedding.spec.dataset import DatasetSpec

FILES = DatasetSpec.model_validate({
    "name": "d", "source": {"kind": "csv", "path": "*.csv"}, "schedule": {"every": "1 hour"},
    "event_time": {"column": "t"}, "columns": [{"name": "t", "type": "timestamp"}],
})  # fmt: skip
MADE = DatasetSpec.model_validate({
    "name": "g", "source": {"kind": "generator"}, "schedule": {"every": "1 hour"},
    "event_time": {"column": "pickup_datetime"}, "columns": [{"name": "pickup_datetime", "type": "timestamp"}],
})  # fmt: skip


def landed(name: str, content: str, size: int = 1) -> LandedFile:
    return LandedFile(Path(name), name, content, size, ())


def seen(name: str, content: str, dataset: DatasetSpec = FILES) -> Source:
    return Source(f"id-{name}", name, f"{content}.{reading(dataset)}", 1)


def made(start: int, end: int, dataset: DatasetSpec = MADE) -> Source:
    return Source(f"id-{start}", str(start), f"{start}.{reading(dataset)}", 1, interval=(start, end))


def test_new_known_and_corrected_files_are_told_apart() -> None:
    arrivals = Arrivals(visible=(seen("a", "1"), seen("b", "2")))
    plan = plan_files(FILES, [landed("a", "1"), landed("b", "3"), landed("c", "4"), landed("d", "1")], arrivals)
    assert [(intake.name, intake.replaces) for intake in plan.intakes] == [("b", ("id-b",)), ("c", ())]
    assert len(plan.known) == 2
    assert "d is known already, as a" in plan.known[1]


def test_two_new_files_of_one_content_are_ingested_once() -> None:
    plan = plan_files(FILES, [landed("a", "1"), landed("b", "1")], Arrivals())
    assert [intake.name for intake in plan.intakes] == ["a"]


def test_content_freed_by_a_correction_is_taken_from_the_other_file_that_holds_it() -> None:
    plan = plan_files(FILES, [landed("a", "9"), landed("b", "1")], Arrivals(visible=(seen("a", "1"),)))
    assert [intake.name for intake in plan.intakes] == ["a", "b"]


def test_a_new_way_of_reading_reads_every_file_again_and_a_new_description_none() -> None:
    other = FILES.model_copy(update={"derived": {"x": "1"}})
    arrivals = Arrivals(visible=(seen("a", "1"),))
    assert [intake.replaces for intake in plan_files(other, [landed("a", "1")], arrivals).intakes] == [("id-a",)]
    renamed = FILES.model_copy(update={"description": "more words"})
    assert plan_files(renamed, [landed("a", "1")], arrivals).intakes == []


@given(st.lists(st.integers(0, 30), max_size=6), st.integers(0, 25), st.integers(1, 8))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_an_interval_plan_covers_it_exactly_once(there: list[int], start: int, length: int) -> None:
    arrivals = Arrivals(visible=tuple(made(hour * HOUR, (hour + 1) * HOUR) for hour in sorted(set(there))))
    low, high = start * HOUR + 60_000_000, (start + length) * HOUR
    plan = plan_interval(MADE, low, high, arrivals)
    new = [intake.interval for intake in plan.intakes if intake.interval]
    assert all(a[1] <= b[0] for a, b in pairwise(new))
    for hour in range(start, start + length):
        covered = (hour in there) + sum(low <= hour * HOUR < high for low, high in new)
        assert covered == 1
    assert bool(plan.known) == (not new)


def test_a_changed_generator_replaces_all_that_it_touches() -> None:
    changed = MADE.model_copy(update={"source": MADE.source.model_copy(update={"seed": 5})})
    arrivals = Arrivals(visible=(made(0, 2 * HOUR), made(2 * HOUR, 3 * HOUR)))
    plan = plan_interval(changed, HOUR, 2 * HOUR, arrivals)
    assert [intake.interval for intake in plan.intakes] == [(0, HOUR), (HOUR, 2 * HOUR)]
    assert {old for intake in plan.intakes for old in intake.replaces} == {"id-0"}


@given(st.lists(st.integers(1, BATCH_BYTES), max_size=200))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_batches_hold_every_source_once_within_their_limits(sizes: list[int]) -> None:
    intakes = [Intake(str(n), str(n), size) for n, size in enumerate(sizes)]
    found = list(batches(intakes))
    assert [intake for batch in found for intake in batch] == intakes
    for batch in found:
        assert 0 < len(batch) <= BATCH_SOURCES
        assert len(batch) == 1 or sum(intake.size for intake in batch) <= BATCH_BYTES
