"""What a window's answer claims of its own errors, key by key."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from shedding.answers.answer import Answer, plain_answer
from shedding.answers.scores import MOST_EXPECTED, expected, floor_of
from shedding.estimates.moments import Moments
from shedding.keys import Keys
from shedding.panes.states import WindowPair
from shedding.panes.windows import WindowSample
from shedding.scan.exact_sums import ExactSums
from shedding.spec.measure import MeasureSpec

RATIO = MeasureSpec(name="m", agg="ratio", column="top", over="under", near_zero=True)
MEAN = MeasureSpec(name="m", agg="avg", column="top")


def answer_of(top: list[float], under: list[float], measure: MeasureSpec) -> Answer:
    """The answer of one key, every second of whose rows was drawn."""
    x, y = np.array(top), np.array(under)
    number = np.full((1, 1), 2.0 * x.size)
    moments = [Moments(number / 2, np.full((1, 1), v.mean()), np.full((1, 1), v.var() * v.size)) for v in (x, y)]
    sums = [ExactSums.of_doubles(v, np.zeros(v.size, dtype=np.int64), 1) for v in (x, y)]
    cross = np.full((1, 1), ((x - x.mean()) * (y - y.mean())).sum())
    stat = WindowPair(number, moments[0], sums[0], moments[1], sums[1], cross)
    keys = Keys(("key",), (pa.array(["a"]),), 1)
    sample = WindowSample(0, 1, keys, True, number, number / 2, np.full((1, 1), 0.5), {"m": stat})
    return plain_answer(sample, [measure])


@pytest.mark.parametrize("value", [7e-15, 1e-300, -3e-9])
def test_a_value_that_came_out_near_zero_claims_no_more_than_a_wrong_one(value: float) -> None:
    answer = answer_of([10.0, 12.0, 17.0, 9.0], [1.0] * 4, MEAN)
    near = replace(answer.estimates["m"], value=np.array([value]))
    score = expected(replace(answer, estimates={"m": near}), MEAN)
    assert score.errors[0] == MOST_EXPECTED


def test_an_error_that_nobody_knows_stays_unknown() -> None:
    answer = answer_of([10.0, 12.0, 17.0, 9.0], [1.0] * 4, MEAN)
    unknown = replace(answer.estimates["m"], deviation=np.array([np.inf]))
    assert np.isinf(expected(replace(answer, estimates={"m": unknown}), MEAN).errors[0])


def test_the_floor_of_a_ratio_has_the_unit_of_the_ratio() -> None:
    top, under = [1.0, -2.0, 3.0, -1.5], [5.0, 6.0, 5.5, 7.0]
    floor = floor_of(answer_of(top, under, RATIO), RATIO)
    in_thousandths = floor_of(answer_of([1000 * x for x in top], under, RATIO), RATIO)
    of_larger = floor_of(answer_of(top, [1000 * y for y in under], RATIO), RATIO)
    assert in_thousandths == pytest.approx(1000 * floor)
    assert of_larger == pytest.approx(floor / 1000)
