"""A disk without room: one line that says so, the table as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from shedding.full_disk import told_if_full
from shedding.tables import Table

PROGRAM = """
import resource, sys
import pyarrow as pa
from shedding.errors import SluiceError, reported
from shedding.tables import Table
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    Table(sys.argv[1]).append(pa.table({"number": [n * 2654435761 % 2**40 for n in range(50_000)]}), {})
except SluiceError as error:
    sys.exit(reported(error))
"""


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 500, 100_000])
def test_a_full_disk_is_one_line_and_changes_nothing(tmp_path: Path, room: int) -> None:
    table = Table(str(tmp_path / "numbers"))
    table.append(pa.table({"number": [1]}), {})
    command = [sys.executable, "-c", PROGRAM, table.uri, str(room)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"ConfigError: {table.uri} cannot be written: File too large; free some space")
    assert table.read()["number"].to_pylist() == [1]


def test_what_else_is_said_meanwhile_is_not_lost(capfd: pytest.CaptureFixture[str]) -> None:
    with told_if_full("here"):
        print("a warning", file=sys.__stderr__, flush=True)
    assert capfd.readouterr().err == "a warning\n"
