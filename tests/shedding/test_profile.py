"""The profile's figures on counts small enough to check by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.profile import profile


def test_figures_of_two_windows() -> None:
    found = profile(np.array([0, 0, 10]), np.array([5, 7, 5]), np.array([9, 1, 10]))
    assert (found.rows, found.windows, found.keys) == (20, 2, 2)
    assert (found.rows_per_window, found.keys_per_window) == (10.0, 1.5)
    assert (found.top1_share, found.top10_share, found.keys_seen_once_share) == (0.95, 1.0, 0.5)
    assert found.drift == pytest.approx(0.1)
    assert found.least_budget == pytest.approx(0.15)
    assert found.shown_at(0.03) == pytest.approx(0.2)
    assert found.as_dict()["keys_shown_at_0.1"] == pytest.approx(2 / 3)


def test_nothing_has_a_profile_of_zeros() -> None:
    empty = np.array([], dtype=np.int64)
    assert set(profile(empty, empty, empty).as_dict().values()) <= {0, 1.0}


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3), st.integers(1, 50)), min_size=1, max_size=25))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_drift_equals_its_definition(entries: list[tuple[int, int, int]]) -> None:
    counts = {(window, key): rows for window, key, rows in entries}
    windows = sorted({window for window, _ in counts})
    shares = [
        {k: r / sum(n for (v, _), n in counts.items() if v == w) for (x, k), r in counts.items() if x == w}
        for w in windows
    ]
    expected = [sum(abs(a.get(k, 0) - b.get(k, 0)) for k in a.keys() | b.keys()) / 2 for a, b in pairwise(shares)]
    found = profile(*(np.array(column) for column in zip(*[(w, k, r) for (w, k), r in counts.items()], strict=True)))
    assert found.drift == pytest.approx(np.mean(expected) if expected else 0.0)
    assert 0 <= found.top1_share <= found.top10_share <= 1 + 1e-12
