"""`sluice check`: every problem, one a line, and what is allowed but should be known."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.cli.application import main


def check(specs: Path, tmp_path: Path) -> int:
    return main(["--specs", str(specs), "--warehouse", str(tmp_path / "warehouse"), "check"])


def test_valid_specifications_pass(specs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(specs, tmp_path) == 0
    assert capsys.readouterr().out == "1 datasets, 1 queries: no problems\n"


def test_every_problem_is_one_line_with_file_key_and_remedy(
    specs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = (specs / "queries" / "fares.yaml").read_text()
    (specs / "queries" / "typo.yaml").write_text(query.replace("name: fares", "name: typo") + "polcy: x\n")
    (specs / "queries" / "lost.yaml").write_text(query.replace("name: fares", "name: lost").replace("trips", "tirps"))
    assert check(specs, tmp_path) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("queries/typo.yaml: polcy: unknown key")
    assert lines[1] == (
        "queries/lost.yaml: dataset: is 'tirps', which has no valid datasets/tirps.yaml (did you mean trips?); "
        "there is: trips"
    )


def test_windows_with_gaps_are_explained(specs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = specs / "queries" / "fares.yaml"
    file.write_text(file.read_text().replace("{size: 1 hour}", "{size: 10 minutes, slide: 1 hour}"))
    assert check(specs, tmp_path) == 0
    assert "note: queries/fares.yaml: window.slide 1 hour is above window.size 10 minutes" in capsys.readouterr().out


def test_the_projects_own_specifications_are_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--warehouse", str(tmp_path), "check"]) == 0, capsys.readouterr().out


def test_an_option_that_the_policy_does_not_have_is_told_with_those_that_do(
    specs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = specs / "queries" / "fares.yaml"
    text = file.read_text()
    assert "shed: {policy: uniform, " in text
    file.write_text(text.replace("shed: {", "shed: {goal: variance, groups: 3, compare: [optimal], "))
    assert check(specs, tmp_path) == 0
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: queries/fares.yaml: shed")]
    assert notes == [
        "note: queries/fares.yaml: shed.goal: policy uniform has no such option, only the compared optimal follows it; "
        "remove it, or write shed.policy: k_optimal or optimal",
        "note: queries/fares.yaml: shed.groups: policy uniform has no such option, it has no effect; "
        "remove it, or write shed.policy: k_optimal",
    ]
