"""`python -m tests.fuzz --n 40`: random datasets and queries, every answer against DuckDB and against the others."""

from __future__ import annotations

import argparse
import logging
import tempfile
from pathlib import Path

from shedding.config import Settings
from shedding.spark.session import spark_session
from tests.fuzz.trial import run_trial


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=40, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed, to repeat one that failed")
    arguments = parser.parse_args()
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    pairs, wrong = 0, 0
    with spark_session(Settings(master="local[2]"), "fuzz") as spark:
        for seed in range(arguments.first, arguments.first + arguments.n):
            with tempfile.TemporaryDirectory(prefix="sluice-fuzz-") as directory:
                trial = run_trial(spark, Path(directory), seed)
            pairs, wrong = pairs + trial.pairs, wrong + len(trial.wrong)
            print(f"seed {seed}: {trial.pairs} pairs, {len(trial.wrong)} mismatches", flush=True)
            for text in trial.wrong[:5]:
                print(f"  {text}", flush=True)
    print(f"{arguments.n} seeds, {pairs} pairs, {wrong} mismatches")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
