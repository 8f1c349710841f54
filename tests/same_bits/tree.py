"""Ingest the dataset and run the queries with the code of one tree: `python tree.py SPECS WAREHOUSE`, in the tree."""

from __future__ import annotations

import sys

from jobs.cli import main
from shedding.config import Settings
from shedding.spark.session import spark_session
from shedding.spec import load_catalog


def run_all(specs: str, warehouse: str, start: str, run_start: str, end: str) -> None:
    """Every query of the specifications, in one Spark session; a refused slot is a result like any other."""
    settings = Settings.load(warehouse=warehouse, specs=specs)
    common = ["--specs", specs, "--warehouse", warehouse]
    with spark_session(settings, "same bits"):
        assert main([*common, "ingest", "city", "--from", start, "--to", end]) == 0
        for name in load_catalog(settings.specs).queries:
            assert main([*common, "run", name, "--from", run_start, "--to", end]) in (0, 1), name


if __name__ == "__main__":
    run_all(*sys.argv[1:])
