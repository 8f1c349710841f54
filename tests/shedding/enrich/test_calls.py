"""Calls of users' functions: whatever one does, it stays with its row."""

from __future__ import annotations

import re
import sys
import time
from typing import Any

import numpy as np
import pytest

from shedding.enrich.calls import Calls
from shedding.errors import DataError


def results(function: Any, rows: list[Any], **how: Any) -> list[tuple[Any, str | None]]:
    found = Calls(function, "m:f", **how).results([(row,) for row in rows])
    assert all(result.cost_ns >= 0 and result.cpu_ns >= 0 for result in found)
    return [(result.value, result.error) for result in found]


def test_a_call_that_raises_leaves_the_others_their_values() -> None:
    assert results(lambda x: 1 / x, [1, 0, 4]) == [
        (1.0, None),
        (None, "ZeroDivisionError: division by zero"),
        (0.25, None),
    ]


def test_null_and_nan_are_no_values_and_no_errors() -> None:
    assert results(lambda x: x, [None, float("nan"), np.float64("nan"), np.float64(2)]) == [(None, None)] * 3 + [
        (2.0, None)
    ]


@pytest.mark.parametrize(
    ("kind", "good", "wrong"),
    [("double", 3, "x"), ("double", 1.5, True), ("double", 2, float("inf")), ("bigint", 7, 7.0), ("bigint", 7, 2**63),
     ("bigint", 1, True), ("string", "a", 1), ("boolean", True, 1)],
)  # fmt: skip
def test_values_of_another_type_are_errors_of_their_row(kind: str, good: Any, wrong: Any) -> None:
    (value, fine), (none, error) = results(lambda x: x, [good, wrong], kind=kind)
    assert (value, fine, none) == (good, None, None)
    assert error is not None
    assert f"which is no {kind}" in error


def test_a_call_that_hangs_is_ended_and_the_next_one_runs() -> None:
    def wait(seconds: float) -> float:
        try:
            time.sleep(seconds)
        except Exception:
            time.sleep(60)
        return seconds

    assert results(wait, [0.0, 60.0, 0.0], limit=0.05) == [(0.0, None), (None, "took longer than 0.05 s"), (0.0, None)]


def test_a_regular_expression_that_backtracks_for_ever_is_ended() -> None:
    slow = re.compile(r"(a+)+$")
    (_, error), (value, _) = results(lambda text: float(bool(slow.match(text))), ["a" * 40 + "b", "aa"], limit=0.05)
    assert error == "took longer than 0.05 s"
    assert value == 1.0


def test_what_a_function_prints_goes_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    def loud(x: int) -> int:
        print("x" * 1_000_000)
        print("y", file=sys.stderr)
        return x

    assert results(loud, [1]) == [(1.0, None)]
    assert capsys.readouterr() == ("", "")


def test_a_batch_function_gets_lists_and_its_failures_are_narrowed_to_the_row() -> None:
    calls: list[int] = []

    def double(values: list[int]) -> list[int]:
        calls.append(len(values))
        return [2 * value for value in values if value != 13]

    found = results(double, list(range(600)), batch=True)
    assert [value for value, _ in found] == [None if x == 13 else 2.0 * x for x in range(600)]
    assert found[13][1] == "returned 0 values for 1 rows; return a list of one value a row"
    assert calls == [256, *[1] * 256, 256, 88]


def test_fail_ends_the_job_with_the_row_and_the_remedy() -> None:
    with pytest.raises(DataError, match=r"m:f failed on \(0,\): ZeroDivisionError.*on_error: null or quarantine"):
        results(lambda x: 1 / x, [1, 0], fail=True)
