"""The table of the promise: what is met and what is not, and that its command knows all parts."""

from __future__ import annotations

import doctest
from collections.abc import Mapping

import pytest

from tests.benchmarks import promise_table
from tests.benchmarks.accuracy_streams import STREAMS
from tests.benchmarks.bench_promise import parts
from tests.benchmarks.promise_table import Line, family_lines, lines_of, readme_cells, table

GOOD = {
    "windows": 2100.0, "published": 2000.0, "over": 0.03, "low": 0.02, "high": 0.04, "repaired": 500.0,
    "over_repaired": 0.05, "published_share": 0.95, "rows_over_budget": 1.9,
}  # fmt: skip


def lines(name: str = "taxi, 1 in 25", **changes: float) -> dict[str, bool]:
    """What a family with these figures at twice the median meets."""
    figures: Mapping[str, Mapping[str, float]] = {"coverage": {"covered": 0.95}, "x2": {**GOOD, **changes}}
    return {line.what: line.met for line in family_lines(name, figures)}


def test_a_family_that_has_all_that_is_wanted_meets_all_of_it() -> None:
    assert len(lines()) == 5
    assert all(lines().values())


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"over": 0.081}, "truly over the limit"),
        ({"over": 0.07, "low": 0.06}, "truly over the limit"),
        ({"over_repaired": 0.051}, "the same after repair"),
        ({"published_share": 0.79}, "published without the whole slot"),
        ({"rows_over_budget": 2.01}, "all rows over the budget"),
    ],
)
def test_what_is_not_met_is_named(changes: dict[str, float], what: str) -> None:
    assert [name for name, met in lines(**changes).items() if not met] == [what]


def test_rows_are_judged_where_audits_are_rare_and_jumps_may_be_over_more_often() -> None:
    assert "all rows over the budget" not in lines("taxi, 1 in 20")
    assert lines("made, jump, 1 in 4", over=0.1, low=0.04)["truly over the limit"]


def test_coverage_above_is_no_fault_of_quantiles_alone() -> None:
    covered = {f"web / {name} / 5% / 1 in 4": {"over_plain": 1.0, "coverage": 0.99} for name in ("avg", "p90")}
    met = [line.met for line in lines_of("measure: web / x", covered) if line.what.startswith("coverage")]
    assert met == [False, True]


def test_every_stream_of_the_readme_is_a_part_and_its_cells_are_what_it_prints() -> None:
    assert set(readme_cells()) <= set(STREAMS)
    assert {part for part in parts() if part.startswith("accuracy")} == {f"accuracy: {name}" for name in readme_cells()}
    assert readme_cells()["taxi 30 min"] == {"2%": 0.203, "5%": 0.128, "10%": 0.084}


def test_what_is_not_met_comes_first() -> None:
    text = table([Line("a", "x", "1", "1", True), Line("a", "y", "2", "1", False), Line("b", "z", "1", "1", True)])
    assert [row.split(" | ")[1] for row in text.splitlines()[2:]] == ["y", "x", "z"]


def test_examples() -> None:
    assert doctest.testmod(promise_table).failed == 0
