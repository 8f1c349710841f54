"""`sluice init` writes specifications that are valid as they stand, whatever the columns are called."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from jobs.cli import main
from shedding.spec import load_catalog

ROWS = 5000


@pytest.fixture
def sample() -> pa.Table:
    numbers = np.random.default_rng(3)
    start = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
    return pa.table({
        "Trip ID": [f"t{i}" for i in range(ROWS)],
        "picked up": pa.array([start + dt.timedelta(seconds=3 * i) for i in range(ROWS)], pa.timestamp("us", "UTC")),
        "zone": [f"z{k}" for k in numbers.integers(0, 40, ROWS)],
        "flag": numbers.integers(0, 2, ROWS) == 1,
        "1st fare": numbers.gamma(2.0, 6.0, ROWS),
    })  # fmt: skip


def written(table: pa.Table, file: Path) -> Path:
    (pyarrow.parquet.write_table if file.suffix == ".parquet" else pyarrow.csv.write_csv)(table, file)
    return file


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_both_files_are_valid_and_name_the_columns_as_they_are(
    tmp_path: Path, sample: pa.Table, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(sample, tmp_path / f"trips.{ending}")
    assert main(["--specs", str(tmp_path / "specs"), "init", "trips", str(file)]) == 0
    catalog = load_catalog(tmp_path / "specs")
    assert catalog.problems == ()
    dataset, query = catalog.dataset("trips"), catalog.query("trips_by_zone")
    assert (dataset.source.kind, dataset.event_time.column) == (ending, "picked_up")
    assert {column.name: column.source for column in dataset.columns}["c_1st_fare"] == "1st fare"
    assert [measure.column for measure in query.measures] == ["c_1st_fare", None]
    assert query.window.size == 3_600_000_000  # 1,200 rows each; half an hour has 600
    assert query.shed.budget.fraction == pytest.approx(0.05)  # 40 keys of 1,200 rows are 3.3 %, and half as much again
    assert "next: sluice ingest trips" in capsys.readouterr().out


def test_the_owners_choices_count_and_nothing_is_overwritten(
    tmp_path: Path, sample: pa.Table, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(sample, tmp_path / "trips.parquet")
    command = ["--specs", str(tmp_path / "specs"), "init", "trips", str(file), "--by", "flag"]
    assert main(command) == 0
    kept = (tmp_path / "specs" / "datasets" / "trips.yaml").read_text()
    assert list(load_catalog(tmp_path / "specs").queries) == ["trips_by_flag"]
    assert main(command) == 2
    assert "is there already" in capsys.readouterr().err
    assert (tmp_path / "specs" / "datasets" / "trips.yaml").read_text() == kept


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--time", "zone"], "--time zone: no such column of trips.csv would do; these would: picked up"),
        (["--measure", "zone"], "these would: 1st fare"),
        (["--by", "nothing"], "--by nothing"),
    ],
)
def test_a_column_that_will_not_do_is_named_with_those_that_would(
    tmp_path: Path, sample: pa.Table, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(sample, tmp_path / "trips.csv")
    assert main(["--specs", str(tmp_path / "specs"), "init", "trips", str(file), *options]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(("content", "words"), [(b"", "cannot be read"), (b"a,b\n1,2\n", "no column holds timestamps")])
def test_a_file_that_tells_nothing_is_one_line(
    tmp_path: Path, content: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    assert main(["--specs", str(tmp_path / "specs"), "init", "trips", str(tmp_path / "x.csv")]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.strip().splitlines()) == 1
    assert not (tmp_path / "specs").exists()
