"""`enrich` in a query: what may be written, and each fault in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from shedding.spec.catalog import load_catalog
from tests.small_specs import DATASET, QUERY, write_specs

ENTRY = {"name": "score", "call": "scores:score", "columns": ["fare"]}


def problems(
    tmp_path: Path, entry: dict[str, Any], source: str = "def score(fare):\n    return fare\n", **more: Any
) -> str:
    query = {**yaml.safe_load(QUERY), "enrich": [entry], **more}
    specs = write_specs(tmp_path / "specs", [DATASET], [query])
    (specs / "functions").mkdir(exist_ok=True)
    (specs / "functions/scores.py").write_text(source)
    return "\n".join(map(str, load_catalog(specs).problems))


def test_a_measure_may_be_of_a_column_that_a_function_makes(tmp_path: Path) -> None:
    measures = [{"name": "mean_score", "agg": "avg", "column": "score"}]
    assert problems(tmp_path, ENTRY, measures=measures) == ""


def test_an_installed_package_s_function_is_found_without_importing_it(tmp_path: Path) -> None:
    assert problems(tmp_path, {**ENTRY, "call": "json.decoder:JSONDecoder"}) == ""


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"call": "lambda x: x"}, "write module:function, e.g. reviews:score"),
        ({"call": "nowhere:score"}, "there is no module nowhere; put nowhere.py into functions/"),
        ({"call": "scores:rate"}, "scores.py has no function rate"),
        (
            {"columns": ["fair"]},
            "is 'fair', which its dataset does not have (did you mean fare?)",
        ),
        ({"columns": []}, "write a list of at least 1 item"),
        ({"name": "fare"}, "enrich.fare.name: is a column of the dataset already; rename it"),
        ({"name": "event_time"}, "is a name that Sluice reserves"),
        ({"type": "float"}, "write one of 'double', 'bigint', 'string' or 'boolean'"),
        ({"on_error": "ignore"}, "write one of 'null', 'quarantine' or 'fail'"),
        ({"version": 0}, "greater than or equal to 1"),
    ],
)
def test_a_fault_is_told_in_one_line(tmp_path: Path, entry: dict[str, Any], words: str) -> None:
    told = problems(tmp_path, {**ENTRY, **entry})
    assert words in told
    assert "\n" not in told


def test_a_bare_null_means_the_word(tmp_path: Path) -> None:
    assert problems(tmp_path, {**ENTRY, "on_error": None}) == ""


def test_a_module_that_is_no_python_is_told_with_its_line(tmp_path: Path) -> None:
    assert "scores.py is no Python (line 1" in problems(tmp_path, ENTRY, "def score(:\n")


def test_a_key_cannot_be_made_by_a_function_and_text_cannot_be_averaged(tmp_path: Path) -> None:
    measures = [{"name": "mean_score", "agg": "avg", "column": "score"}]
    assert "keys are known before that" in problems(tmp_path, ENTRY, group_by=["score"])
    assert "a number" in problems(tmp_path, {**ENTRY, "type": "string"}, measures=measures)


def test_the_fingerprint_follows_the_source(tmp_path: Path) -> None:
    problems(tmp_path, ENTRY)
    before = load_catalog(tmp_path / "specs").query("fares").functions
    assert before == load_catalog(tmp_path / "specs").query("fares").functions
    problems(tmp_path, ENTRY, "def score(fare):\n    return 2 * fare\n")
    assert load_catalog(tmp_path / "specs").query("fares").functions != before


def test_audits_of_enriched_rows_are_one_in_fifty_unless_the_owner_says_otherwise(tmp_path: Path) -> None:
    for audit, one_in in (({}, 50), ({"audit": {"one_in": 3}}, 3)):
        problems(tmp_path, ENTRY, **audit)
        assert load_catalog(tmp_path / "specs").query("fares").audit.one_in == one_in
