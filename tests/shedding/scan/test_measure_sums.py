"""When the short way of summing is proven exact, and when it is not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shedding.scan.fixed_point import HIGH_UNIT
from shedding.scan.measure_sums import fits
from shedding.spec.measure import MeasureSpec

MEAN = MeasureSpec(name="m", agg="avg", column="fare")
RATIO = MeasureSpec(name="m", agg="ratio", column="tip", over="fare")


def sums(rows: int, value: float, over: float | None = None) -> pa.Table:
    """What a scan finds of one group of equal values."""
    columns = {"m_n": [rows], "m_q_high": [rows * value**2 / HIGH_UNIT]}
    return pa.table(columns | ({} if over is None else {"m_over_q_high": [rows * over**2 / HIGH_UNIT]}))


@pytest.mark.parametrize(
    ("rows", "value", "fitting"),
    [
        (1000, 50.0, True),
        (1_000_000, 50.0, True),
        (3_000_000, 0.003, True),
        (5_000_000, 0.003, False),  # so many low halves might not fit into a BIGINT
        (1000, 1e5, True),
        (10_000, 1e5, False),  # the squares' high halves pass 2**52
        (1, 1e9, False),
        (1, float("inf"), False),
    ],
)
def test_sums_fit_as_long_as_no_half_can_have_been_rounded(rows: int, value: float, fitting: bool) -> None:
    assert fits(sums(rows, value), MEAN, 1) is fitting
    assert fits(sums(rows, 1.0, over=value), RATIO, 1) is fitting


def test_classes_that_will_be_merged_share_the_room() -> None:
    assert fits(sums(1000, 1e5), MEAN, 1)
    assert not fits(sums(1000, 1e5), MEAN, 4)


def test_no_groups_and_counts_always_fit() -> None:
    assert fits(sums(1, 1.0).slice(0, 0), MEAN, 1)
    assert fits(pa.table({"rows": [10**9]}), MeasureSpec(name="n", agg="count"), 63)
