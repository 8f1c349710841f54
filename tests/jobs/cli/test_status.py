"""`sluice status` tells the last verdict, whatever was judged before it."""

from __future__ import annotations

from expectations.gate import judge
from expectations.verdict import decide
from jobs.cli.status import query_status
from shedding.config import Settings
from tests.expectations.answers import SLOT, Answer, make_query


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


def test_what_a_person_approved_is_told_so(settings: Settings) -> None:
    query = make_query()
    Answer(query, errors=[0.9] * 4).write(settings)
    decide(settings, judge(settings, query, SLOT, "run"), True, "Ada")
    assert query_status(settings, "fares")["last_verdict"] == "approved by Ada"
