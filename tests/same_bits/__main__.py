"""Whether two trees publish the same bits: `python -m tests.same_bits REVISION`.

Checks the revision out beside this tree, runs the same twelve specifications with the code of both, and compares
`results`, `verdicts` and `published` row by row: equal but for the columns that name the run. Then the new tree runs
once more on the warehouse that the old one filled: the panes it finds there are read or computed anew, never misread.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
from deltalake import DeltaTable

from tests.same_bits.specifications import DATASET, FROM, QUERIES, RUN_FROM, TO
from tests.small_specs import write_specs

HERE = Path(__file__).resolve().parents[2]
OWN = {"run_id", "revision", "published_at", "results_version", "judged_at", "attempt"}
TABLES = ("results", "verdicts", "published")


def run_tree(tree: Path, specs: Path, warehouse: Path) -> None:
    """Run every specification with the code in `tree`; its messages go to a log beside the warehouse."""
    script = Path(__file__).with_name("tree.py")
    command = [sys.executable, str(script), str(specs), str(warehouse), FROM, RUN_FROM, TO]
    own = os.environ | {"PYTHONPATH": str(tree), "SLUICE_JARS": os.environ.get("SLUICE_JARS", str(HERE / ".jars"))}
    with warehouse.with_suffix(".log").open("w") as log:
        if subprocess.run(command, cwd=tree, env=own, stdout=log, stderr=log, check=False).returncode:
            sys.exit(f"{tree} failed; see {log.name}")


def differences(old: Path, new: Path) -> list[str]:
    """One line for each table that is not the same in both warehouses."""
    tables = [(table, query["name"]) for table in TABLES for query in QUERIES]
    return [line for table, name in tables if (line := _difference(old / table / name, new / table / name)) is not None]


def _difference(old: Path, new: Path) -> str | None:
    if not old.exists() and not new.exists():
        return None
    frames = [DeltaTable(str(place)).to_pyarrow_table().to_pandas() for place in (old, new)]
    columns = [name for name in frames[0].columns if name not in OWN and name in frames[1].columns]
    rows = [frame[columns].map(str).sort_values(columns).reset_index(drop=True) for frame in frames]
    if rows[0].equals(rows[1]):
        return None
    if len(rows[0]) != len(rows[1]):
        return f"{new}: {len(rows[1])} rows, were {len(rows[0])}"
    unequal = [name for name in columns if not rows[0][name].equals(rows[1][name])]
    first = pd.concat([rows[0][unequal], rows[1][unequal]], axis=1)[(rows[0] != rows[1]).any(axis=1)].head(1)
    return f"{new}: {', '.join(unequal)} differ, first {first.to_dict('records')}"


def main() -> int:
    """0 where all is equal."""
    parser = argparse.ArgumentParser(prog="python -m tests.same_bits", description=__doc__)
    parser.add_argument("revision", help="the commit to compare this tree with")
    parser.add_argument("--keep", type=Path, help="directory to work in and to leave the warehouses in")
    arguments = parser.parse_args()
    place = arguments.keep or Path(tempfile.mkdtemp(prefix="same_bits_"))
    place.mkdir(parents=True, exist_ok=True)
    specs = write_specs(place / "specs", [DATASET], QUERIES)
    other = place / "tree"
    if not other.exists():
        subprocess.run(["git", "clone", "--quiet", str(HERE), str(other)], check=True)
    subprocess.run(["git", "-C", str(other), "checkout", "--quiet", arguments.revision], check=True)
    for tree, name in ((other, "old"), (HERE, "new")):
        if not (place / name).exists():
            run_tree(tree, specs, place / name)
    if not (place / "over").exists():
        shutil.copytree(place / "old", place / "over")
        run_tree(HERE, specs, place / "over")
    lines = differences(place / "old", place / "new") + differences(place / "old", place / "over")
    print(*lines, sep="\n", end="\n" if lines else "")
    print(f"{len(QUERIES)} queries, {len(TABLES)} tables each: {len(lines)} differ")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
