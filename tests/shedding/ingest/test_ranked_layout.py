"""The ranked layout's bound: no row of a sample lies beyond it."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shedding.ingest.ranked_layout import file_rows, rank_limit

PLACES = st.integers(0, 2**53 - 1).map(lambda bits: bits / 2**53)


@given(PLACES, PLACES, st.integers(1, 10**9), st.integers(0, 10**9))
def test_a_row_below_the_rate_has_a_rank_within_the_limit(u: float, rate: float, batch: int, more: int) -> None:
    if u < rate:
        assert math.floor(u * batch) + 1 <= rank_limit(np.array([rate]), np.array([batch + more]))[0]


def test_files_are_small_parts_of_what_a_task_writes_but_not_tiny() -> None:
    assert file_rows(None) == file_rows(50_000_000) == 62_500
    assert file_rows(100) == 10_000
