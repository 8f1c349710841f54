"""Which keys a repair takes: enough that the slot passes, and few."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expectations.evidence import Evidence, judged_errors, load_evidence
from expectations.observations import summarise
from expectations.repair_plan import Repair, plan_repair
from expectations.verdict import Check, Verdict
from shedding.config import Settings
from shedding.estimates.accuracy import STATISTICS
from tests.expectations.answers import SLOT, Answer, make_query


def evidence_of(settings: Settings, gate: dict[str, Any], **answer: Any) -> Evidence:
    query = make_query(gate)
    Answer(query, **answer).write(settings)
    return load_evidence(settings, query, SLOT, "run")


def plan(evidence: Evidence, *failed: str) -> Repair:
    checks = tuple(Check(name, 1.0, 0.0, "fail", False, "measured", name) for name in failed)
    return plan_repair(evidence, Verdict("fares", SLOT, "run", 0, evidence.leg, 0, 0, checks))


def keys(repair: Repair) -> list[str]:
    assert repair.keys is not None, repair.why
    return repair.keys["route"].to_pylist()


def test_the_worst_check_takes_every_key_over_its_limit(settings: Settings) -> None:
    evidence = evidence_of(settings, {"worst_relative_error": 0.3}, errors=[0.1, 0.4, 0.2, 0.5])
    assert keys(plan(evidence, "worst_relative_error")) == ["b", "d"]


@pytest.mark.parametrize("statistic", STATISTICS)
def test_estimated_errors_are_fixed_until_their_bound_is_within_the_limit(settings: Settings, statistic: str) -> None:
    names, found = [f"k{i:02}" for i in range(40)], [0.02 * (1 + i % 7) for i in range(40)]
    check = f"{statistic}_relative_error"
    gate = {"mean_relative_error": None, check: 0.09 if statistic == "mean" else 0.4}
    evidence = evidence_of(settings, gate, keys=names, errors=found, audited=False)
    assert summarise(evidence)[check].max() > gate[check]
    taken = {int(key[1:]) for key in keys(plan(evidence, check))}
    left = np.array([0.0 if i in taken else e for i, e in enumerate(found)])
    laws = evidence.laws["fare"][0]
    assert 0 < len(taken) < 20
    assert getattr(judged_errors(left, 0, laws, 0.05), statistic) <= gate[check]


def test_of_equal_errors_the_mean_check_takes_the_keys_that_read_the_fewest_rows(settings: Settings) -> None:
    names, gate = [f"k{i:02}" for i in range(40)], {"mean_relative_error": 0.2}
    evidence = evidence_of(settings, gate, keys=names, errors=[0.2] * 40, audited=False)
    place = evidence.answer.schema.get_field_index("population")
    rows = evidence.answer.set_column(place, "population", pa.array([float(1 + i) for i in range(40)] * 2))
    chosen = keys(plan(replace(evidence, answer=rows), "mean_relative_error"))
    assert 0 < len(chosen) < 30
    assert chosen == names[: len(chosen)]


def test_the_mean_check_takes_the_fewest_of_the_worst_keys(settings: Settings) -> None:
    evidence = evidence_of(settings, {"mean_relative_error": 0.1}, errors=[0.05, 0.6, 0.05, 0.07])
    assert keys(plan(evidence, "mean_relative_error")) == ["b"]


def test_a_key_repaired_for_one_check_is_not_paid_twice(settings: Settings) -> None:
    gate = {"mean_relative_error": 0.1, "worst_relative_error": 0.3}
    evidence = evidence_of(settings, gate, errors=[0.05, 0.6, 0.05, 0.07])
    assert keys(plan(evidence, "mean_relative_error", "worst_relative_error")) == ["b"]


def test_broken_values_and_missing_keys_are_repaired(settings: Settings) -> None:
    evidence = evidence_of(settings, {}, values=[1.0, float("nan"), 3.0, 4.0], truth=[1.0, 2.0, 3.0, 4.0])
    assert keys(plan(evidence, "values")) == ["b"]


def test_missing_keys_come_from_the_exact_leg_and_without_one_from_the_whole_slot(settings: Settings) -> None:
    audited = evidence_of(settings, {})
    kept = audited.answer.filter(np.array(audited.answer["route"].to_pylist()) != "c")
    assert keys(plan(replace(audited, answer=kept), "missing_keys")) == ["c"]
    assert plan(evidence_of(settings, {}, missing=1, audited=False), "missing_keys").keys is None


def test_a_key_shown_without_the_value_it_should_have_counts_once_and_is_repaired_alone(settings: Settings) -> None:
    shown = {"values": [1.0, None, 3.0, 4.0], "errors": [0.1, 1.0, 0.1, 0.0], "missing": 1, "audited": False}
    evidence = evidence_of(settings, {"missing_keys": 0}, **shown)
    batch = summarise(evidence)
    assert batch["missing_keys"].tolist() == [1, 1]  # two windows
    assert batch["mean_estimate"].tolist() == pytest.approx([0.3, 0.3])
    assert keys(plan(evidence, "missing_keys")) == ["b"]


def test_missing_keys_that_nobody_can_name_keep_the_errors_over_budget_and_take_the_whole_slot(
    settings: Settings,
) -> None:
    evidence = evidence_of(
        settings, {"worst_relative_error": 0.3}, errors=[0.4, 0.1, 0.1, 0.1], missing=1, audited=False
    )
    assert "only its rows know which" in plan(evidence, "worst_relative_error").why
    lenient = evidence_of(settings, {"p95_relative_error": 2.0}, errors=[3.0, 0.1, 0.1, 0.1], missing=1, audited=False)
    assert keys(plan(lenient, "p95_relative_error")) == ["a"]


def test_uncovered_keys_are_repaired_until_the_rest_suffices(settings: Settings) -> None:
    names = [f"k{i:03}" for i in range(200)]
    truth = [10.0] * 160 + [99.0] * 40
    evidence = evidence_of(settings, {"coverage": 0.9}, keys=names, truth=truth)
    repaired = keys(plan(evidence, "coverage"))
    assert set(repaired) < set(names[160:])
    assert 5 < len(repaired) < 40


@pytest.mark.parametrize("check", ["last_audit", "drift", "audit_age", "rows", "processed_over_budget", "unique_keys"])
def test_what_no_key_is_to_blame_for_takes_the_whole_slot(settings: Settings, check: str) -> None:
    repair = plan(evidence_of(settings, {}), check)
    assert repair.keys is None
    assert check in repair.why


def test_a_repair_of_most_rows_becomes_the_exact_leg(settings: Settings) -> None:
    evidence = evidence_of(settings, {"worst_relative_error": 0.3}, errors=[0.4, 0.4, 0.4, 0.1])
    repair = plan(evidence, "worst_relative_error")
    assert repair.keys is None
    assert "75%" in repair.why


def test_a_null_key_can_be_repaired(settings: Settings) -> None:
    evidence = evidence_of(
        settings, {"worst_relative_error": 0.3}, keys=["a", None, "c", "d"], errors=[0.1, 0.4, 0.1, 0.1]
    )
    assert keys(plan(evidence, "worst_relative_error")) == [None]


errors = st.lists(st.floats(0, 3, allow_subnormal=False), min_size=4, max_size=40)


@pytest.mark.slow
@given(errors, st.floats(0.01, 0.5), st.floats(1, 4))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_after_the_repair_mean_and_p95_are_within_budget_and_no_fewer_of_the_worst_would_do(
    found: list[float], mean: float, wider: float
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        here = Settings(warehouse=directory)
        gate = {"mean_relative_error": mean, "p95_relative_error": mean * wider}
        evidence = evidence_of(here, gate, keys=[f"k{i:02}" for i in range(len(found))], errors=found)
        for statistic in ("mean", "p95"):
            check = f"{statistic}_relative_error"
            limit = gate[check]
            if getattr(judged_errors(np.array(found), 0, None, 0.05), statistic) <= limit:
                continue
            repair = plan(evidence, check)
            if repair.keys is None:
                continue
            taken = {int(key[1:]) for key in keys(repair)}
            left = np.array([0.0 if i in taken else e for i, e in enumerate(found)])
            assert getattr(judged_errors(left, 0, None, 0.05), statistic) <= limit * (1 + 1e-9)
            spared = sorted(range(len(found)), key=lambda i: -found[i])[: len(taken) - 1]
            fewer = np.array([0.0 if i in spared else e for i, e in enumerate(found)])
            assert getattr(judged_errors(fewer, 0, None, 0.05), statistic) > limit * (1 - 1e-9)
