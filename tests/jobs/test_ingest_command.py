"""The ingest application as Airflow starts it: what it is told wrongly ends it before Java starts."""

from __future__ import annotations

import pytest

from jobs.ingest import main


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        (["--from", "2026-11-17", "--to", "2026-11-16"], "--from 2026-11-17T00:00:00Z is not before --to"),
        (["--from", "2026-11-17"], "--from and --to go together; give both"),
    ],
)
def test_an_interval_that_is_none_is_told_in_one_line(
    interval: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--dataset", "taxi", *interval]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


def test_a_setting_that_is_wrong_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLUICE_SHUFFLE_PARTITIONS", "many")
    assert main(["--dataset", "taxi"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ConfigError: setting shuffle_partitions")
