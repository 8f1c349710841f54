"""The list of Spark's functions is Spark's own, and each is told apart once."""

from __future__ import annotations

from itertools import combinations

import pytest
from pyspark.sql import SparkSession

from shedding.spec.expressions import SYNTAX
from shedding.spec.spark_functions import FOREIGN, MAKE_ROWS, MOVING, OF_A_ROW, OF_MANY_ROWS

KINDS = (OF_A_ROW, OF_MANY_ROWS, MAKE_ROWS, MOVING, FOREIGN)
ALIASES = {"len", "timestampadd", "timestampdiff", "date_part", "array_binary_search"}  # read by Spark's parser


def test_a_function_is_of_one_kind() -> None:
    assert all(not (one & other) for one, other in combinations(KINDS, 2))


@pytest.mark.spark
def test_every_function_of_spark_is_known_and_no_other(spark: SparkSession) -> None:
    names = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    words = {name for name in names if name.isidentifier()}
    known = frozenset().union(*KINDS)
    assert words - known - SYNTAX == set()
    assert known - words - ALIASES == set()
