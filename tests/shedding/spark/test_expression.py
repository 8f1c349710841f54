"""Expressions of specifications on Spark: one mode, no function but a row's, and refusals in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from shedding.errors import SpecError
from shedding.spark.analysis import analysed
from shedding.spark.expression import column_of, matching, with_expression
from shedding.spec import load_catalog
from shedding.spec.expressions import check
from shedding.spec.spark_functions import FOREIGN, MAKE_ROWS, MOVING, OF_MANY_ROWS
from tests.small_specs import DATASET, QUERY, write_specs

pytestmark = pytest.mark.spark

TYPES = {"x": "int", "k": "string", "a": "array<string>", "event_time": "timestamp", "paid": "boolean"}
VALUELESS = [
    "1 / x > 0.1", "CAST(k AS INT) > 4", "k > 4", "k + 1 > 3", "element_at(a, 5) = 'b'", "a[7] = 'b'", "x % 0 = 1",
    "x + 2147483647 + 1 + x > 1", "to_date(k) > '2020-01-01'", "elt(5, k) = 'a'", "boolean(k)", "k IN (1, 2)",
    "event_time < k", "next_day('2020-01-01', k) > '2020-01-01'", "pmod(x, x) = 1", "make_date(2020, 13, x) > k",
]  # fmt: skip
SYNTAX_FORMS = [
    "x BETWEEN 1 AND 2", "k LIKE 'a%' ESCAPE '!'", "k LIKE ANY ('a', 'b')", "NOT paid", "!paid", "x IN (1, 2)",
    "CASE WHEN paid THEN 1 ELSE 2 END = 1", "extract(HOUR FROM event_time) = 1", "trim(BOTH 'x' FROM k) = 'a'",
    "substring(k FROM 1 FOR 2) = 'a'", "position('a' IN k) = 1", "exists(a, y -> y = k)", "x & 1 = 1", "x << 1 = 2",
    "x::double > 1", "TRY_CAST(k AS INT) IS NULL", "event_time > DATE '2020-01-01' - INTERVAL 1 DAY", "x <=> 1",
    "timestampdiff(MINUTE, event_time, event_time) = 0", "a[0] = 'b'", "k || 'b' = 'ab'", "struct(x, k) = struct(1, k)",
    "x IS DISTINCT FROM 1", "k RLIKE 'a' AND k REGEXP 'b'", "x DIV 2 = 1", "-x = ~x", "(x, k) IN ((1, 'a'))",
    "k COLLATE UTF8_LCASE = 'a'", "overlay(k PLACING 'b' FROM 1) = 'b'", "if(paid, 1, 2) = 1", "x IS TRUE",
]  # fmt: skip


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    values = [(0, "a", ["b"], True)]
    return spark.createDataFrame(values, "x int, k string, a array<string>, paid boolean").selectExpr(
        "*", "timestamp_seconds(x) AS event_time"
    )


def refused(rows: DataFrame, text: str) -> bool:
    try:
        column_of(rows, text)
    except SpecError:
        return True
    return False


def test_what_has_no_value_is_null_and_ends_no_job(rows: DataFrame) -> None:
    before = rows.sparkSession.conf.get("spark.sql.ansi.enabled")
    assert [text for text in VALUELESS if check(text, TYPES, condition=True).faults] == []
    assert [text for text in VALUELESS if matching(rows, text).count()] == []
    assert with_expression(rows, "y", "1 / x").first()["y"] is None
    assert rows.sparkSession.conf.get("spark.sql.ansi.enabled") == before == "true"


def test_sparks_own_parser_finds_every_function_that_is_not_of_a_row(rows: DataFrame) -> None:
    names = [*sorted(FOREIGN | MOVING | MAKE_ROWS | OF_MANY_ROWS), "ai_query", "read_files"]
    forms = ["{}('a') = k", "`{}`('a') = k", "builtin.`{}`('a') = k", "exists(a, y -> `{}`(y) = k)"]
    assert [text for name in names for form in forms if not refused(rows, text := form.format(name))] == []


@pytest.mark.parametrize(
    "text",
    [
        "current_date > event_time", "`current_timestamp` > event_time", "user = k", "identifier('rand')() > 1",
        "x > (SELECT 1)", "x IN (SELECT 1)", "EXISTS (SELECT 1)", "sum(x) OVER () > 1", ":x > 1", "upper(*) = 'a'",
    ],
)  # fmt: skip
def test_what_looks_beyond_the_row_is_refused_by_sparks_own_parser(rows: DataFrame, text: str) -> None:
    with pytest.raises(SpecError, match="is no function of a single row; leave it out"):
        column_of(rows, text)


def test_what_the_checker_lets_pass_spark_takes_too(rows: DataFrame) -> None:
    assert {text: check(text, TYPES).faults for text in SYNTAX_FORMS if check(text, TYPES).faults} == {}
    for text in SYNTAX_FORMS:
        assert matching(rows, text).count() in (0, 1), text


@pytest.mark.parametrize("text", ["upper(k)", "a = 3", "event_time > 5", "nonsuch > 1", "x >", "paid + a"])
def test_what_spark_refuses_is_said_in_one_line(rows: DataFrame, text: str) -> None:
    with pytest.raises(SpecError, match="is refused by Spark") as refusal:
        matching(rows, text)
    assert "\n" not in str(refusal.value)


def test_check_asks_sparks_analyser(spark: SparkSession, tmp_path: Path) -> None:
    dataset = (
        DATASET
        + """derived:
  parts: from_json(route, 'a int, b string')
  odd: luhn_check(route, fare)
exclude:
  never: nvl2(fare, 1, 2)
"""
    )
    queries = [
        QUERY + "where: nvl2(fare, 1, 2)\n",
        QUERY.replace("name: fares", "name: parted").replace("[route]", "[parts]"),
        QUERY.replace("name: fares", "name: oddly").replace("[route]", "[odd]"),
        QUERY.replace("name: fares", "name: sound") + "where: isnotnull(fare)\n",
    ]
    catalog = load_catalog(write_specs(tmp_path, [dataset], queries))
    assert catalog.problems == ()

    found = [str(problem) for problem in analysed(spark, catalog)]

    assert [line.split(": is ")[0] for line in found] == [
        "datasets/trips.yaml: derived.odd", "datasets/trips.yaml: exclude.never", "queries/fares.yaml: where",
        "queries/parted.yaml: group_by",
    ]  # fmt: skip
    assert "a structure, and a key is one value; derive one, e.g. parts.field" in found[3]
