"""The check `half_width`: intervals that are too wide stop a slot, and a repair takes the widest keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from expectations.checks import all_checks
from expectations.evidence import Evidence, load_evidence
from expectations.gate import judge
from expectations.repair_plan import plan_repair
from expectations.verdict import Check, Verdict
from jobs.repair import repair
from shedding.config import Settings
from shedding.spec import Catalog
from tests.expectations.answers import SLOT, Answer, make_query

CHECK = next(check for check in all_checks() if check.key == "half_width")
FAILED = Verdict("fares", SLOT, "run", 0, "uniform", 0, 0, (Check("half_width", 1, 0, "fail", False, "x", "x"),))


def evidence_of(settings: Settings, limit: float = 0.2, **answer: Any) -> Evidence:
    query = make_query({"half_width": limit})
    Answer(query, **answer).write(settings)
    return load_evidence(settings, query, SLOT, "run")


def with_widths(evidence: Evidence, widths: list[float]) -> Evidence:
    """The slot with intervals of these half-widths, the same in each of its two windows."""
    value = evidence.answer["fare"].to_numpy()
    rows = evidence.answer
    for name, sign in (("fare_low", -1), ("fare_high", 1)):
        ends = pa.array(value + sign * np.tile(widths, 2))
        rows = rows.set_column(rows.schema.get_field_index(name), name, ends)
    return replace(evidence, answer=rows)


def observed(evidence: Evidence) -> list[float]:
    return CHECK.observe(evidence, evidence.query.measures[0]).tolist()


def test_it_is_the_mean_over_a_windows_keys_relative_to_their_values(settings: Settings) -> None:
    evidence = evidence_of(settings, values=[10.0, 20.0, -5.0, None], widths=1.0)
    assert observed(evidence) == pytest.approx([(0.1 + 0.05 + 0.2) / 3] * 2)  # a key without a value has no interval


def test_near_zero_it_is_relative_to_the_spread_of_the_rows_and_around_zero_one(settings: Settings) -> None:
    answer = {"values": [0.0, 0.001, 10.0, 10.0], "widths": 1.0}
    assert observed(evidence_of(settings, **answer)) == pytest.approx([(1 + 1000 + 0.1 + 0.1) / 4] * 2)
    floored = evidence_of(settings, run={"fare_floor": 4.0}, **answer)
    assert observed(floored) == pytest.approx([(0.25 + 0.25 + 0.1 + 0.1) / 4] * 2)


def test_wide_intervals_stop_the_slot_and_narrow_ones_do_not(settings: Settings) -> None:
    query = make_query({"half_width": 0.2})
    for width, passed in ((1.9, True), (2.1, False)):
        Answer(query, audited=False, widths=width).write(settings)
        verdict = judge(settings, query, SLOT, "run")
        assert verdict.passed == passed
    assert "mean half-width of the intervals over the value 0.21, limit 0.2" in verdict.reason


def test_an_endless_interval_stops_the_slot(settings: Settings) -> None:
    evidence = with_widths(evidence_of(settings), [0.1, 0.1, 0.1, np.inf])
    assert observed(evidence) == [np.inf, np.inf]
    repaired = plan_repair(evidence, FAILED).keys
    assert repaired is not None
    assert repaired["route"].to_pylist() == ["d"]


def test_a_repair_takes_the_fewest_of_the_widest_keys(settings: Settings) -> None:
    evidence = with_widths(evidence_of(settings, limit=0.1), [0.5, 4.0, 0.5, 0.6])
    keys = plan_repair(evidence, FAILED).keys
    assert keys is not None
    assert keys["route"].to_pylist() == ["b"]


def test_a_refused_slot_passes_once_the_blamed_keys_are_exact(settings: Settings) -> None:
    names = [f"k{i:02}" for i in range(40)]
    query = make_query({"half_width": 0.04, "on_failure": "repair"})
    Answer(query, keys=names, run={"seconds": 1.0, "reason": "policy uniform"}).write(settings)
    assert [check.name for check in judge(settings, query, SLOT, "run").failed] == ["half_width"]

    def no_session() -> Any:
        pytest.fail("the repair of an audited slot started a session")

    report = repair(no_session, settings, Catalog({}, {query.name: query}, ()), "fares", SLOT, "run")
    assert (report.keys, report.widened) == (8, False)  # 32 of 40 keys at 0.05 are a mean of 0.04
    assert judge(settings, query, SLOT, "run", attempt=1).passed
