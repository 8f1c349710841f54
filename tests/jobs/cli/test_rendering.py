"""Rows for people fit their terminal; rows for programs are what their form's standard says."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from jobs.cli.rendering import coloured, json_text, print_rows, render

ROW = {"window_start": "2026-11-02T00:00:00Z", "route": "a" * 60, "mean_fare": 1.5, "is_exact": True, "note": None}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.slow
@given(VALUES)
def test_json_is_of_the_standard_whatever_the_values(value: Any) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    json.loads(json_text(value), parse_constant=refuse)


def test_no_number_is_null_in_json() -> None:
    assert json_text({"a": math.inf, "b": [-math.inf, math.nan]}) == '{"a": null, "b": [null, null]}'


@pytest.mark.parametrize("width", [20, 40, 80, 119, 200])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_no_line_is_longer_than_the_terminal(width: int, count: int) -> None:
    text = render([ROW] * count, list(ROW), "table", width)
    assert max(map(len, text.splitlines())) <= width
    assert all(name in text for name in ROW)


def test_a_table_that_fits_is_a_table_and_elsewhere_it_always_is() -> None:
    assert render([ROW], list(ROW), "table", 200) == render([ROW], list(ROW), "table")
    assert len(render([ROW] * 3, list(ROW), "table").splitlines()) == 5


def test_programs_get_whole_values_on_any_terminal() -> None:
    assert json.loads(render([ROW], list(ROW), "json", 20)) == ROW
    assert render([ROW], list(ROW), "csv", 20) == render([ROW], list(ROW), "csv")


def test_a_terminal_shows_the_same_cells_in_colours_and_red_where_a_check_failed() -> None:
    rows = [{"check": "[bold]rows", "passed": True, "observed": 1.5}, {"check": "b", "passed": False, "observed": None}]
    stream = io.StringIO()
    Console(file=stream, force_terminal=True, color_system="standard", width=80).print(coloured(rows, list(rows[0])))
    first, second = stream.getvalue().splitlines()[1:]
    assert "[bold]rows" in first
    assert "\x1b[31m" not in first
    assert "\x1b[31m" in second


def test_without_a_terminal_nothing_has_a_colour(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([ROW], list(ROW))
    assert capsys.readouterr().out == render([ROW], list(ROW), "table") + "\n"
    print_rows([], list(ROW), "json")
    assert capsys.readouterr().out == ""
