"""The catalog: each wrong file becomes problems that name file, key, value and remedy, and hides no other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from shedding.errors import SpecError
from shedding.spec import DatasetSpec, QuerySpec, load_catalog
from shedding.spec.problems import problem_of
from shedding.spec.reserved_names import RESERVED
from tests.small_specs import DATASET, QUERY, generated_trips, write_specs


def problems_of(tmp_path: Path, kind: str, text: str) -> list[str]:
    """The problems when the small query or dataset is replaced by `text`."""
    specs = write_specs(tmp_path / "specs")
    (specs / kind / f"{'fares' if kind == 'queries' else 'trips'}.yaml").write_text(text)
    return [str(problem) for problem in load_catalog(specs).problems]


def test_the_small_specifications_are_valid(tmp_path: Path) -> None:
    catalog = load_catalog(write_specs(tmp_path / "specs"))
    assert (list(catalog.datasets), list(catalog.queries), catalog.problems) == (["trips"], ["fares"], ())


@pytest.mark.parametrize(
    ("old", "new", "key", "remedy"),
    [
        ("size: 1 hour", "size: 1 fortnight", "window.size", "30 minutes"),
        ("size: 1 hour", "size: 0 hours", "window.size", "positive"),
        ("{size: 1 hour}", "{size: 1 hour, slide: 7 minutes}", "schedule.every", "no multiple of window.slide"),
        ("fraction: 0.1", "fraction: 0", "shed.budget.fraction", "greater than 0"),
        ("fraction: 0.1", "fraction: 1.5", "shed.budget.fraction", "less than or equal to 1"),
        ("fraction: 0.1", "rows: -3", "shed.budget.rows", "greater than 0"),
        ("fraction: 0.1", "fraction: 0.1, rows: 5", "shed.budget", "exactly one of"),
        ("policy: uniform", "policy: unifrom", "shed.policy", "'uniform'"),
        ("column: fare", "column: fair", "measures.mean_fare.column", "it has: pickup, route, fare"),
        ("[route]", "[rout]", "group_by", "it has: pickup, route, fare"),
        ("[route]", "[route, route]", "", "names a column twice"),
        ("agg: avg", "agg: average", "measures.0.agg", "'avg'"),
        ("agg: avg", "agg: max", "", "shed.policy: exact"),
        ("agg: avg", "agg: count_distinct", "", "no honest estimate from a sample"),
        ("agg: avg, column: fare", "agg: avg", "measures.0", "needs column"),
        ("agg: avg", "agg: quantile", "measures.0", "q: 0.9"),
        ("dataset: trips", "dataset: trip", "dataset", "there is: trips"),
        ("name: fares", "name: fare", "name", "rename the file to fare.yaml"),
        ("schedule:", "top: {by: x, n: 3}\nschedule:", "", "measures: mean_fare"),
        ("schedule:", "audit: {verify: 10 minutes}\nschedule:", "", "verify: 7 days"),
        ("schedule:", "audit: {verify: weekly}\nschedule:", "audit.verify", "30 minutes"),
        ("schedule:", "gate: {top_missed: 1}\nschedule:", "", "goes with top"),
        ("schedule:", "gate: {mean_relative_error: 0.5, p95_relative_error: 0.1}\nschedule:", "gate", "widen"),
        ("schedule:", "gate: {coverage: 1.5}\nschedule:", "gate.coverage", "less than 1"),
        ("schedule:", "gate: {warn: [speling]}\nschedule:", "gate", "which is no check"),
        ("schedule:", "polcy: x\nschedule:", "polcy", "unknown key"),
        ("window: {size: 1 hour}\n", "", "window", "is missing; add it"),
        ("schedule:", "gate: {mean_relative_eror: 1}\nschedule:", "gate.mean_relative_eror", "mean_relative_error?"),
        ("agg: avg", "agg: avg, colum: fare", "measures.0.colum", "known keys: name, agg, column, over, q"),
        ("{size: 1 hour}", "1 hour", "window", "write a mapping with the keys size, slide"),
        ("{size: 1 hour}", "{size: 60}", "window.size", "30 minutes"),
        ("{size: 1 hour}", "{size: 1:30}", "window.size", "30 minutes"),
        ("{size: 1 hour}", "{size: 1000 weeks, slide: 1 second}", "", "panes of 1 second, more than 100000"),
        ("name: fares", "name: Fares", "name", "lower-case letters a-z, digits and _"),
        ("name: fares", "name: ../fares", "name", "lower-case letters"),
        ("name: fares", "name: 5", "name", "write text"),
        ("schedule:", "1: 2\nschedule:", "1", "keys are words"),
        ("schedule:", "tags: a\nschedule:", "tags", "write a list"),
        ("schedule:", "owner: ''\nschedule:", "owner", "at least 1 character"),
        ("fraction: 0.1", "fraction: 5%", "shed.budget.fraction", "write a number"),
        ("fraction: 0.1", "fraction: 1.0000001", "shed.budget.fraction", "less than or equal to 1"),
        ("fraction: 0.1", "fraction: true", "shed.budget.fraction", "not true or false"),
        ("fraction: 0.1", "fraction: .nan", "shed.budget.fraction", "finite"),
        ("fraction: 0.1", "rows: 1.5", "shed.budget.rows", "write a whole number"),
        ("fraction: 0.1", "rows: true", "shed.budget.rows", "not true or false"),
        ("schedule:", "gate: {mean_relative_error: .inf}\nschedule:", "gate.mean_relative_error", "finite"),
        ("schedule:", "audit: {one_in: 0}\nschedule:", "audit.one_in", "greater than or equal to 1"),
        ("policy: uniform", "policy: uniform, compare: [unifrom]", "shed.compare.0", "'uniform'"),
        ("agg: avg", "agg: quantile, q: 50", "measures.0.q", "less than 1"),
        ("column: fare", "column: route", "measures.mean_fare.column", "a string, and avg needs a number"),
        ("column: fare", "column: pickup", "measures.mean_fare.column", "a timestamp, and avg needs a number"),
        ("name: mean_fare", "name: slot", "", "reserved by Sluice"),
        ("name: mean_fare", "name: revision", "", "reserved by Sluice"),
        ("name: mean_fare", "name: route", "", "taken by key 'route'"),
        ("schedule:", "where: rand() < 0.5\nschedule:", "where", "gives another value in a re-run"),
        ("schedule:", "where: fare\nschedule:", "where", "not a condition"),
    ],
)  # fmt: skip
def test_a_wrong_query_names_file_key_and_remedy(tmp_path: Path, old: str, new: str, key: str, remedy: str) -> None:
    assert old in QUERY
    found = problems_of(tmp_path, "queries", QUERY.replace(old, new))
    assert len(found) == 1
    assert found[0].startswith("queries/fares.yaml: ")
    assert remedy in found[0]
    assert key in found[0]


@pytest.mark.parametrize(
    ("old", "new", "key", "remedy"),
    [
        ("kind: csv", "kind: xml", "source", "'csv'"),
        ("column: pickup", "column: dropoff", "", "declared: pickup, route, fare"),
        ("{column: pickup}", "{}", "event_time", "exactly one of column and arrival"),
        ("type: double", "type: float", "columns.2.type", "'double'"),
        ("{name: route}", "{name: route, min: 3}", "columns.1", "min and max are for numbers"),
        ("type: double", "type: double, min: 9, max: 1", "columns.2", "swap them"),
        ("{name: route}", "{name: slot}", "", "reserved by Sluice"),
        ("{name: route}", "{name: fare}", "", "more than once"),
        ("schedule:", "identity: [id]\nschedule:", "", "no declared column"),
        ("schedule:", "layout: {kind: ranked}\nschedule:", "layout", "needs keys"),
        ("schedule:", "retention: never\nschedule:", "retention", "30 minutes"),
        ("{name: route}", "{name: Fare}", "", "more than once"),
        ("{name: route}", "{name: Event_Time}", "", "reserved by Sluice"),
        ("{name: route}", "{name: größe}", "columns.1.name", "letters A-Z and a-z"),
        ("{name: route}", "{name: route, source: fare}", "", "declare it once and derive the other"),
        ("{name: route}", "{name: route, source: ''}", "columns.1.source", "at least 1 character"),
        ("{name: route}", "{name: route, one_of: []}", "columns.1.one_of", "at least 1 item"),
        ("{name: route}", "{name: route, matches: '[a'}", "columns.1.matches", "no regular expression"),
        ("{name: route}", "{name: route, type: array<string>}", "", "which csv cannot hold"),
        ("{name: route}", "route", "columns.1", "write a mapping with the keys name, type"),
        ("type: double", "type: double, min: .nan", "columns.2.min", "finite"),
        ("type: timestamp", "type: timestamp, format: YYYY-MM-DD", "columns.0.format", "the year is yyyy"),
        ("column: pickup", "column: route", "", "declare it a timestamp"),
        ("column: pickup", "column: fare", "", "unit: seconds"),
        ("column: pickup", "column: pickup, unit: seconds", "", "declare it a number"),
        ("column: pickup", "column: pickup, zone: Mars/Phobos", "event_time.zone", "Europe/Paris"),
        ("column: pickup", "column: pickup, not_after: 2012", "event_time.not_after", "not an instant"),
        ("trips/*.csv", "/etc/*", "source.csv.path", "below the landing directory"),
        ("trips/*.csv", "../*.csv", "source.csv.path", "below the landing directory"),
        ("kind: csv", "kind: csv, delimiter: '||'", "source.csv.delimiter", "one character"),
        ("kind: csv", "kind: csv, encoding: latin1", "source.csv.encoding", "known keys: path, kind, delimiter"),
        ("kind: csv, ", "", "source", "needs kind, one of 'generator', 'csv', 'parquet', 'transactions'"),
        ("kind: csv", "kind: transactions", "", "it makes: item, position, transaction, file"),
        ('kind: csv, path: "trips/*.csv"', "kind: generator", "", "it makes: pickup_datetime, route"),
        ("schedule:", "identity: [route, route]\nschedule:", "", "identity names a column twice"),
        ("schedule:", "derived: {half: rand()}\nschedule:", "derived.half", "gives another value in a re-run"),
        ("schedule:", "derived: {top: max(fare)}\nschedule:", "derived.top", "looks at many rows"),
        ("schedule:", "derived: {FARE: fare}\nschedule:", "", "more than once"),
        ("schedule:", "derived: {'a b': fare}\nschedule:", "derived.a b", "letters A-Z"),
        ("schedule:", "exclude: {'': fare = 0}\nschedule:", "exclude", "at least 1 character"),
        ("schedule:", "exclude: {half: rand() < 0.5}\nschedule:", "exclude.half", "gives another value in a re-run"),
        ("{column: pickup}", "{column: half}\nderived: {half: pickup}", "", "no declared column"),
    ],
)
def test_a_wrong_dataset_names_file_key_and_remedy(tmp_path: Path, old: str, new: str, key: str, remedy: str) -> None:
    assert old in DATASET
    found = problems_of(tmp_path, "datasets", DATASET.replace(old, new))
    assert found[0].startswith("datasets/trips.yaml: ")
    assert remedy in found[0]
    assert key in found[0]
    # The query on the broken dataset cannot be built either, and says whose fault that is.
    assert found[1].startswith("queries/fares.yaml: dataset: is 'trips', which has no valid datasets/trips.yaml")


@pytest.mark.parametrize(
    ("keys", "measures", "words"),
    [
        ("[route]", ["mean_fare", "mean_fare_low"], "measure 'mean_fare_low' makes a column mean_fare_low in results"),
        ("[fare_n]", ["fare"], "makes a column fare_n in panes, taken by key 'fare_n'"),
        ("[Mean]", ["mean"], "taken by key 'Mean'"),
        ("[rows_fare]", ["total"], "key 'rows_fare' is also the name of the count of fare"),
        ("[route]", ["x", "x_audit"], "makes a column x_audit_mean_error in runs, taken by measure 'x'"),
    ],
)
def test_two_columns_of_one_table_never_share_a_name(
    tmp_path: Path, keys: str, measures: list[str], words: str
) -> None:
    lines = "".join(f"  - {{name: {name}, agg: sum, column: fare}}\n" for name in measures)
    text = QUERY.replace("[route]", keys).replace("  - {name: mean_fare, agg: avg, column: fare}\n", lines)
    (found,) = problems_of(tmp_path, "queries", text)
    assert words in found


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_no_column_has_a_name_of_the_tables_own(tmp_path: Path, name: str) -> None:
    found = problems_of(tmp_path, "datasets", DATASET.replace("{name: route}", f"{{name: {name}}}"))
    assert f"column name {name} is reserved by Sluice; rename it with `source:`" in found[0]
    assert (
        "reserved by Sluice" in problems_of(tmp_path, "queries", QUERY.replace("name: mean_fare", f"name: {name}"))[0]
    )


@pytest.mark.parametrize(
    ("derived", "key", "words"),
    [
        ("map('a', fare)", "group_by", "is 'made', a map, and a key is one value; derive one, e.g. made['key']"),
        ("struct(fare)", "group_by", "is 'made', a structure, and a key is one value; derive one, e.g. made.field"),
        ("split(route, ',')", "group_by", "is 'made', a list, and a key is one value; derive one, e.g. made[0]"),
        (
            "upper(route)",
            "column",
            "a string, and avg needs a number; declare or derive one, e.g. CAST(made AS DOUBLE)",
        ),
        ("to_date(pickup)", "column", "a date, and avg needs a number; declare or derive one, e.g. unix_date(made)"),
        ("CAST(route AS TIMESTAMP)", "column", "a timestamp, and avg needs a number"),
        ("split(route, ',')", "column", "a list, and avg needs a number"),
        ("map('a', fare)", "distinct", "a map, and count_distinct needs one value"),
    ],
)
def test_a_derived_column_is_used_for_what_its_type_can_be(tmp_path: Path, derived: str, key: str, words: str) -> None:
    specs = write_specs(tmp_path / "specs", [DATASET + f'derived: {{made: "{derived}"}}\n'])
    text = QUERY.replace("[route]", "[made]") if key == "group_by" else QUERY.replace("column: fare", "column: made")
    if key == "distinct":
        text = text.replace("agg: avg", "agg: count_distinct").replace("policy: uniform", "policy: exact")
    (specs / "queries" / "fares.yaml").write_text(text)
    (problem,) = load_catalog(specs).problems
    assert words in str(problem)


def test_names_that_only_look_like_parts_are_free(tmp_path: Path) -> None:
    lines = "".join(f"  - {{name: {name}, agg: sum, column: fare}}\n" for name in ("fare", "fare_mean", "select"))
    text = QUERY.replace("  - {name: mean_fare, agg: avg, column: fare}\n", lines)
    assert problems_of(tmp_path, "queries", text) == []


def test_an_exact_only_measure_is_compared_with_nothing(tmp_path: Path) -> None:
    text = QUERY.replace("agg: avg", "agg: max").replace("policy: uniform", "policy: exact, compare: [uniform]")
    (found,) = problems_of(tmp_path, "queries", text)
    assert "write shed.policy: exact and no shed.compare" in found


def test_a_file_that_is_no_yaml_is_a_problem_and_not_an_exception(tmp_path: Path) -> None:
    specs = write_specs(tmp_path / "specs")
    (specs / "queries" / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    (specs / "queries" / "list.yaml").write_text("- 1\n")
    (specs / "queries" / "unclosed.yaml").write_text("a: [\n")
    catalog = load_catalog(specs)
    assert len(catalog.problems) == 3
    assert list(catalog.queries) == ["fares"]


ANYTHING = [
    "", [], {}, None, True, "x", -1, 0, 1.5, 10**30, "x" * 300, [1], [None], {"a": 1}, {1: 2}, float("nan"),
    float("inf"), [[]], "1 hour", ["a", "a"], {"kind": "x"},
]  # fmt: skip
EVERY_KEY = """
name: fares
description: d
owner: o
tags: [t]
dataset: trips
where: fare > 1
join: {dataset: trips, on: [route], where: fare > 1}
window: {size: 1 hour, slide: 1 hour}
group_by: [route]
measures: [{name: mean_fare, agg: quantile, column: fare, q: 0.5, near_zero: true, magnitude: 9}]
top: {by: mean_fare, n: 3}
schedule: {every: 1 hour}
shed: {policy: uniform, budget: {fraction: 0.1}, compare: [cod], goal: variance, groups: 3, completeness: required}
audit: {one_in: 2, drift_limit: 0.1}
gate:
  {mean_relative_error: 0.1, missing_keys: 0, coverage: 0.9, warn: [coverage], on_failure: ask, approval_timeout: 1 day}
"""
EVERY_DATASET_KEY = """
name: trips
source: {kind: csv, path: "*.csv", delimiter: tab, header: true, ragged: true}
schedule: {every: 1 hour}
event_time: {column: pickup, unit: timestamp, since: 2020-01-01, zone: UTC, not_before: 2020-01-01}
columns:
  - {name: pickup, type: timestamp, format: yyyy-MM-dd}
  - {name: route, source: r, one_of: [a], matches: a, required: true}
derived: {a: route}
exclude: {x: route = 'a'}
identity: [route]
partition: date
layout: {kind: ranked, keys: [route], pane: 1 hour}
retention: 7 days
"""


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a specification."""
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in inside:
        yield (*path, key)
        yield from places(value, (*path, key))


@pytest.mark.parametrize(("model", "text"), [(QuerySpec, EVERY_KEY), (DatasetSpec, EVERY_DATASET_KEY)])
def test_whatever_stands_anywhere_the_words_are_the_projects_own(model: type[BaseModel], text: str) -> None:
    for *before, last in places(yaml.safe_load(text)):
        for value in ANYTHING:
            content = yaml.safe_load(text)
            part = reduce(lambda inner, key: inner[key], before, content)
            part[last] = value
            try:
                model.model_validate(content)
            except ValidationError as error:
                for detail in error.errors():
                    problem = problem_of(Path("queries/fares.yaml"), model, detail)
                    own = detail["type"] == "value_error" or str(detail["msg"]) not in problem.message
                    assert own, (before, last, value, problem)


def test_an_ending_in_capitals_is_said_and_not_passed_over(tmp_path: Path) -> None:
    specs = write_specs(tmp_path / "specs")
    (specs / "queries" / "bad.YAML").write_text("name: [")
    (specs / "queries" / "good.Yml").write_text(QUERY)
    assert [str(problem) for problem in load_catalog(specs).problems] == [
        "queries/bad.YAML: ends in .YAML; rename it to bad.yaml",
        "queries/good.Yml: ends in .Yml; rename it to good.yml",
    ]


def test_a_pipe_or_a_bomb_of_aliases_is_one_problem_among_sound_files(tmp_path: Path) -> None:
    specs = write_specs(tmp_path / "specs")
    os.mkfifo(specs / "queries" / "pipe.yaml")
    bomb = "".join(f"b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    (specs / "queries" / "bomb.yaml").write_text("a: &a0 [x]\n" + bomb)
    catalog = load_catalog(specs)
    assert (list(catalog.queries), len(catalog.problems)) == (["fares"], 2)


def test_asking_for_a_broken_query_gives_its_problems(tmp_path: Path) -> None:
    specs = write_specs(tmp_path / "specs")
    (specs / "queries" / "fares.yaml").write_text(QUERY + "polcy: x\n")
    with pytest.raises(SpecError, match="polcy"):
        load_catalog(specs).query("fares")


def test_asking_for_an_unknown_query_tells_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="there is: fares"):
        load_catalog(write_specs(tmp_path / "specs")).query("nope")


def test_a_directory_that_is_not_there_says_how_to_name_another(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="--specs or SLUICE_SPECS"):
        load_catalog(tmp_path / "nowhere")


def test_a_joins_on_is_a_word_and_not_yamls_true(tmp_path: Path) -> None:
    joined = QUERY + "join: {dataset: trips, on: [route]}\n"
    assert problems_of(tmp_path, "queries", joined) == []


def test_a_query_may_not_have_the_name_of_a_dataset_even_of_a_broken_one(tmp_path: Path) -> None:
    specs = write_specs(tmp_path / "specs")
    (specs / "datasets" / "fares.yaml").write_text("name: [")
    catalog = load_catalog(specs)
    assert not catalog.queries
    clash = next(str(problem) for problem in catalog.problems if problem.file.parent.name == "queries")
    assert clash.startswith("queries/fares.yaml: name: is 'fares': a dataset has that name too")
    assert "rename the query" in clash


@pytest.mark.parametrize(
    ("old", "new", "remedy"),
    [
        ("agg: avg", "agg: quantile, q: 0.5", "a join answers count, sum, avg"),
        ("agg: avg, column: fare", "agg: ratio, column: fare, over: fare", "a join answers count, sum, avg"),
    ],
)
def test_a_join_says_which_measures_it_can_answer(tmp_path: Path, old: str, new: str, remedy: str) -> None:
    joined = QUERY.replace(old, new) + "join: {dataset: trips, on: [route]}\n"
    assert [remedy in problem for problem in problems_of(tmp_path, "queries", joined)] == [True]


def test_what_has_no_honest_estimate_is_refused_beside_an_exact_policy_too(tmp_path: Path) -> None:
    compared = QUERY.replace("agg: avg", "agg: min").replace("policy: uniform", "policy: exact, compare: [cod]")
    (problem,) = problems_of(tmp_path, "queries", compared)
    assert "shed.compare names cod" in problem
    alone = QUERY.replace("agg: avg", "agg: min").replace("policy: uniform", "policy: exact")
    assert problems_of(tmp_path, "queries", alone) == []


def test_columns_of_two_types_are_not_joined(tmp_path: Path) -> None:
    specs = write_specs(tmp_path / "specs")
    trips = (specs / "datasets" / "trips.yaml").read_text()
    other = trips.replace("name: trips", "name: tolls").replace("{name: route}", "{name: route, type: bigint}")
    assert other.count("bigint") == 1
    (specs / "datasets" / "tolls.yaml").write_text(other)
    (specs / "queries" / "fares.yaml").write_text(QUERY + "join: {dataset: tolls, on: [route]}\n")
    (problem,) = load_catalog(specs).problems
    assert "a string in trips and a bigint in tolls" in str(problem)


def test_a_generator_is_scheduled_by_whole_minutes(tmp_path: Path) -> None:
    specs = write_specs(tmp_path, [generated_trips(10, "90 seconds")], [])
    (problem,) = load_catalog(specs).problems
    assert "schedule.every is 90 seconds, and a generator makes whole minutes; write e.g. 1 minute" in str(problem)
    assert load_catalog(write_specs(tmp_path, [generated_trips(10, "90 minutes")], [])).problems == ()
