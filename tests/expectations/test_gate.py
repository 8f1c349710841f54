"""The gate on answers made by hand: what passes, what stops a slot, and what is recorded."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from expectations import data_docs as docs
from expectations import gate
from expectations.checks.coverage import coverage_floor
from expectations.gate import judge
from expectations.verdict import Verdict, read_verdict
from shedding.config import Settings
from shedding.errors import DataError
from shedding.spec.timeline import slot_name
from shedding.tables import Table
from tests.expectations.answers import HOUR, SLOT, Answer, make_query

EVERY = {
    "mean_relative_error": 0.1, "p95_relative_error": 0.2, "worst_relative_error": 0.3, "missing_keys": 0,
    "coverage": 0.9, "processed_over_budget": 1.2, "drift": 0.5, "row_count_change": 0.5, "audit_age": "1 day",
}  # fmt: skip
RUN = {"distance": 0.1, "prior_keys": 4.0}


def verdict_on(settings: Settings, limits: dict[str, Any] | None = None, **answer: Any) -> Verdict:
    query = make_query(EVERY if limits is None else limits)
    Answer(query, **{"run": RUN, **answer}).write(settings)
    return judge(settings, query, SLOT, "run")


def failed(verdict: Verdict) -> list[str]:
    return [check.name for check in verdict.checks if not check.passed]


def test_a_good_answer_passes_every_check_of_the_block(settings: Settings) -> None:
    verdict = verdict_on(settings, errors=[0.01, 0.02, 0.03, 0.04])
    assert verdict.passed
    assert {check.name for check in verdict.checks} == {*EVERY, "rows", "values", "unique_keys", "last_audit"}
    assert verdict.checks[0].name == "rows"


@pytest.mark.parametrize(
    ("story", "answer", "stopped_by"),
    [
        ("budget exceeded on one key", {"errors": [0.01, 0.01, 0.01, 0.31]}, [
            "p95_relative_error", "worst_relative_error"]),
        ("budget exceeded on all", {"errors": [0.15] * 4}, ["mean_relative_error"]),
        ("a key is missing", {"missing": 1}, [
            "mean_relative_error", "p95_relative_error", "worst_relative_error", "missing_keys"]),
        ("an empty slot", {"keys": []}, ["rows"]),
        ("NaN in a value", {"values": [1.0, 2.0, float("nan"), 4.0]}, ["values"]),
        ("infinity in a value", {"values": [1.0, 2.0, float("inf"), 4.0]}, ["values"]),
        ("NaN in an error", {"errors": [0.01, float("nan"), 0.01, 0.01]}, ["values"]),
        ("an error nobody knows", {"errors": [0.01, None, 0.01, 0.01]}, ["values"]),
        ("an infinite error", {"errors": [0.01, float("inf"), 0.01, 0.01]}, [
            "mean_relative_error", "p95_relative_error", "worst_relative_error"]),
        ("a key twice", {"keys": ["a", "b", "b", "c"], "audited": False}, ["unique_keys"]),
        ("too many rows processed", {"run": {**RUN, "processed_rows": 130}}, ["processed_over_budget"]),
        ("a pool over its budget", {"run": {**RUN, "union_rows": 130.0}}, ["processed_over_budget"]),
        ("the keys' frequencies moved", {"run": {**RUN, "distance": 0.6}}, ["drift"]),
        ("half of the prior's keys are gone", {"run": {**RUN, "prior_keys": 10.0}}, ["row_count_change"]),
    ],
)  # fmt: skip
def test_each_breach_stops_the_slot_and_is_named(
    settings: Settings, story: str, answer: dict[str, Any], stopped_by: list[str]
) -> None:
    verdict = verdict_on(settings, **answer)
    assert not verdict.passed, story
    assert sorted(failed(verdict)) == sorted(stopped_by), story
    assert "refused by the gate" in verdict.reason


def test_an_empty_slot_passes_where_the_owner_allows_it(settings: Settings) -> None:
    verdict = verdict_on(settings, {**EVERY, "allow_empty": True}, keys=[])
    assert verdict.passed
    assert [check.name for check in verdict.checks] == ["rows"]


def test_an_empty_slot_that_misses_keys_is_not_empty(settings: Settings) -> None:
    verdict = verdict_on(settings, {**EVERY, "allow_empty": True}, keys=[], missing=3)
    assert "missing_keys" in failed(verdict)


@pytest.mark.parametrize("aggregate", ["avg", "sum"])
def test_a_key_whose_values_are_all_null_has_no_value_and_is_whole(settings: Settings, aggregate: str) -> None:
    query = make_query(EVERY, measures=[{"name": "fare", "agg": aggregate, "column": "fare_amount"}])
    Answer(query, values=[1.0, None, 3.0, 4.0], errors=[0.0, None, 0.0, 0.0], run=dict(RUN)).write(settings)
    assert judge(settings, query, SLOT, "run").passed


def test_a_null_key_is_a_group_like_any_other(settings: Settings) -> None:
    keys = [None, "a", "b", "c"]
    assert verdict_on(settings, keys=keys).passed
    assert not verdict_on(settings, keys=keys, truth=[99.0] * 4).passed


def test_a_check_that_only_warns_does_not_stop_the_slot(settings: Settings) -> None:
    verdict = verdict_on(settings, {**EVERY, "warn": ["mean_relative_error"]}, errors=[0.15] * 4)
    assert verdict.passed
    assert failed(verdict) == ["mean_relative_error"]
    assert next(c for c in verdict.checks if c.name == "mean_relative_error").severity == "warn"


def test_what_the_block_does_not_state_is_not_judged(settings: Settings) -> None:
    verdict = verdict_on(settings, {"mean_relative_error": 0.1}, errors=[0.0, 0.0, 0.0, 0.39])
    assert verdict.passed
    always = {"rows", "values", "unique_keys", "last_audit"}
    assert {c.name for c in verdict.checks} == {*always, "mean_relative_error", "missing_keys"}


def test_errors_are_measured_on_audited_slots_and_estimated_on_the_others(settings: Settings) -> None:
    for audited, kind in ((True, "measured"), (False, "estimated")):
        verdict = verdict_on(settings, audited=audited)
        kinds = {c.name: c.kind for c in verdict.checks}
        assert kinds["mean_relative_error"] == kinds["missing_keys"] == kind
        coverage = next(c for c in verdict.checks if c.name == "coverage")
        assert (coverage.observed is not None) == audited
        assert ("not judged" in coverage.detail) != audited


def test_every_check_that_applies_has_its_row_also_where_it_found_nothing_to_look_at(settings: Settings) -> None:
    verdict = verdict_on(settings, run={})  # no slot before, no audit before
    rows = {row["check"]: row for row in Table(settings.table("verdicts", "fares")).read().to_pylist()}
    assert {*EVERY, "rows", "values", "unique_keys", "last_audit"} == set(rows)
    assert verdict.passed
    for idle in ("drift", "row_count_change", "last_audit"):
        assert (rows[idle]["observed"], rows[idle]["passed"]) == (None, True)
        assert "not judged" in rows[idle]["detail"]
    for row in rows.values():
        assert row["severity"] == "fail"
        assert row["kind"] in ("measured", "estimated", "structural")
        assert row["limit"] is not None


def test_coverage_too_low_stops_the_slot_only_where_chance_does_not_explain_it(settings: Settings) -> None:
    few = verdict_on(settings, keys=list("abcd"), truth=[10.0, 10.0, 10.0, 99.0])
    assert few.passed  # 6 of 8 intervals at a limit of 0.9: one slot in twenty-five is that unlucky
    keys = [f"k{i}" for i in range(400)]
    truth = [10.0] * 300 + [99.0] * 100
    many = verdict_on(settings, keys=keys, truth=truth, run={**RUN, "prior_keys": 400.0})
    assert failed(many) == ["coverage"]
    assert next(c for c in many.checks if c.name == "coverage").observed == pytest.approx(0.75)


def test_an_interval_without_width_that_misses_the_exact_value_is_a_miss(settings: Settings) -> None:
    keys = [f"k{i}" for i in range(100)]
    told = {"keys": keys, "widths": 0.0, "run": {**RUN, "prior_keys": 100.0}}
    right = verdict_on(settings, truth=[10.0] * 100, **told)
    assert right.passed
    wrong = verdict_on(settings, truth=[10.5] * 100, errors=[0.05] * 100, **told)
    assert failed(wrong) == ["coverage"]


def test_an_old_audit_stops_a_slot_that_relies_on_it(settings: Settings) -> None:
    import datetime as dt

    old = dt.datetime.fromtimestamp(SLOT / 1e6, tz=dt.UTC) - dt.timedelta(hours=25)
    assert failed(verdict_on(settings, audited=False, run={**RUN, "last_audit": old})) == ["audit_age"]
    assert failed(verdict_on(settings, audited=False, run={**RUN, "last_audit": None})) == ["audit_age"]
    assert verdict_on(settings, audited=True, run={**RUN, "last_audit": old}).passed


@pytest.mark.parametrize(
    "audit",
    [
        {"fare_audit_coverage": 0.8, "fare_audit_estimates": 1000.0},
        {"fare_audit_coverage": 0.5, "fare_audit_estimates": 40.0},
    ],
)
def test_an_audit_whose_intervals_did_not_cover_counts_for_the_slots_after_it(
    settings: Settings, audit: dict[str, float]
) -> None:
    verdict = verdict_on(settings, audited=False, run={**RUN, **audit})
    assert failed(verdict) == ["last_audit"]
    assert verdict_on(settings, audited=True, run={**RUN, **audit}).passed  # its own errors are measured


def test_an_audits_errors_count_through_the_bound_alone(settings: Settings) -> None:
    assert verdict_on(settings, audited=False, run={**RUN, "fare_audit_mean_error": 0.11}).passed


@pytest.mark.parametrize("warned", [False, True])
def test_an_audit_that_missed_keys_failed(settings: Settings, warned: bool) -> None:
    limits = {**EVERY, "warn": ["missing_keys"]} if warned else EVERY
    verdict = verdict_on(settings, limits, audited=False, run={**RUN, "audit_missing_keys": 1.0})
    assert failed(verdict) == ([] if warned else ["last_audit"])


def top_verdict(settings: Settings, limit: int, **answer: Any) -> Verdict:
    query = make_query({"top_missed": limit}, top={"by": "fare", "n": 4})
    Answer(query, **answer).write(settings)
    return judge(settings, query, SLOT, "run")


def test_keys_missed_of_the_true_top_stop_an_audited_slot_and_those_that_rely_on_it(settings: Settings) -> None:
    refused = top_verdict(settings, 1, run={"top_missed": 2.0})
    assert failed(refused) == ["top_missed"]
    assert next(check.kind for check in refused.checks if check.name == "top_missed") == "measured"
    assert top_verdict(settings, 2, run={"top_missed": 2.0}).passed
    assert failed(top_verdict(settings, 1, audited=False, run={"audit_top_missed": 2.0})) == ["last_audit"]
    trusted = top_verdict(settings, 2, audited=False, run={"audit_top_missed": 2.0})
    assert trusted.passed
    assert next(check.observed for check in trusted.checks if check.name == "top_missed") is None
    assert failed(top_verdict(settings, 2, audited=False)) == ["last_audit"]  # nobody measured it


def test_a_slot_that_knows_of_no_audit_is_not_trusted(settings: Settings) -> None:
    unknown = {"fare_audit_mean_error": None, "fare_audit_p95_error": None, "fare_audit_worst_error": None}
    verdict = verdict_on(settings, audited=False, run={**RUN, **unknown})
    assert failed(verdict) == ["last_audit"]
    assert "unknown" in verdict.reason


def test_an_exact_answer_is_not_judged_by_the_shed_budget(settings: Settings) -> None:
    run = {**RUN, "processed_rows": 1000, "fare_audit_mean_error": 9.0}
    verdict = verdict_on(settings, leg="exact", audited=False, run=run)
    assert verdict.passed
    assert verdict.leg == "exact"


def test_the_verdict_is_kept_one_row_a_check_and_judging_again_replaces_it(settings: Settings) -> None:
    verdict = verdict_on(settings, errors=[0.15] * 4)
    assert read_verdict(settings, "fares", SLOT, "run") == verdict
    again = verdict_on(settings)
    assert again.passed
    rows = Table(settings.table("verdicts", "fares")).read()
    assert rows.num_rows == len(again.checks)
    assert read_verdict(settings, "fares", SLOT, "run").passed


def test_attempts_and_runs_are_kept_beside_each_other(settings: Settings) -> None:
    query = make_query(EVERY)
    Answer(query, run=RUN, errors=[0.15] * 4).write(settings, "it's run 1")
    judge(settings, query, SLOT, "it's run 1")
    Answer(query, run=RUN).write(settings, "it's run 1")
    judge(settings, query, SLOT, "it's run 1", attempt=1)
    assert not read_verdict(settings, "fares", SLOT, "it's run 1", attempt=0).passed
    assert read_verdict(settings, "fares", SLOT, "it's run 1").attempt == 1
    with pytest.raises(DataError, match="let the gate judge it first"):
        read_verdict(settings, "fares", SLOT + HOUR, "it's run 1")


def test_judging_a_run_from_the_start_forgets_its_later_attempts(settings: Settings) -> None:
    query = make_query(EVERY)
    Answer(query, run=RUN).write(settings, "cleared")
    for attempt in (0, 1, 0):
        judge(settings, query, SLOT, "cleared", attempt=attempt)
    assert read_verdict(settings, "fares", SLOT, "cleared").attempt == 0


def test_the_verdict_names_the_versions_it_judged(settings: Settings) -> None:
    verdict = verdict_on(settings)
    assert verdict.results_version == Table(settings.table("results", "fares")).version()
    assert verdict.runs_version == Table(settings.table("runs", "fares")).version()


def test_the_rows_of_the_run_that_is_judged_are_those_it_wrote_itself(settings: Settings) -> None:
    query = make_query(EVERY)
    ours = Answer(query, run=RUN, values=[12.0] * 4, truth=[12.0] * 4)
    ours.write(settings)
    judged = judge(settings, query, SLOT, "run")
    theirs = Answer(query, run=RUN, values=[float("nan")] * 4).rows("uniform")
    newest = Table(settings.table("results", "fares"), ("slot", "leg")).replace(theirs, {"slot": slot_name(SLOT)}, {})
    again = judge(settings, query, SLOT, "run")  # their run rows are not there yet
    assert again.passed
    assert again.results_version == judged.results_version < newest


def test_a_query_keeps_the_pages_written_last(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs, "KEPT", 2)
    pages = []
    for number, slot in enumerate((SLOT, SLOT + HOUR, SLOT - HOUR)):
        query = make_query(EVERY)
        Answer(query, run=RUN, slot=slot).write(settings)
        pages.append(settings.docs / judge(settings, query, slot, "run").docs)
        os.utime(pages[-1], (number, number))
    assert [page.exists() for page in pages] == [False, True, True]
    index = (settings.docs / "fares" / "index.html").read_text(encoding="utf-8")
    assert [page.name in index for page in pages] == [False, True, True]


def test_the_page_in_data_docs_reads_like_the_specification(settings: Settings) -> None:
    verdict = verdict_on(settings, errors=[0.15] * 4)
    page = (settings.docs / verdict.docs).read_text(encoding="utf-8")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))
    assert "Mean relative error over the keys is at most 0.1 in every window and measure." in text
    assert "mean relative error 0.15, limit 0.1" in text
    assert "[measured]" in text
    assert 'href="index.html"' in page
    assert "../index.html" not in page
    index = (settings.docs / "fares" / "index.html").read_text(encoding="utf-8")
    assert Path(verdict.docs).name in index
    assert "failed" in index


def test_a_page_loads_and_runs_nothing(settings: Settings) -> None:
    page = (settings.docs / verdict_on(settings, errors=[0.15] * 4).docs).read_text(encoding="utf-8")
    doors = r"<script|<link|<iframe|<object|<embed|<base|\bsrc\s*=|url\(|@import|\bon\w+\s*=|https?:|javascript:"
    assert re.findall(doors, page, re.IGNORECASE) == []


def test_runs_that_lack_a_window_are_refused_with_the_remedy(settings: Settings) -> None:
    Answer(make_query()).write(settings)
    with pytest.raises(DataError, match="2 windows, the slot keeps 4; run `sluice run fares"):
        judge(settings, make_query(window={"size": "15 minutes"}), SLOT, "run")


def test_a_check_that_cannot_be_evaluated_raises_and_records_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = gate.summarise
    monkeypatch.setattr(gate, "summarise", lambda e: whole(e).assign(drift=["x", "y"]).astype({"drift": object}))
    query = make_query({"drift": 0.5})
    Answer(query, run=RUN).write(settings)
    with pytest.raises((DataError, ValueError)):
        judge(settings, query, SLOT, "run")
    assert not Table(settings.table("verdicts", "fares")).exists()


def test_a_scalar_query_has_one_row_a_window(settings: Settings) -> None:
    query = make_query(EVERY, group_by=[])
    Answer(query, keys=["only"], run={"prior_keys": 1.0}).write(settings)
    assert judge(settings, query, SLOT, "run").passed


def test_the_floor_of_coverage_nears_the_limit_as_intervals_grow() -> None:
    floors = [coverage_floor(n, 0.9) for n in (10, 100, 1_000, 10_000, 1_000_000)]
    assert floors == sorted(floors)
    assert floors[0] == pytest.approx(0.6)
    assert 0.899 < floors[-1] < 0.9


def test_an_estimate_below_its_limit_is_refused_where_its_bound_is_above(settings: Settings) -> None:
    query = make_query({"mean_relative_error": 0.1})
    Answer(query, audited=False, errors=[0.09] * 4).write(settings)
    check = next(c for c in judge(settings, query, SLOT, "run").checks if c.name == "mean_relative_error")
    assert not check.passed
    assert check.estimate == pytest.approx(0.09)
    assert check.observed is not None
    assert check.observed > 0.1
    assert "bound at risk 0.05 by audits, estimate 0.09" in check.detail


def test_a_higher_risk_publishes_what_a_lower_one_refuses(settings: Settings) -> None:
    passed = {}
    for risk in (0.01, 0.4):
        query = make_query({"mean_relative_error": 0.1, "risk": risk})
        Answer(query, keys=[f"k{i}" for i in range(50)], audited=False, errors=[0.085] * 50).write(settings)
        passed[risk] = judge(settings, query, SLOT, "run").passed
    assert passed == {0.01: False, 0.4: True}
