"""A repair learns from the keys that it computes: where they were worse than claimed, more are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from expectations.evidence import Evidence, load_evidence
from expectations.repair_plan import plan_repair
from expectations.repair_rounds import Repaired, repair_in_rounds, with_exact_rows
from expectations.verdict import Check, Verdict
from shedding.config import Settings
from shedding.keys import align
from shedding.risk import REPAIRED
from tests.expectations.answers import SLOT, Answer, make_query

NAMES = [f"k{i:02}" for i in range(60)]
VERDICT = Verdict(
    "fares", SLOT, "run", 0, "uniform", 0, 0, (Check("mean_relative_error", 1.0, 0.0, "fail", False, "", ""),)
)


def judged(settings: Settings, *, audited: bool = False, missing: int = 0, nulls: int = 0) -> Evidence:
    """Sixty keys that claim errors of .05 to .35, more than a limit of .15 bears; some may have no value."""
    claimed: list[float | None] = [0.05 * (1 + i % 7) for i in range(60)]
    values: list[float | None] = [None if i < nulls else 10.0 for i in range(60)]
    claimed = [1.0 if value is None else error for value, error in zip(values, claimed, strict=True)]
    query = make_query({"mean_relative_error": 0.15})
    Answer(query, keys=NAMES, errors=claimed, values=values, audited=audited, missing=missing).write(settings)
    return load_evidence(settings, query, SLOT, "run")


def repaired(evidence: Evidence, times: float) -> tuple[Repaired, list[int]]:
    """The repair where every key is wrong by so many times its claim, and the keys of each round."""
    rounds = list[int]()

    def exact_rows(keys: pa.Table) -> pa.Table:
        rounds.append(keys.num_rows)
        return truth(evidence, times, keys)

    return repair_in_rounds(evidence, VERDICT, plan_repair(evidence, VERDICT), exact_rows), rounds


def truth(evidence: Evidence, times: float, keys: pa.Table) -> pa.Table:
    rows = evidence.answer
    error = times * rows["fare_error"].to_numpy()
    fare = pa.array(10.0 / (1 + error))
    for name in ("fare", "fare_low", "fare_high"):
        rows = rows.set_column(rows.column_names.index(name), name, fare)
    rows = rows.set_column(rows.column_names.index("fare_error"), "fare_error", pa.array(np.zeros(len(rows))))
    _, (here, wanted) = align([rows, keys], ["route"])
    return rows.filter(pa.array(np.isin(here, wanted)))


def test_keys_that_were_as_wrong_as_claimed_end_the_repair_with_its_first_round(settings: Settings) -> None:
    found, rounds = repaired(judged(settings), times=1.0)
    assert found.repair.keys is not None
    assert rounds == [found.repair.keys.num_rows]


def test_keys_that_were_worse_than_claimed_take_more_keys_until_the_rest_is_bounded(settings: Settings) -> None:
    first, _ = repaired(judged(settings), times=1.0)
    found, rounds = repaired(judged(settings), times=1.8)
    assert first.repair.keys is not None
    assert len(rounds) > 1
    if found.repair.keys is not None:
        assert found.repair.keys.num_rows == sum(rounds) > first.repair.keys.num_rows
        assert len(set(found.repair.keys["route"].to_pylist())) == found.repair.keys.num_rows
        assert max(window.mean for window in found.evidence.judged["fare"]) <= 0.15


def test_keys_that_were_wrong_beyond_measure_take_the_whole_slot(settings: Settings) -> None:
    found, _ = repaired(judged(settings), times=40.0)
    assert found.repair.keys is None


def test_the_run_says_that_repaired_keys_decided(settings: Settings) -> None:
    found, _ = repaired(judged(settings), times=1.0)
    assert set(found.evidence.runs["fare_decided_by"].to_pylist()) == {REPAIRED}


def test_measured_errors_are_repaired_in_one_round_and_teach_nothing(settings: Settings) -> None:
    evidence = judged(settings, audited=True)
    found, rounds = repaired(evidence, times=30.0)
    assert len(rounds) == 1
    assert found.evidence.runs.equals(evidence.runs)


@pytest.mark.parametrize("nulls", [0, 3])
def test_exact_rows_fill_nulls_and_leave_absent_keys_absent(settings: Settings, nulls: int) -> None:
    evidence = judged(settings, missing=nulls + 2, nulls=nulls)
    assert evidence.absent.tolist() == [2, 2]
    keys = pa.table({"route": NAMES[:10]})
    after = with_exact_rows(evidence, keys, truth(evidence, 1.0, keys))
    assert after.absent.tolist() == [2, 2]
    assert after.missing.tolist() == [2, 2]
    assert after.answer.num_rows == evidence.answer.num_rows


def test_a_key_whose_rows_are_not_found_goes_and_ends_the_repair(settings: Settings) -> None:
    evidence = judged(settings)
    rounds = list[int]()

    def exact_rows(keys: pa.Table) -> pa.Table:
        rounds.append(keys.num_rows)
        return truth(evidence, 1.8, keys.slice(1))

    found = repair_in_rounds(evidence, VERDICT, plan_repair(evidence, VERDICT), exact_rows)
    assert len(rounds) == 1
    assert found.evidence.answer.num_rows == evidence.answer.num_rows - 2  # of each of the two windows


def test_a_second_run_of_the_same_repair_is_the_same_repair(settings: Settings) -> None:
    evidence = judged(settings)
    first, second = (repaired(evidence, times=1.8)[0] for _ in range(2))
    assert first.repair == second.repair
    assert first.evidence.runs.equals(second.evidence.runs)
