"""One hash of keys: different keys differ by it, keys that Spark groups as one do not."""

import itertools

import numpy as np
import pytest
from pyspark.sql import functions as sf

from shedding.ingest.key_hash import key_hash
from shedding.ingest.normal_form import in_normal_form

pytestmark = pytest.mark.spark


def test_nulls_in_other_places_are_other_keys_in_every_order_of_the_columns(spark):
    values = [None, 0, 1]
    rows = spark.createDataFrame(list(itertools.product(values, repeat=3)), "a long, b long, c long")
    for names in itertools.permutations("abc"):
        hashes = rows.select(key_hash([sf.col(name) for name in names])).toArrow().column(0).to_pylist()
        assert len(set(hashes)) == 27


def test_zeros_of_either_sign_and_all_nans_have_one_hash(spark):
    rows = spark.sql("SELECT * FROM VALUES (0.0D), (-0.0D) AS zeros(x)")
    assert rows.select(key_hash([sf.col("x"), sf.lit(1)])).distinct().count() == 1


def test_the_normal_form_is_what_spark_groups_by(spark):
    texts = "collate('A', 'UTF8_LCASE') AS t"
    rows = spark.sql(f"SELECT -0.0D AS x, CAST(-0.0 AS FLOAT) * -1 AS f, CAST('NaN' AS DOUBLE) AS n, 1 AS i, {texts}")
    found = in_normal_form(rows.withColumn("f", -sf.col("f")), ["x", "f", "n", "i", "t"])
    assert dict(found.dtypes)["t"] == "string"
    row = found.toArrow().to_pylist()[0]
    assert [str(row["x"]), str(row["f"]), np.isnan(row["n"]), row["i"], row["t"]] == ["0.0", "0.0", True, 1, "A"]
