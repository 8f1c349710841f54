"""`sluice explain`: a slot's page says what was decided and why, from the tables alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from expectations.gate import judge
from expectations.verdict import decide
from jobs.cli.application import main
from jobs.cli.explain import as_text, explained
from jobs.publish import publish
from shedding.config import Settings
from shedding.errors import DataError
from tests.expectations.answers import SLOT, Answer, make_query
from tests.small_specs import DATASET, write_specs

QUERY = make_query()


@pytest.fixture
def refused(settings: Settings) -> Settings:
    """A warehouse with one slot whose errors are over the limit."""
    Answer(QUERY, errors=[0.9] * 4, run={"prior_slots": None, "seconds": 2.5}).write(settings)
    judge(settings, QUERY, SLOT, "run")
    return settings


def test_a_slot_that_never_ran_says_how_to_run_it(settings: Settings) -> None:
    with pytest.raises(DataError, match=r"never computed; run `sluice run fares --from 2024-10-04T00:00:00Z --to"):
        explained(settings, QUERY, SLOT)


def test_a_refused_slot_names_the_check_its_observed_value_and_its_limit(refused: Settings) -> None:
    page = explained(refused, QUERY, SLOT)
    assert page["decision"].startswith("Not published: mean relative error 0.9, limit 0.1")
    assert page["decision"].endswith("Consumers read nothing.")
    first = page["checks"][0]
    assert (first["check"], first["passed"], first["observed"], first["limit"]) == (
        "mean_relative_error", False, pytest.approx(0.9), 0.1
    )  # fmt: skip
    assert page["cost"]["seconds"] == 2.5


def test_rates_are_told_by_the_rows_of_the_keys(refused: Settings) -> None:
    (one,) = explained(refused, QUERY, SLOT)["rates"]
    assert (one["rows of a key"], one["keys"], one["mean rate"], one["sampled rows"]) == (
        "100 to 999", 8, pytest.approx(0.1), 80
    )  # fmt: skip


def test_a_published_slot_names_its_revision(settings: Settings) -> None:
    Answer(QUERY).write(settings)
    verdict = judge(settings, QUERY, SLOT, "run")
    assert "not published yet" in explained(settings, QUERY, SLOT)["decision"]
    publish(settings, QUERY, SLOT, verdict, "run")
    assert explained(settings, QUERY, SLOT)["decision"].startswith("Published as revision 1: passed")


def test_a_slot_that_a_person_approved_says_who(refused: Settings) -> None:
    verdict = decide(refused, judge(refused, QUERY, SLOT, "run"), True, "Ada")
    publish(refused, QUERY, SLOT, verdict, "run")
    assert explained(refused, QUERY, SLOT)["decision"] == "Published as revision 1: approved by Ada."


def test_a_slot_computed_again_tells_what_consumers_still_read(settings: Settings) -> None:
    Answer(QUERY).write(settings, "old")
    publish(settings, QUERY, SLOT, judge(settings, QUERY, SLOT, "old"), "old")
    Answer(QUERY).write(settings, "new")
    decision = explained(settings, QUERY, SLOT)["decision"]
    assert decision == "Computed and not judged yet; consumers read revision 1 of run old."


def test_every_part_of_the_page_is_in_its_text(refused: Settings) -> None:
    text = as_text(explained(refused, QUERY, SLOT))
    for title in ("Learnt from", "Budget", "Rates by size of key", "Checks", "Read and cost"):
        assert f"\n\n{title}\n" in text


def test_any_instant_of_the_slot_names_it_and_json_is_one_object(
    refused: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    specs = _specs(tmp_path)
    options = ["--warehouse", refused.warehouse, "--specs", str(specs)]
    assert main([*options, "explain", "fares", "--slot", "2024-10-04T00:59:00Z", "--format", "json"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert (page["query"], page["slot"], page["windows"]) == ("fares", "2024-10-04T00:00:00Z", 2)


def test_the_page_needs_neither_spark_nor_pandas(refused: Settings, tmp_path: Path) -> None:
    options = ["--warehouse", refused.warehouse, "--specs", str(_specs(tmp_path))]
    call = [*options, "explain", "fares", "--slot", "2024-10-04"]
    code = (
        f"import sys; from jobs.cli import main; main({call!r}); "
        "print(sorted({'pandas', 'pyspark'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def _specs(folder: Path) -> Path:
    query = QUERY.model_dump(include={"name", "dataset", "group_by"}) | {
        "window": {"size": "30 minutes"},
        "measures": [{"name": "fare", "agg": "avg", "column": "fare"}],
        "schedule": {"every": "1 hour"},
        "shed": {"policy": "uniform", "budget": {"fraction": 0.1}},
    }
    return write_specs(folder / "specs", [yaml.safe_load(DATASET) | {"name": "taxi"}], [yaml.safe_dump(query)])
