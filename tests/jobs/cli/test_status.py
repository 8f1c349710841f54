"""`sluice status` tells the last verdict, whatever was judged before it."""

from __future__ import annotations

from pathlib import Path

from expectations.gate import judge
from expectations.verdict import decide
from jobs.cli.status import next_slot, query_status
from shedding.config import Settings
from shedding.spec import load_catalog
from shedding.spec.timeline import slot_name
from tests.expectations.answers import SLOT, Answer, make_query
from tests.jobs.test_stale_slots import HOUR, arrive
from tests.small_specs import write_specs


def test_a_query_that_never_ran_shows_as_empty(settings: Settings) -> None:
    assert query_status(settings, "fares") == {
        "query": "fares", "last_slot": None, "last_verdict": "none", "slots_published": 0
    }  # fmt: skip


def test_of_several_runs_of_a_slot_the_last_verdict_counts(settings: Settings) -> None:
    query = make_query()
    Answer(query, errors=[0.9] * 4).write(settings, "first")
    judge(settings, query, SLOT, "first")
    judge(settings, query, SLOT, "first", attempt=1)
    assert query_status(settings, "fares")["last_verdict"] == "failed: mean_relative_error"
    Answer(query).write(settings, "second")
    judge(settings, query, SLOT, "second")
    assert query_status(settings, "fares")["last_verdict"] == "passed"


def test_the_next_slot_says_what_it_waits_for(settings: Settings, tmp_path: Path) -> None:
    catalog = load_catalog(write_specs(tmp_path / "specs"))
    assert next_slot(settings, catalog, {"query": "fares", "last_slot": None}) == ""
    last = {"query": "fares", "last_slot": slot_name(105 * HOUR)}
    assert "trips nothing has arrived; needs rows up to 1970-01-05T11:00:00Z" in next_slot(settings, catalog, last)
    arrive(settings, "day", "1", [104, 105])
    assert "has come up to 1970-01-05T09:59:59" in next_slot(settings, catalog, last)
    arrive(settings, "more", "2", [106, 107])
    assert next_slot(settings, catalog, last) == ""


def test_what_a_person_approved_is_told_so(settings: Settings) -> None:
    query = make_query()
    Answer(query, errors=[0.9] * 4).write(settings)
    decide(settings, judge(settings, query, SLOT, "run"), True, "Ada")
    assert query_status(settings, "fares")["last_verdict"] == "approved by Ada"
