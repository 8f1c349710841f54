"""Expressions checked without Spark: what is wrong is named with its file, key, value and a remedy."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pytest
import yaml

from jobs.cli.check import run
from shedding.config import Settings
from shedding.spec import load_catalog
from shedding.spec.expressions import check
from shedding.spec.spark_functions import FOREIGN, MAKE_ROWS, MOVING, OF_MANY_ROWS

COLUMNS = {"fare": "double", "zone": "string", "at": "timestamp", "items": "array<string>"}
DATASET = {
    "name": "trips",
    "source": {"kind": "csv", "path": "*.csv"},
    "schedule": {"every": "1 hour"},
    "event_time": {"column": "at"},
    "columns": [{"name": "at", "type": "timestamp"}, {"name": "fare", "type": "double"}],
    "derived": {"cents": "round(fare * 100)", "double_cents": "cents * 2"},
    "exclude": {"free": "fare = 0"},
}


@pytest.mark.parametrize(
    "text",
    [
        "CASE WHEN fare BETWEEN 1 AND 3 THEN concat(zone, '-', fare) END",
        "coalesce(nullif(regexp_extract(zone, '^/([^/?]+)/', 1), ''), '/')",
        "CAST(floor((fare + 74.9) / 0.005986) + 1 AS INT)",
        "exists(items, x -> x > fare) AND Zone RLIKE 'a.*'",
        "timestampdiff(MINUTE, at, at + INTERVAL 1 DAY) > 5 AND at < DATE '2020-01-01'",
        "if(fare <=> 1, left(zone, 2), items[0])",
        "zone LIKE ANY ('a%', 'b%') AND zone = 'now'",
        "`upper`(zone) = `zone`",
        "extract(HOUR FROM at) IN (1, 2) AND try_cast(zone AS INT) IS NOT NULL",
        "`fare` div 2 = 3",
    ],
)
def test_sound_expressions_pass(text: str) -> None:
    assert check(text, COLUMNS).faults == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fair > 0", "no column 'fair' (did you mean fare?); there is: fare, zone, at, items"),
        ("concatt(zone, 'x')", "Spark has no function 'concatt' (did you mean concat?)"),
        ("fare >", "no SQL expression: an operand is missing"),
        ("(fare > 0", "no SQL expression: Expecting )"),
        ("CAST(fare AS NUMBERISH)", "no SQL expression: Expected TYPE after CAST"),
        ("fare zone", "more than one SQL expression"),
        ("fare, zone", "more than one SQL expression"),
        ("fare > 1) OR (1 = 1", "a bracket is closed that was not opened"),
        ("fare > 1 -- really", "it has a comment"),
        ("fare > 1 /* really */", "it has a comment"),
        ("fare > :limit", "a parameter or a star"),
        ("fare > ?", "a parameter or a star"),
        ("*", "a parameter or a star"),
        ("fare > (SELECT 1)", "it has a query inside"),
        ("EXISTS (SELECT 1)", "it has a query inside"),
        ("fare IN (SELECT fare FROM trips)", "it has a query inside"),
        ("avg(fare) > 1", "avg looks at many rows"),
        ("count(*) > 1", "a parameter or a star"),
        ("first(fare) > 1", "first looks at many rows"),
        ("any(fare > 1)", "any looks at many rows"),
        ("sum(fare) OVER () > 1", "sum looks at many rows"),
        ("row_number() OVER (ORDER BY fare) = 1", "row_number looks at many rows"),
        ("window(at, '1 hour') IS NULL", "window looks at many rows"),
        ("explode(items) = 'a'", "explode makes several rows of one"),
        ("raise_error('x')", "raise_error ends the job or leaves SQL"),
        ("reflect('java.util.UUID', 'randomUUID') = zone", "reflect ends the job or leaves SQL"),
    ],
)
def test_broken_expressions_are_named_with_a_remedy(text: str, words: str) -> None:
    (fault,) = check(text, COLUMNS).faults
    assert words in fault


@pytest.mark.parametrize(
    "text",
    [
        "rand() > 0.5", "RAND(7) > 0.5", "random() > 0.5", "randn() > 0", "uniform(0, 1) > 0", "uuid() = zone",
        "shuffle(items)[0] = zone", "current_timestamp() > at", "current_timestamp > at", "CURRENT_DATE > at",
        "now() > at", "localtimestamp() > at", "curdate() > at", "unix_timestamp() > 5", "current_user() = zone",
        "current_timezone() = zone", "version() = zone", "monotonically_increasing_id() > 1",
        "spark_partition_id() = 0", "input_file_name() = zone", "aes_encrypt(zone, zone) = zone",
    ],
)  # fmt: skip
def test_what_another_run_would_see_otherwise_is_refused(text: str) -> None:
    (fault,) = check(text, COLUMNS).faults
    assert "gives another value in a re-run; use the row's own columns" in fault


@pytest.mark.parametrize(
    "form",
    [
        "`{}`('a') = zone", "`{}` ('a') = zone", "builtin.{}('a') = zone", "`system`.`builtin`.`{}`('a') = zone",
        "exists(items, x -> `{}`(x) = 'a')",
    ],
)  # fmt: skip
def test_no_quotes_and_no_path_hide_a_function_that_is_not_of_a_row(form: str) -> None:
    names = [*sorted(FOREIGN | MOVING | MAKE_ROWS | OF_MANY_ROWS), "ai_query", "read_files"]
    assert [name for name in names if not check(form.format(name), COLUMNS).faults] == []
    (fault,) = check(form.format("REFLECT"), COLUMNS).faults
    assert "reflect" in fault


@pytest.mark.parametrize("text", ["`current_date` > at", "`Current_User` = zone", "r'\\' || `rand`() || 'x' = zone"])
def test_no_quotes_hide_what_needs_no_brackets(text: str) -> None:
    (fault,) = check(text, COLUMNS).faults
    assert "gives another value in a re-run" in fault


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("upper(zone)", "a value, not a condition"),
        ("coalesce(fare, 0)", "a value, not a condition"),
        ("CASE WHEN fare > 1 THEN zone END", "a value, not a condition"),
        ("items", "a value, not a condition"),
        ("split(zone, ',')", "a value, not a condition"),
        ("zone RLIKE '['", "'[' is no regular expression"),
        ("regexp_like(zone, '(')", "'(' is no regular expression"),
        ("regexp_replace(zone, '*', '') = ''", "'*' is no regular expression"),
        ("items = zone", "compares a list with a text; cast one"),
        ("at > 5", "compares a number with a time; cast one"),
        ("map('a', 1) = 3", "compares a map with a number; cast one"),
        ("fare AND zone = 'a'", "fare is a number, and AND, OR and NOT take conditions"),
        ("NOT items", "items is a list, and AND, OR and NOT"),
        ("at > 'now'", "is another time in every run"),
        ("at BETWEEN '2020-01-01' AND 'Today'", "is another time in every run"),
        ("to_date('now') > at", "is another time in every run"),
    ],
)
def test_types_that_spark_refuses_are_named_with_a_remedy(text: str, words: str) -> None:
    (fault,) = check(text, COLUMNS, condition=True).faults
    assert words in fault


@pytest.mark.parametrize("joint", [" OR ", " AND ", " + "])
def test_an_expression_of_many_terms_is_checked_in_the_time_of_its_length(joint: str) -> None:
    seconds = []
    for terms in (100, 1000):
        text = joint.join(f"fare * {term}" if joint == " + " else f"zone = 'v{term}'" for term in range(terms))
        tries = []
        for _ in range(3):  # the least: a busy machine makes some of them slow
            started = time.process_time()
            assert check(text, COLUMNS).faults == []
            tries.append(time.process_time() - started)
        seconds.append(min(tries))
    assert seconds[1] < 40 * seconds[0], seconds


@pytest.mark.parametrize("text", ["TIMESTAMP 'now' > at", "CAST('today' AS DATE) > at", "DATE 'Yesterday' > at"])
def test_words_for_the_time_of_the_run_are_refused(text: str) -> None:
    (fault,) = check(text, COLUMNS).faults
    assert "is another time in every run" in fault


def test_a_column_may_be_named_like_a_function_without_brackets() -> None:
    assert check("user = 'a' AND version > 1 AND count > 3", dict.fromkeys(["user", "version", "count"])).faults == []


@pytest.mark.parametrize("text", ["fare", "(fare)", "1", "'yes'", "fare + 1", "NULL", "-fare"])
def test_a_value_is_no_condition(text: str) -> None:
    (fault,) = check(text, COLUMNS, condition=True).faults
    assert "a value, not a condition; compare it" in fault
    assert check(text, COLUMNS).faults == []


@pytest.mark.parametrize("text", ["paid", "NOT paid", "true", "isnull(fare)", "fare IS NULL", "zone IN ('a')"])
def test_a_condition_may_be_a_column_a_function_or_a_comparison(text: str) -> None:
    assert check(text, COLUMNS | {"paid": "boolean"}, condition=True).faults == []


def test_check_names_file_key_and_value(tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    query = {
        "name": "mean", "dataset": "trips", "window": {"size": "1 hour"}, "where": "cent > 1",
        "measures": [{"name": "fare", "agg": "avg", "column": "fare"}], "schedule": {"every": "1 hour"},
        "shed": {"budget": {"fraction": 0.1}},
    }  # fmt: skip
    wrong = DATASET | {"derived": {"early": "cents + 1", "cents": "fare * 100"}, "exclude": {"free": "fare =="}}
    for kind, spec in (("datasets", wrong), ("queries", query)):
        (tmp_path / "specs" / kind).mkdir(parents=True)
        (tmp_path / "specs" / kind / f"{spec['name']}.yaml").write_text(yaml.safe_dump(spec, sort_keys=False))
    own = settings.model_copy(update={"specs": tmp_path / "specs"})

    assert run(argparse.Namespace(spark=False), own) == 1

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("datasets/trips.yaml: derived.early: is 'cents + 1': no column 'cents'")
    assert lines[1].startswith("datasets/trips.yaml: exclude.free: is 'fare ==': no SQL expression")
    assert lines[2].startswith("queries/mean.yaml: dataset: is 'trips', which has no valid datasets/trips.yaml")

    (tmp_path / "specs" / "datasets" / "trips.yaml").write_text(yaml.safe_dump(DATASET, sort_keys=False))

    assert run(argparse.Namespace(spark=False), own) == 1
    assert capsys.readouterr().out.startswith(
        "queries/mean.yaml: where: is 'cent > 1': no column 'cent' (did you mean cents?)"
    )


def test_the_repositorys_own_expressions_are_sound() -> None:
    assert load_catalog(Settings().specs).problems == ()


@pytest.mark.parametrize("text", ["(" * 3000 + "fare" + ")" * 3000, "NOT " * 3000 + "zone", "-" + " -" * 3000 + "fare"])
def test_what_is_nested_beyond_measure_is_a_fault_and_no_exception(text: str) -> None:
    (fault,) = check(text, COLUMNS).faults
    assert "nested too deeply" in fault
