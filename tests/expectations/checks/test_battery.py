"""What holds for every check; a new one needs no line here but an answer that breaks it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from expectations.checks import GateCheck, all_checks, limits_of
from expectations.evidence import Evidence, load_evidence
from expectations.gate import judge
from expectations.observations import summarise
from expectations.repair_board import Board
from expectations.repair_plan import repairable
from expectations.suite import severity
from shedding.config import Settings
from shedding.keys import align
from shedding.spec.gate import GateSpec
from tests.expectations.answers import SLOT, Answer, make_query

NAMES = [f"k{i:02}" for i in range(40)]
RUN = {"distance": 0.01, "prior_keys": 40.0, "processed_rows": 40, "top_missed": 0.0, "audit_top_missed": 0.0}
PERFECT: dict[str, Any] = {"keys": NAMES, "widths": 0.01, "run": RUN}
BROKEN: dict[str, dict[str, Any]] = {
    "far off": {"errors": [0.9] * 30 + [0.1] * 10, "truth": [90.0] * 36 + [10.0] * 4, "widths": 8.0},
    "costly and moved": {"run": {**RUN, "distance": 0.9, "prior_keys": 4.0, "processed_rows": 900, "top_missed": 9.0}},
    "without keys": {"missing": 9},
    "without numbers": {"values": [float("nan")] * 5 + [10.0] * 35, "truth": [10.0] * 40},
    "twice": {"keys": ["a", "a", *NAMES[2:]], "audited": False},
    "untrusted": {"audited": False, "run": {**RUN, "last_audit": None, "audit_missing_keys": 9.0}},
    "empty": {"keys": []},
    "left out": {"omitted": [f"o{i:03}" for i in range(120)]},
}


def limit_of(key: str) -> Any:
    """A limit that the specification takes for a check, 0.5 where it may be."""
    for limit in ("1 day", 0.5, 0):
        try:
            GateSpec.model_validate({key: limit})
        except ValueError:
            continue
        return limit
    raise AssertionError(key)


TOP = {"by": "fare", "n": 40}
GATE = {check.key: limit_of(check.key) for check in all_checks() if check.stated}
CHECKS = {check.key: check for check in limits_of(make_query(GATE, top=TOP))}
"""Those of queries that shed rows; what kept windows must be is in `test_window_checks.py`."""


@pytest.fixture(scope="module")
def slots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Evidence]:
    """The evidence of a perfect slot, audited and not, and of the broken ones."""
    perfect = {"perfect": PERFECT, "perfect without an audit": {**PERFECT, "audited": False}}
    stories = {**perfect, **{name: {**PERFECT, **change} for name, change in BROKEN.items()}}
    return {name: evidence_of(tmp_path_factory.mktemp("slot"), answer) for name, answer in stories.items()}


def evidence_of(directory: Path, answer: dict[str, Any]) -> Evidence:
    query, settings = make_query(GATE, top=TOP), Settings(warehouse=str(directory))
    Answer(query, **answer).write(settings)
    return load_evidence(settings, query, SLOT, "run")


def passes(check: GateCheck, evidence: Evidence) -> bool:
    """Whether the check passes, by its own column and limit."""
    limit, batch = limits_of(evidence.query)[check], summarise(evidence)
    if not check.judges(batch):
        return True
    finding = check.finding(evidence, batch, limit)
    return finding.observed <= finding.limit if check.shape == "column_max" else finding.observed >= finding.limit


def repaired(evidence: Evidence, board: Board) -> Evidence:
    """The slot with the chosen keys' rows taken from its exact leg."""
    assert evidence.exact is not None
    _, (rows, exact, chosen) = align([evidence.answer, evidence.exact, board.chosen()], evidence.query.group_by)
    kept = evidence.answer.filter(pa.array(~np.isin(rows, chosen)))
    return replace(evidence, answer=pa.concat_tables([kept, evidence.exact.filter(pa.array(np.isin(exact, chosen)))]))


every_check = pytest.mark.parametrize("key", CHECKS)


def test_each_key_is_one_checks_and_every_limit_of_the_gate_is_a_checks() -> None:
    assert len({check.key for check in all_checks()}) == len(all_checks())
    options = {"allow_empty", "warn", "on_failure", "approval_timeout", "risk"}
    assert {key for key, check in CHECKS.items() if check.stated} == set(GateSpec.model_fields) - options


def test_what_always_holds_comes_first_and_the_rows_before_all() -> None:
    assert next(iter(CHECKS)) == "rows"
    stated = [check.stated for check in CHECKS.values()]
    assert stated == sorted(stated)
    assert [key for key, check in CHECKS.items() if check.stated] == [
        key for key in GateSpec.model_fields if key in CHECKS
    ]


@every_check
def test_it_says_what_it_is_for_people(key: str) -> None:
    check = CHECKS[key]
    assert check.words
    assert check.__doc__
    assert check.sentence.endswith(".")
    assert ("$limit" in check.sentence) or not check.stated
    limit = limits_of(make_query(GATE, top=TOP))[check]
    assert check.show(limit)


@every_check
def test_a_perfect_answer_passes(slots: dict[str, Evidence], key: str) -> None:
    assert passes(CHECKS[key], slots["perfect"])
    assert passes(CHECKS[key], slots["perfect without an audit"])


@every_check
def test_some_broken_answer_does_not_pass(slots: dict[str, Evidence], key: str) -> None:
    assert any(not passes(CHECKS[key], slots[story]) for story in BROKEN)


@every_check
def test_it_observes_one_number_a_window_finite_or_nothing(slots: dict[str, Evidence], key: str) -> None:
    check = CHECKS[key]
    for evidence in slots.values():
        columns = check.columns(evidence, evidence.query.measures[0])
        assert {len(values) for values in columns.values()} == {len(evidence.starts)}
    for story in ("perfect", "perfect without an audit"):
        observed = check.observe(slots[story], slots[story].query.measures[0])
        assert observed.dtype == np.float64
        assert not np.isinf(observed).any()


@every_check
def test_without_an_exact_leg_a_check_that_needs_one_has_nothing_to_look_at(
    slots: dict[str, Evidence], key: str
) -> None:
    check, evidence = CHECKS[key], slots["perfect without an audit"]
    if check.needs_exact:
        unmeasured = replace(evidence, runs=evidence.runs.drop_columns(["top_missed"]))  # a run that had no exact leg
        assert not check.judges(summarise(unmeasured))
        assert check.kind(evidence) == "measured"


@pytest.mark.parametrize("check", repairable(), ids=lambda check: check.key)
def test_it_blames_no_key_where_it_passes(slots: dict[str, Evidence], check: GateCheck) -> None:
    for story in ("perfect", "perfect without an audit"):
        board = Board(slots[story])
        check.blame(board, limits_of(slots[story].query)[check])
        assert not board.repaired.any()
        assert check.fixed(board, limits_of(slots[story].query)[check])


@pytest.mark.parametrize("check", repairable(), ids=lambda check: check.key)
def test_once_the_keys_it_blames_are_exact_it_passes(slots: dict[str, Evidence], check: GateCheck) -> None:
    for story in ("far off", "without numbers"):
        evidence, board = slots[story], Board(slots[story])
        check.blame(board, limits_of(evidence.query)[check])
        assert board.repaired.any() == (not passes(check, evidence))
        assert passes(check, repaired(evidence, board))


@every_check
def test_a_warning_never_stops_a_slot_and_what_always_holds_cannot_be_one(key: str) -> None:
    check = CHECKS[key]
    if check.stated:
        assert severity(make_query({**GATE, "warn": [key]}, top=TOP).gate, check) == "warn"
    else:
        with pytest.raises(ValueError, match="which is no check"):
            make_query({**GATE, "warn": [key]}, top=TOP)


@pytest.mark.parametrize("story", ["far off", "costly and moved"])
def test_where_all_only_warn_a_broken_answer_is_published(settings: Settings, story: str) -> None:
    for warn in ([], sorted(GATE)):
        query = make_query({**GATE, "warn": warn}, top=TOP)
        Answer(query, **{**PERFECT, **BROKEN[story]}).write(settings)
        verdict = judge(settings, query, SLOT, "run")
        assert verdict.passed == bool(warn)
        assert [check.name for check in verdict.checks if not check.passed]
        assert {check.name for check in verdict.checks} == set(CHECKS)
