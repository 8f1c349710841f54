"""A query's published rows as a side of another: decided windows, their contents and counts, without a JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from expectations.evidence import load_evidence
from jobs.publish import drop_slot, publish, quarantine
from jobs.run_slot import arrivals_of, missing_raw, require_raw
from jobs.stale_slots import stale_slots
from shedding.config import Settings
from shedding.errors import NotReadyError
from shedding.ingest.published_side import SourceWindows
from shedding.ingest.side import sides_of
from shedding.planning.slot_plan import recorded, settle_plan
from shedding.spec import Catalog, load_catalog
from shedding.stretches import Stretches
from tests.expectations.answers import HOUR, SLOT, Answer
from tests.jobs.test_publish import BAD, judged
from tests.small_specs import generated_trips

DAY = Stretches.of((SLOT, SLOT + 2 * HOUR))
SOURCE: dict[str, Any] = {
    "name": "halves", "dataset": "trips", "window": {"size": "30 minutes"}, "group_by": ["route"],
    "measures": [{"name": "fare", "agg": "avg", "column": "fare_amount"}], "schedule": {"every": "1 hour"},
    "shed": {"policy": "exact"},
}  # fmt: skip
READER: dict[str, Any] = {
    "name": "peaks", "source": {"query": "halves"}, "window": {"size": "1 hour"}, "group_by": ["route"],
    "measures": [{"name": "peak", "agg": "max", "column": "fare"}], "schedule": {"every": "2 hours"},
    "shed": {"policy": "exact"},
}  # fmt: skip


def catalog_of(directory: Path, *queries: dict[str, Any]) -> Catalog:
    for kind in ("datasets", "queries"):
        (directory / kind).mkdir(parents=True, exist_ok=True)
    trips = generated_trips(rows_per_hour=600, every="6 hours")
    (directory / "datasets" / "trips.yaml").write_text(yaml.safe_dump(trips))
    for query in queries:
        (directory / "queries" / f"{query['name']}.yaml").write_text(yaml.safe_dump(query))
    return load_catalog(directory)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    found = catalog_of(tmp_path / "specs", SOURCE, READER)
    assert found.problems == ()
    return found


def published(settings: Settings, catalog: Catalog, slot: int, values: Any = None, run_id: str = "run") -> None:
    query = catalog.query("halves")
    answer = Answer(query, slot, leg="exact", values=values)
    publish(settings, query, slot, judged(settings, answer, run_id=run_id), run_id)


def test_rows_are_counted_and_known_by_their_content_not_by_the_run_that_made_them(
    settings: Settings, catalog: Catalog
) -> None:
    for slot in (SLOT, SLOT + HOUR):
        published(settings, catalog, slot)
    side = sides_of(settings, catalog, catalog.query("peaks"))[0]
    counts = side.counts(DAY)
    assert counts is not None
    assert counts["rows"].to_pylist() == [2] * 8  # two half hours of four routes in each of two panes
    assert side.rows(DAY) == 16
    assert side.bytes(DAY) > 0
    first = side.fingerprint(DAY)
    published(settings, catalog, SLOT, run_id="again")
    again = sides_of(settings, catalog, catalog.query("peaks"))[0]
    assert again.fingerprint(DAY) == first
    published(settings, catalog, SLOT, values=[1.0, 2.0, 3.0, 4.0], run_id="corrected")
    corrected = sides_of(settings, catalog, catalog.query("peaks"))[0]
    assert corrected.fingerprint(DAY) != first
    assert corrected.fingerprint(Stretches.of((SLOT + HOUR, SLOT + 2 * HOUR))) == side.fingerprint(
        Stretches.of((SLOT + HOUR, SLOT + 2 * HOUR))
    )


def test_readers_wait_until_every_window_is_decided(settings: Settings, catalog: Catalog) -> None:
    reader = catalog.query("peaks")
    published(settings, catalog, SLOT)
    assert list(missing_raw(settings, catalog, reader, SLOT)) == ["halves"]
    with pytest.raises(NotReadyError, match=r"reads the windows of halves .* sluice run halves --from"):
        require_raw(settings, catalog, "peaks", [SLOT])
    source = catalog.query("halves")
    bad = judged(settings, Answer(source, SLOT + HOUR, leg="exact"), BAD)
    quarantine(settings, source, SLOT + HOUR, bad, "run")
    assert list(missing_raw(settings, catalog, reader, SLOT)) == ["halves"]  # a refused window is not decided
    published(settings, catalog, SLOT + HOUR)
    assert list(missing_raw(settings, catalog, reader, SLOT)) == []
    assert arrivals_of(settings, catalog, "halves").first_event == SLOT


def test_a_window_never_stands_on_part_of_its_source_and_is_added_once_that_is_filled(
    settings: Settings, tmp_path: Path
) -> None:
    dropping = {**SOURCE, "shed": {"policy": "exact", "windows": {"drop": 0.3, "batch": 1}}}
    narrow = {**READER, "window": {"size": "30 minutes"}}
    catalog = catalog_of(tmp_path / "specs", dropping, narrow)
    assert catalog.problems == ()
    source, reader = catalog.query("halves"), catalog.query("peaks")
    slots = [SLOT + n * HOUR for n in range(40)]
    slot = next(s for s in slots if len(settle_plan(settings, source, s, "run").dropped) == 1 and s % (2 * HOUR) == 0)
    own = settle_plan(settings, source, slot, "run")
    from tests.jobs.test_window_states import kept_answer

    for one in (slot, slot + HOUR):
        if settle_plan(settings, source, one, "run").kept:
            publish(settings, source, one, judged(settings, kept_answer(source, one)), "run")
        else:
            drop_slot(settings, source, one, "run")
    assert list(missing_raw(settings, catalog, reader, slot)) == []
    plan = settle_plan(settings, reader, slot, "run")
    assert set(own.dropped) <= set(plan.dropped)
    assert "its source halves dropped" in plan.reason
    drop_slot(settings, reader, slot, "run") if not plan.kept else None
    assert recorded(settings, reader, slot) == plan
    assert stale_slots(settings, catalog, "peaks") == []


def test_a_source_that_is_filled_makes_its_reader_stale(settings: Settings, catalog: Catalog) -> None:
    source, reader = catalog.query("halves"), catalog.query("peaks")
    dropper = source.model_copy(
        update={"shed": source.shed.model_validate({"policy": "exact", "windows": {"drop": 0.4, "batch": 1}})}
    )
    slot = next(s for s in range(SLOT, SLOT + 99 * HOUR, 2 * HOUR) if settle_plan(settings, dropper, s, "r").dropped)
    for one in (slot, slot + HOUR):
        settle_plan(settings, dropper, one, "run")
        drop_slot(settings, dropper, one, "run")  # states alone: dropped by the plan, else without rows
    plan = settle_plan(settings, reader, slot, "run")
    assert plan.dropped
    drop_slot(settings, reader, slot, "run")
    assert stale_slots(settings, catalog, "peaks") == []
    for one in (slot, slot + HOUR):
        settle_plan(settings, dropper, one, "run", fill=True)
        published(settings, catalog, one)
    assert stale_slots(settings, catalog, "peaks") == [slot]
    assert settle_plan(settings, reader, slot, "again").dropped == ()


def test_the_source_windows_of_a_query_that_never_ran_are_none(settings: Settings) -> None:
    assert SourceWindows.load(settings, "halves") == SourceWindows()


def test_the_gate_of_a_reader_compares_with_the_rows_of_its_source(settings: Settings, catalog: Catalog) -> None:
    reader = catalog.query("peaks")
    for slot in (SLOT, SLOT + HOUR):
        published(settings, catalog, slot)
    settle_plan(settings, reader, SLOT, "run")
    Answer(reader, SLOT, leg="exact").write(settings)
    evidence = load_evidence(settings, reader, SLOT, "run")
    assert evidence.drops is not None
    assert evidence.drops.counted is not None
    assert evidence.drops.counted["rows"].to_pylist() == [2] * 8


AVERAGE = {"name": "x", "agg": "avg", "column": "fare"}
BROKEN = {
    "nobody": ({**READER, "source": {"query": "halfs"}}, "no valid queries/halfs.yaml (did you mean halves?)"),
    "sampled": (
        {**READER, "shed": {"policy": "uniform", "budget": {"fraction": 0.1}}, "measures": [AVERAGE]},
        "a query on a query is exact",
    ),
    "both": ({**READER, "dataset": "trips"}, "write dataset or source, not both"),
    "dataset": (
        {**{key: value for key, value in READER.items() if key != "source"}, "dataset": "halves"},
        "no valid datasets/halves.yaml",
    ),
    "column": ({**READER, "measures": [{"name": "x", "agg": "max", "column": "fair"}]}, "did you mean fare"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_with_a_reader_is_said_in_a_line(tmp_path: Path, case: str) -> None:
    query, message = BROKEN[case]
    catalog = catalog_of(tmp_path, SOURCE, query)
    assert "peaks" not in catalog.queries
    assert "halves" in catalog.queries
    assert message in " ".join(str(problem) for problem in catalog.problems)


def test_a_source_that_is_not_exact_or_drops_by_itself_is_refused_with_the_remedy(tmp_path: Path) -> None:
    sampled = {**SOURCE, "shed": {"policy": "uniform", "budget": {"fraction": 0.1}}}
    problems = catalog_of(tmp_path / "a", sampled, READER).problems
    assert "the error of its rows would be hidden" in str(problems[0])
    dropping = {**SOURCE, "shed": {"policy": "exact", "windows": {"drop": 0.4, "batch": 2}}}
    problems = catalog_of(tmp_path / "b", dropping, READER).problems
    assert "each on 2 of them, 0.36 would be left" in str(problems[0])
    assert "follow: readers" in str(problems[0])


def test_a_circle_is_refused_with_its_path_and_harms_no_other_query(tmp_path: Path) -> None:
    one, two = (
        {**READER, "name": "one", "source": {"query": "two"}},
        {**READER, "name": "two", "source": {"query": "one"}},
    )
    catalog = catalog_of(tmp_path, SOURCE, READER, one, two)
    assert set(catalog.queries) == {"halves", "peaks"}
    assert all("in a circle: " in str(problem) and "->" in str(problem) for problem in catalog.problems)
    assert len(catalog.problems) == 2


def test_a_stage_that_follows_computes_what_its_readers_kept_windows_need(tmp_path: Path, settings: Settings) -> None:
    follower = {**SOURCE, "shed": {"policy": "exact", "windows": {"follow": "readers"}}}
    reader = {**READER, "shed": {"policy": "exact", "windows": {"drop": 0.45, "batch": 1}}}
    catalog = catalog_of(tmp_path, follower, reader)
    assert catalog.problems == ()
    source, peaks = catalog.query("halves"), catalog.query("peaks")
    some = False
    for slot in range(SLOT, SLOT + 48 * HOUR, 2 * HOUR):
        wanted = settle_plan(settings, peaks, slot, "run").stretches
        for one in (slot, slot + HOUR):
            plan = settle_plan(settings, source, one, "run")
            inside = {start for start in plan.windows if wanted.covers(Stretches.of((start, start + 1)))}
            assert set(plan.kept) == inside
            some |= bool(plan.dropped)
    assert some
    assert "follows its readers: peaks" in plan.reason
