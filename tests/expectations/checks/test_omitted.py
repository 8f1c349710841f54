"""The checks `omitted_keys` and `omitted_rows`: what error limits leave out is limited too, and a repair adds keys."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from expectations.checks import all_checks
from expectations.evidence import load_evidence
from expectations.gate import judge
from jobs.publish import publish
from jobs.repair import repair
from shedding import warehouse
from shedding.config import Settings
from shedding.spec import Catalog
from shedding.spec.timeline import slot_name
from tests.expectations.answers import SLOT, Answer, make_query

CHECKS = {check.key: check for check in all_checks()}
NAMES = [f"k{i:02}" for i in range(30)]
LEFT_OUT = [f"o{i}" for i in range(10)]
FIELDS = {"seconds": 1.0, "reason": "policy uniform", "omitted_keys": 10, "omitted_rows": 500.0}


def observed(settings: Settings, key: str, **answer: Any) -> list[float]:
    query = make_query({key: 0.9})
    Answer(query, keys=NAMES, **answer).write(settings)
    evidence = load_evidence(settings, query, SLOT, "run")
    return CHECKS[key].observe(evidence, query.measures[0]).tolist()


def test_they_are_shares_of_all_keys_and_of_all_rows(settings: Settings) -> None:
    assert observed(settings, "omitted_keys", omitted=LEFT_OUT) == pytest.approx([10 / 40] * 2)
    assert observed(settings, "omitted_rows", omitted=LEFT_OUT) == pytest.approx([500 / 3500] * 2)


def test_an_answer_that_leaves_nothing_out_has_no_share(settings: Settings) -> None:
    for key in ("omitted_keys", "omitted_rows"):
        assert observed(settings, key) == [0.0, 0.0]


def test_keys_that_are_left_out_are_not_missing(settings: Settings) -> None:
    query = make_query({"missing_keys": 0})
    Answer(query, keys=NAMES, omitted=LEFT_OUT).write(settings)
    assert judge(settings, query, SLOT, "run").passed


def with_exact_rows_of_all(query: Any, settings: Settings) -> None:
    """An audited slot whose exact leg has the keys that the answer leaves out."""
    Answer(query, keys=NAMES, omitted=LEFT_OUT, run=FIELDS).write(settings)
    results = warehouse.results(settings, query.name)
    rows = results.read()
    more = Answer(query, keys=LEFT_OUT).rows("exact")
    version = results.append(more.select([name for name in rows.column_names if name in more.column_names]), {})
    runs = warehouse.runs(settings, query.name)
    rows = [row | {"results_version": version} for row in runs.read().to_pylist()]
    told = pa.Table.from_pylist(rows, schema=runs.read().schema)
    runs.replace(told, {"slot": slot_name(SLOT)}, {})


def test_a_repair_adds_the_fewest_keys_and_publishing_moves_them(settings: Settings) -> None:
    query = make_query({"omitted_keys": 0.1, "on_failure": "repair"})
    with_exact_rows_of_all(query, settings)
    verdict = judge(settings, query, SLOT, "run")
    assert [check.name for check in verdict.failed] == ["omitted_keys"]

    def no_session() -> Any:
        pytest.fail("the repair of an audited slot started a session")

    report = repair(no_session, settings, Catalog({}, {query.name: query}, ()), query.name, SLOT, "run")
    assert (report.keys, report.widened) == (6, False)  # 4 of 40 keys are a tenth
    again = judge(settings, query, SLOT, "run", attempt=1)
    assert again.passed
    runs = warehouse.runs(settings, query.name).read([("leg", "=", "uniform")]).to_pylist()
    assert {(row["keys"], row["missing_keys"], row["omitted_keys"], row["omitted_rows"]) for row in runs} == {
        (36, 0, 4, 200.0)
    }
    publish(settings, query, SLOT, again, "run")
    published = set(warehouse.published(settings, query.name).read()["route"].to_pylist())
    left_out = warehouse.omitted(settings, query.name).read().to_pylist()
    assert len(published) == 36
    assert not published & {row["route"] for row in left_out}
    assert {row["route"] for row in left_out} == set(LEFT_OUT[6:])
    assert {row["run_id"] for row in left_out} == {"run"}
    assert left_out[0]["reason"] == "fare: planned error 0.4 is above 0.25"


def test_a_slot_that_leaves_nothing_out_any_more_takes_its_keys_out_of_the_table(settings: Settings) -> None:
    query = make_query()
    for left_out in (LEFT_OUT, []):
        Answer(query, keys=NAMES, omitted=left_out).write(settings)
        publish(settings, query, SLOT, judge(settings, query, SLOT, "run"), "run")
        assert warehouse.omitted(settings, query.name).read().num_rows == 2 * len(left_out)
