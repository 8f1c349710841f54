"""A small share of `make chaos`: one kill in each stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.chaos.stages import STAGES
from tests.chaos.trials import Chaos

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.chaos
def test_a_kill_in_any_stage_followed_by_a_re_run_leaves_what_an_undisturbed_run_leaves(
    spark: SparkSession, tmp_path: Path
) -> None:
    chaos = Chaos(tmp_path, lambda: spark)
    chaos.prepare()
    assert chaos.expected["published rows"]
    assert [chaos.trial(number) for number in range(len(STAGES))] == [[]] * len(STAGES)
