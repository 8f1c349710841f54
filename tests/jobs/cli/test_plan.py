"""`sluice plan`: budgets for errors and deadlines, without a JVM where the panes of audits are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from jobs.cli.application import main
from shedding.answers.slot import answer_sides
from shedding.compare.run_time import RunTime
from shedding.config import Settings
from shedding.errors import DataError, SpecError
from shedding.spec.written_budget import write_fraction
from tests.shedding.answers.test_slot import make_query
from tests.shedding.rows_in_memory import HOUR, RowsScans, make_rows, side_of
from tests.small_specs import DATASET

COMMENTED = """# who: the city desk
name: q
dataset: d
window: {size: 1 hour, slide: 30 minutes}   # sliding
group_by: [key]
measures:
  - {name: mean, agg: avg, column: value}
schedule: {every: 1 hour}
shed:
  policy: posterior     # ours
  budget: {fraction: 0.2}   # agreed in May
audit: {one_in: 3}
"""


QUERY, ROWS = make_query(measures=[{"name": "mean", "agg": "avg", "column": "value"}]), make_rows()


@pytest.fixture(scope="module")
def ten_slots(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A warehouse with ten slots of a query, whose dataset is held in memory."""
    settings, scans = Settings(warehouse=str(tmp_path_factory.mktemp("warehouse"))), RowsScans(QUERY)
    for number in range(10):
        made = answer_sides(settings, QUERY, number * HOUR, [side_of(ROWS, QUERY)], scans)
        made.write(settings, "run", 20.0 + made.total_rows / 100)
    return settings.warehouse


@pytest.fixture
def city(ten_slots: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The arguments that name the warehouse, and a directory with the query's file."""
    specs = tmp_path / "specs"
    (specs / "datasets").mkdir(parents=True)
    (specs / "queries").mkdir()
    (specs / "datasets" / "d.yaml").write_text(DATASET.replace("trips", "d", 1))
    (specs / "queries" / "q.yaml").write_text(COMMENTED)
    monkeypatch.setattr("shedding.ingest.side.sides_of", lambda *_: [side_of(ROWS, QUERY)])
    monkeypatch.setattr("shedding.spec.catalog.Catalog.query", lambda *_: QUERY)
    monkeypatch.setattr("shedding.spark.session.spark_session", lambda *_: pytest.fail("a session was started"))
    return ["--warehouse", ten_slots, "--specs", str(specs), "plan", "q"]


def planned(city: list[str], capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    assert main([*city, "--format", "json", *options]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_more_budget_is_planned_to_be_better_and_the_least_that_suffices_is_marked(
    city: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = planned(city, capsys, "--error", "0.1", "--mean")
    errors = [line["mean_error"] for line in lines]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == 0
    least = next(line for line in lines if line["note"])
    assert least["note"] == "<- least budget for mean error 0.1"
    assert least["mean_error"] <= 0.1
    assert all(line["mean_error"] > 0.07 for line in lines if line["budget"] < 0.6 * least["budget"])
    assert least["audits_in"] == pytest.approx(least["budget"] + (1 - least["budget"]) / 3)


def test_keys_within_the_error_and_a_picture(
    city: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = planned(city, capsys, "--error", "0.3", "--keys", "0.9", "--plot", str(tmp_path / "plan.png"))
    least = next(line for line in lines if line["note"])
    assert least["keys_within"] >= 0.9
    assert (tmp_path / "plan.png").stat().st_size > 1000


def test_a_deadline_gives_the_largest_budget_or_says_that_exact_fits(
    city: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    [line] = [line for line in planned(city, capsys, "--deadline", "1 hour") if line["note"]]
    assert line["note"] == "<- exact fits into 1 hour: write policy: exact"
    tight = planned(city, capsys, "--deadline", "22 seconds")
    line = next(line for line in tight if line["note"])
    assert "largest budget for 22 seconds" in line["note"]
    assert line["seconds"] <= 22
    assert main([*city, "--deadline", "1 second"]) == 1
    assert "no budget fits into 1 second" in capsys.readouterr().out


def test_what_is_written_changes_the_budget_and_nothing_else(
    city: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = planned(city, capsys, "--error", "0.1", "--mean", "--write")
    least = next(line for line in lines if line["note"])["budget"]
    text = (Path(city[3]) / "queries" / "q.yaml").read_text()
    assert text == COMMENTED.replace("fraction: 0.2", f"fraction: {least:g}")


@pytest.mark.parametrize("budget", ["{rows: 5}", "{ fraction : 1 }", "{error: 0.1, keys: 0.9}", "\n    rows: 5"])
def test_budgets_in_any_style_are_rewritten(tmp_path: Path, budget: str) -> None:
    file = tmp_path / "q.yaml"
    file.write_bytes(f"# one\r\nshed:\r\n  budget: {budget}   # two\r\n  policy: cod\r\n".encode())
    write_fraction(file, 0.068)
    written = file.read_bytes().decode()
    assert yaml.safe_load(written) == {"shed": {"budget": {"fraction": 0.068}, "policy": "cod"}}
    assert "# one" in written
    assert "# two" in written


@pytest.mark.parametrize("text", ["shed: {policy: cod}", "a: &b {fraction: 1}\nshed: {budget: *b}"])
def test_what_cannot_be_rewritten_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "q.yaml"
    file.write_text(text)
    with pytest.raises(SpecError, match="below shed: yourself"):
        write_fraction(file, 0.1)
    assert file.read_text() == text


def test_run_times_are_fitted_past_outliers_and_few_runs_are_refused() -> None:
    rng = np.random.default_rng(0)
    read, kept = rng.uniform(1e5, 1e6, 20), rng.uniform(1e3, 1e6, 20)
    seconds = 12 + 2e-5 * read + 5e-5 * kept
    seconds[3] *= 20
    runs = [
        dict(zip(("seconds", "rows_read", "total_rows"), one, strict=True))
        for one in zip(seconds, read, kept, strict=True)
    ]
    fitted = RunTime.of(runs, "q")
    assert (fitted.start, fitted.read, fitted.processed) == pytest.approx((12, 2e-5, 5e-5), rel=0.05)
    with pytest.raises(DataError, match="7 runs say how long they took, and a deadline takes 8; run more slots"):
        RunTime.of(runs[:7], "q")


def test_nothing_to_plan_for_is_told(city: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(city) == 2
    assert "give --error 0.05, --deadline '5 minutes', or both" in capsys.readouterr().err
