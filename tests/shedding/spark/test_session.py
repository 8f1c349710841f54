"""What every job's session has in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_condition_means_what_it_says_whatever_the_environment_has(spark: SparkSession) -> None:
    assert spark.range(1).where("'${env:HOME}' = concat('$', '{env:HOME}')").count() == 1
