"""Verified windows against the gate's risk: exact intervals, and figures that are those of the rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from jobs.cli.rendering import render
from jobs.cli.verify import as_text
from shedding.compare.promise import (
    APPROVED,
    COLUMNS,
    PASSED,
    REPAIRED,
    broken_promises,
    clopper_pearson,
    promise_lines,
)
from shedding.compare.verification import SCHEMA

HOUR = 3_600_000_000


def window(number: int = 0, truth: float = 0.1, limit: float | None = 0.2, **changes: Any) -> dict[str, Any]:
    """A row of `verifications/<query>`."""
    return {
        "slot": "s", "window_start": number * HOUR, "window_end": (number + 1) * HOUR, "measure": "fare",
        "verdict": PASSED, "keys": 3, "missing_keys": 0, "is_exact": False, "mean_truth": truth,
        "mean_estimate": 0.08, "mean_bound": 0.15, "mean_limit": limit,
        "mean_over": None if limit is None else truth > limit, "interval_error": 0.09, "estimates": 3, "covered": 2,
        "size_class": [0, 3], "size_keys": [1, 2], "size_truth": [truth, truth / 2], "size_interval_error": [0.3, 0.1],
        "size_estimates": [1, 2], "size_covered": [0, 2], **changes,
    }  # fmt: skip


def lines_of(rows: list[dict[str, Any]], risk: float = 0.05, overlap: int = 1) -> list[dict[str, Any]]:
    return promise_lines(pa.Table.from_pylist(rows, schema=SCHEMA), risk, overlap)


def part(lines: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["part"] == name]


@given(st.integers(1, 80), st.floats(0.001, 0.999))
def test_the_interval_of_a_share_holds_the_true_one_at_least_95_times_in_100(trials: int, share: float) -> None:
    hits = np.arange(trials + 1)
    ends = [clopper_pearson(float(k), trials) for k in hits]
    inside = np.array([low <= share <= high for low, high in ends])
    assert binom.pmf(hits, trials, share)[inside].sum() >= 0.95 - 1e-9
    assert all(low <= k / trials <= high for k, (low, high) in zip(hits, ends, strict=True))
    assert ends == sorted(ends)


def test_the_interval_of_nothing_tried_is_everything() -> None:
    assert clopper_pearson(0, 0) == (0.0, 1.0)


ROWS = st.lists(
    st.builds(
        window, st.integers(0, 200), st.floats(0, 1), st.sampled_from([0.2, None]),
        verdict=st.sampled_from([PASSED, REPAIRED, APPROVED]), measure=st.sampled_from(["fare", "tip"]),
        is_exact=st.booleans(), mean_estimate=st.sampled_from([0.1, None, float("inf"), float("nan")]),
    ),
    max_size=40,
)  # fmt: skip


@given(ROWS, st.sampled_from([0.01, 0.05, 0.3]), st.randoms())
def test_shares_are_of_shed_windows_that_the_gate_let_pass_in_any_order(
    rows: list[dict[str, Any]], risk: float, random: Any
) -> None:
    lines = lines_of(rows, risk)
    for measure in ("fare", "tip"):
        own = [
            row["mean_over"] for row in rows
            if row["measure"] == measure and not row["is_exact"] and row["verdict"] != APPROVED and row["mean_limit"]
        ]  # fmt: skip
        found = [line for line in part(lines, "limit") if line["measure"] == measure]
        assert [(line["windows"], line["over"]) for line in found] == ([(len(own), sum(own))] if own else [])
        for line in found:
            assert line["kept"] == (clopper_pearson(sum(own), len(own))[0] <= risk)
    assert len(broken_promises(lines)) == sum(not line["kept"] for line in part(lines, "limit"))
    shuffled = lines_of(random.sample(rows, len(rows)), risk)

    def key(line: dict[str, Any]) -> str:
        return json.dumps({name: f"{v:.9g}" if isinstance(v, float) else v for name, v in line.items()})

    assert sorted(map(key, shuffled)) == sorted(map(key, lines))


@given(ROWS)
def test_hours_and_verdicts_split_the_shed_windows_and_sizes_their_keys(rows: list[dict[str, Any]]) -> None:
    lines = lines_of(rows)
    shed = [row for row in rows if not row["is_exact"]]
    for name in ("hour", "verdict", "coverage"):
        assert sum(line["windows"] for line in part(lines, name)) == len(shed)
        assert sum(line["estimates"] for line in part(lines, name)) == 3 * len(shed)
    assert sum(line["keys"] for line in part(lines, "size")) == 3 * len(shed)


@given(ROWS)
def test_every_line_is_json_without_nan_or_infinity(rows: list[dict[str, Any]]) -> None:
    def refuse(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    lines = lines_of(rows)
    for text in render(lines, COLUMNS, "json").splitlines():
        assert list(json.loads(text, parse_constant=refuse)) == list(COLUMNS)
    assert render(lines, COLUMNS, "csv").splitlines()[0] == ",".join(COLUMNS)
    assert as_text(lines).count("----") or not lines


def test_estimate_and_truth_stand_side_by_side_by_hour_size_and_verdict() -> None:
    rows = [window(1, 0.1), window(25, 0.3), window(2, 0.5, verdict=REPAIRED, mean_estimate=None)]
    lines = lines_of(rows)
    hours = {line["group"]: line for line in part(lines, "hour")}
    assert list(hours) == ["01", "02"]
    assert (hours["01"]["truth"], hours["01"]["estimate"], hours["01"]["over"]) == (pytest.approx(0.2), 0.08, 1)
    assert hours["02"]["estimate"] is None
    kinds = {line["group"]: line["windows"] for line in part(lines, "verdict")}
    assert kinds == {PASSED: 2, REPAIRED: 1}
    sizes = {line["group"]: line for line in part(lines, "size")}
    assert list(sizes) == ["1-1", "8-15"]
    assert sizes["1-1"]["truth"] == pytest.approx(0.3)
    assert (sizes["8-15"]["keys"], sizes["8-15"]["coverage"]) == (6, 1.0)
    assert part(lines, "coverage")[0]["coverage"] == pytest.approx(2 / 3)


def test_a_share_is_broken_beyond_chance_only_and_overlapping_windows_count_as_one() -> None:
    rows = [window(i, 0.3 if i < 4 else 0.1) for i in range(30)]
    (alone,) = part(lines_of(rows), "limit")
    assert (alone["over"], alone["kept"]) == (4, True)  # 13 %, at least 3.8 % of them
    rows = [window(i, 0.3 if i < 7 else 0.1) for i in range(30)]
    lines = lines_of(rows)
    assert not part(lines, "limit")[0]["kept"]
    assert broken_promises(lines) == [
        "7 of 30 windows were over the mean limit 0.2 of fare: 23.3%, at least 9.9% by its 95 % interval, "
        "and the gate's risk is 5.0%"
    ]
    overlapping = part(lines_of(rows, overlap=6), "limit")[0]
    assert overlapping["share"] == part(lines, "limit")[0]["share"]
    assert overlapping["kept"]
