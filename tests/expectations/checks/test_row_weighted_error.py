"""The check `row_weighted_error`: an error counts by the rows of its key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from expectations.checks import all_checks
from expectations.evidence import load_evidence
from expectations.gate import judge
from expectations.repair_plan import plan_repair
from shedding import warehouse
from shedding.config import Settings
from shedding.spec.timeline import slot_name
from tests.expectations.answers import SLOT, Answer, make_query

CHECK = next(check for check in all_checks() if check.key == "row_weighted_error")
QUERY = make_query({"row_weighted_error": 0.1, "mean_relative_error": 0.9})


def written(settings: Settings, errors: list[float], rows: list[float], audited: bool = True) -> None:
    """A slot of four keys with these errors and rows, the same in both windows."""
    Answer(QUERY, errors=errors, audited=audited).write(settings)
    results = warehouse.results(settings, QUERY.name)
    table = results.read()
    population = pa.array(np.tile(rows, table.num_rows // len(rows)))
    table = table.set_column(table.schema.get_field_index("population"), "population", population)
    version = results.replace(table, {"slot": slot_name(SLOT)}, {})
    runs = warehouse.runs(settings, QUERY.name)
    told = runs.read()
    versions = pa.array([version] * told.num_rows, pa.int64())
    told = told.set_column(told.schema.get_field_index("results_version"), "results_version", versions)
    runs.replace(told, {"slot": slot_name(SLOT)}, {})


@pytest.mark.parametrize(("rows", "passed"), [([1, 97, 1, 1], True), ([97, 1, 1, 1], False)])
def test_a_large_error_of_a_small_key_passes_and_of_a_large_one_does_not(
    settings: Settings, rows: list[float], passed: bool
) -> None:
    written(settings, [0.8, 0.01, 0.01, 0.01], rows)
    evidence = load_evidence(settings, QUERY, SLOT, "run")
    wanted = float(np.average([0.8, 0.01, 0.01, 0.01], weights=rows))
    assert CHECK.observe(evidence, QUERY.measures[0]).tolist() == pytest.approx([wanted] * 2)
    verdict = judge(settings, QUERY, SLOT, "run")
    assert verdict.passed == passed
    if not passed:
        keys = plan_repair(evidence, verdict).keys
        assert keys is None or keys["route"].to_pylist() == ["a"]
