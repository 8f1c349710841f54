"""Expressions checked without Spark: what is wrong is named with its file, key, value and a remedy."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
import yaml

from shedding.cli.check import run
from shedding.config import Settings
from shedding.spec import load_catalog
from shedding.spec.expressions import expression_problems, faults

COLUMNS = ["fare", "zone", "at", "items"]
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
        "extract(HOUR FROM at) IN (1, 2) AND try_cast(zone AS INT) IS NOT NULL",
        "`fare` div 2 = 3",
    ],
)
def test_sound_expressions_pass(text: str) -> None:
    assert faults(text, COLUMNS) == []


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
    ],
)
def test_broken_expressions_are_named_with_a_remedy(text: str, words: str) -> None:
    (fault,) = faults(text, COLUMNS)
    assert words in fault


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

    assert run(argparse.Namespace(), own) == 1

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("datasets/trips.yaml: derived.early: is 'cents + 1': no column 'cents'")
    assert lines[1].startswith("datasets/trips.yaml: exclude.free: is 'fare ==': no SQL expression")
    assert lines[2].startswith("queries/mean.yaml: where: is 'cent > 1': no column 'cent' (did you mean cents?)")


def test_the_repositorys_own_expressions_are_sound() -> None:
    specs = Settings().specs
    assert list(expression_problems(load_catalog(specs), specs)) == []
