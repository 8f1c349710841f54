"""`sluice show`: newest first, three formats, a clear word where there is nothing."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pytest

from jobs.cli.application import main
from shedding.tables import Table


def show(warehouse: Path, *arguments: str) -> int:
    return main(["--warehouse", str(warehouse), "show", *arguments])


def test_rows_come_newest_first_and_by_key(published_warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(published_warehouse, "published/fares", "--format", "json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["window_start"][11:13], row["route"]) for row in rows] == [
        ("02", "a"), ("02", "b, 'x'"), ("01", "a"), ("01", "b, 'x'"), ("00", "a"), ("00", "b, 'x'"),
    ]  # fmt: skip
    assert rows[0]["window_start"] == "1970-01-01T02:00:00Z"
    assert rows[0]["mean_fare"] is None  # JSON has no NaN


def test_a_folder_of_tables_names_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for keys in ("zone-2", "route-1"):
        Table(str(tmp_path / "concepts" / "trips" / keys)).append(pa.table({"rows": [1]}), {})
    assert show(tmp_path, "concepts/trips") == 2
    assert "name one: concepts/trips/route-1, concepts/trips/zone-2" in capsys.readouterr().err
    assert show(tmp_path, "concepts/trips/route-1") == 0


def test_limit_keeps_the_newest(published_warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show(published_warehouse, "published/fares", "--limit", "3", "--format", "json")
    assert len(capsys.readouterr().out.splitlines()) == 3
    show(published_warehouse, "published/fares", "--limit", "0", "--format", "json")
    assert len(capsys.readouterr().out.splitlines()) == 6


def test_one_window_can_be_chosen(published_warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(published_warehouse, "published/fares", "--window", "1970-01-01T01:00:00Z", "--format", "csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["route"], row["mean_fare"]) for row in rows] == [("a", "nan"), ("b, 'x'", "1.5")]


def test_a_window_that_is_not_there_is_said_so(published_warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(published_warehouse, "published/fares", "--window", "1999-01-01") == 2
    assert "no window starts at 1999-01-01T00:00:00Z" in capsys.readouterr().err


def test_the_table_lines_up_and_counts(published_warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(published_warehouse, "published/fares") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["slot", "window_start", "window_end", "route", "mean_fare", "is_exact"]
    assert lines[0].index("route") == lines[2].index("a ")
    assert lines[-1] == "(6 rows)"


def test_nothing_published_yet_says_what_fills_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(tmp_path, "published/fares") == 2
    assert "published/fares holds nothing yet; fill it with: sluice run fares" in capsys.readouterr().err
    assert show(tmp_path, "raw/trips") == 2
    assert "sluice ingest trips" in capsys.readouterr().err
    assert show(tmp_path, "quarantine/fares") == 2
    assert "no slot of a query fares was refused" in capsys.readouterr().err
    assert show(tmp_path, "verifications/fares") == 2
    assert "fill it with: sluice verify fares" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["published", "/etc/passwd", "../x/y", "published/../../x"])
def test_a_name_outside_the_warehouse_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(tmp_path, name) == 2
    assert "names no table" in capsys.readouterr().err


def test_near_names_and_kinds_are_suggested(published_warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(published_warehouse, "published/fare") == 2
    assert "published/fare holds nothing yet (did you mean fares?); fill it with" in capsys.readouterr().err
    assert show(published_warehouse, "publishd/fares") == 2
    assert "no kind of table 'publishd' (did you mean published?); kinds: published, " in capsys.readouterr().err


@pytest.mark.parametrize("limit", ["-1", "x", "1.5", "", "9" * 20])
def test_a_limit_that_is_no_count_is_refused(limit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        show(tmp_path, "published/fares", f"--limit={limit}")
    assert stop.value.code == 2
    assert "is no number of rows; write e.g. 20, or 0 for all" in capsys.readouterr().err


def test_strange_keys_break_neither_the_table_nor_its_readers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = ['a\nb\t"c", d', "é💥", "", "x" * 5000, None]
    table = Table(str(tmp_path / "published" / "fares"), ("slot",))
    rows = pa.table({"slot": ["s"] * 5, "route": pa.array(keys, pa.string()), "fare": [1.0, -0.0, 1e300, None, 5e-324]})
    table.replace(rows, {"slot": "s"}, {})

    assert show(tmp_path, "published/fares", "--format", "json") == 0
    by_json = [json.loads(line)["route"] for line in capsys.readouterr().out.splitlines()]
    assert show(tmp_path, "published/fares", "--format", "csv") == 0
    by_csv = [row["route"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out, newline=""))]
    assert show(tmp_path, "published/fares") == 0
    lines = capsys.readouterr().out.splitlines()

    assert sorted(by_json, key=str) == sorted(keys, key=str)
    assert sorted(by_csv) == sorted(key or "" for key in keys)
    assert len(lines) == 2 + len(keys) + 1


def test_nested_values_are_json_in_every_form_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nested = {"a": float("nan"), "b": [float("inf"), 1.0]}
    table = Table(str(tmp_path / "published" / "fares"), ("slot",))
    table.replace(pa.table({"slot": ["s"], "pair": [nested]}), {"slot": "s"}, {})
    wanted = {"a": None, "b": [None, 1.0]}

    assert show(tmp_path, "published/fares", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["pair"] == wanted
    assert show(tmp_path, "published/fares", "--format", "csv") == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert json.loads(row["pair"]) == wanted


def test_a_table_without_rows_is_no_line_of_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(str(tmp_path / "published" / "fares"), ("slot",))
    table.replace(pa.table({"slot": ["s"], "route": ["a"]}), {"slot": "s"}, {})
    table.replace(pa.table({"slot": pa.array([], pa.string()), "route": pa.array([], pa.string())}), {"slot": "s"}, {})

    assert show(tmp_path, "published/fares", "--format", "json") == 0
    assert capsys.readouterr().out == ""
    assert show(tmp_path, "published/fares", "--format", "csv") == 0
    assert capsys.readouterr().out == "slot,route\n"
