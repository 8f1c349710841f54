"""A few seeds of the differential fuzzer; `make fuzz N=...` runs as many as one likes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.trial import run_trial

pytestmark = pytest.mark.spark
SEEDS = range(2)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_answer_is_the_one_that_duckdb_and_the_other_ways_give(spark, tmp_path: Path, seed: int) -> None:
    trial = run_trial(spark, tmp_path, seed)
    assert trial.wrong == []
    assert trial.pairs > 50
