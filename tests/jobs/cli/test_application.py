"""The command line's manners: one line for an error, exit codes, global options."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jobs.cli.application import main
from shedding.errors import refusal


def one_line(text: str) -> str:
    lines = text.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def test_an_unknown_command_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["frobnicate"])
    assert stop.value.code == 2
    assert "frobnicate" in one_line(capsys.readouterr().err)


def test_a_wrong_instant_is_explained_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["run", "q", "--from", "yesterday", "--to", "2026-11-16"])
    assert stop.value.code == 2
    assert "write e.g. '2026-11-16'" in one_line(capsys.readouterr().err)


def test_an_error_is_one_line_and_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--specs", str(tmp_path / "nowhere"), "check"]) == 2
    assert one_line(capsys.readouterr().err).startswith("sluice: error: the specs directory")


def test_debug_adds_the_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--debug", "--specs", str(tmp_path / "nowhere"), "check"]) == 2
    text = capsys.readouterr().err
    assert "Traceback" in text
    assert text.strip().splitlines()[-1].startswith("sluice: error:")


def test_of_javas_stack_the_innermost_cause_is_shown(
    specs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = "An error occurred while calling o5.save.\n: A: failed\n\tat a.B\nCaused by: C: no space left\n\tat d.E\n"

    def failing(*_: object) -> None:
        raise RuntimeError(stack)

    monkeypatch.setattr("jobs.cli.status.load_catalog", failing)
    assert main(["--specs", str(specs), "status"]) == 2
    line = one_line(capsys.readouterr().err)
    assert line == "sluice: error: RuntimeError: C: no space left; --debug shows where"


def test_options_win_over_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLUICE_SPECS", str(tmp_path / "environment"))
    assert main(["--specs", str(tmp_path / "option"), "check"]) == 2
    assert str(tmp_path / "option") in capsys.readouterr().err


def test_from_after_to_is_refused(specs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--specs", str(specs), "run", "fares", "--from", "2026-11-17", "--to", "2026-11-16"])
    assert code == 2
    assert "swap them" in one_line(capsys.readouterr().err)


@pytest.mark.parametrize(("start", "end"), [("0001-01-01", "2026-11-16"), ("2026-11-16", "9999-12-31")])
def test_an_instant_at_the_end_of_the_calendar_is_refused(
    specs: Path, capsys: pytest.CaptureFixture[str], start: str, end: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--specs", str(specs), "run", "fares", "--from", start, "--to", end])
    assert "is too near the calendar's end; write one from 0" in one_line(capsys.readouterr().err)


def test_a_warehouse_that_is_a_file_is_refused(specs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("x")
    assert main(["--specs", str(specs), "--warehouse", str(tmp_path / "file"), "status"]) == 2
    assert "is a file; name a directory" in one_line(capsys.readouterr().err)


def test_a_directory_without_specifications_is_no_good_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--specs", str(tmp_path), "check"]) == 2
    assert "has neither datasets/ nor queries/" in one_line(capsys.readouterr().err)


@pytest.mark.slow
def test_a_reader_that_has_enough_ends_the_command_in_silence(published_warehouse: Path) -> None:
    code = (
        "import os, sys; from jobs.cli import main; "
        "read, write = os.pipe(); os.close(read); os.dup2(write, 1); "
        f"sys.exit(main(['--warehouse', {str(published_warehouse)!r}, 'show', 'published/fares', '--format', 'csv']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_starts_without_heavy_packages() -> None:
    heavy = ["pyspark", "pandas", "great_expectations", "deltalake", "airflow", "scipy"]
    code = f"import sys; from jobs.cli.application import parser; parser(); print(set({heavy}) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_showing_a_table_takes_under_two_seconds_and_no_jvm(published_warehouse: Path) -> None:
    code = (
        "import resource, sys; from jobs.cli import main; "
        f"code = main(['--warehouse', {str(published_warehouse)!r}, 'show', 'published/fares']); "
        "assert not {'pyspark', 'pandas', 'great_expectations'} & set(sys.modules); "
        "assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss == 0, 'it started a process'; "
        "used = resource.getrusage(resource.RUSAGE_SELF); print(used.ru_utime + used.ru_stime, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    # Seconds of this process's own work: what the clock shows too, on a machine with nothing else to do.
    assert float(done.stderr) < 2.0


@pytest.mark.parametrize("command", [["status"], ["show", "published/fares"]])
def test_a_warehouse_that_does_not_exist_is_said_and_not_shown_as_empty(
    specs: Path, tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--specs", str(specs), "--warehouse", str(tmp_path / "nowhere"), *command]) == 2
    said = capsys.readouterr()
    assert "nowhere does not exist; name another with --warehouse" in said.err
    assert said.out == ""


def test_many_refused_files_are_a_line_each(
    specs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reasons = [f"file{number}.csv is empty; remove it" for number in range(38)]

    def refuse(*_: object) -> int:
        raise refusal(reasons)

    monkeypatch.setattr("jobs.cli.status.run", refuse)
    assert main(["--specs", str(specs), "status"]) == 2
    *lines, last = capsys.readouterr().err.splitlines()
    assert lines == reasons
    assert last.startswith("sluice: error: 38 files were refused, each in a line above; the first: file0.csv")
    assert len(last) < 200
