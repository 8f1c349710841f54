"""What an audited window teaches."""

from __future__ import annotations

import numpy as np
import pytest

from shedding.risk import WindowRecord, window_record


def test_a_record_holds_what_was_claimed_and_what_was_true() -> None:
    rng = np.random.default_rng(1)
    expected = np.full(5000, 0.1)
    record = window_record(expected, np.abs(rng.normal(0, 2 * 0.1 * np.sqrt(np.pi / 2), 5000)))
    assert record is not None
    for statistic in ("mean", "p95", "worst"):
        assert record.ratio(statistic) == pytest.approx(2, rel=0.15)
    assert record.dispersion == pytest.approx(np.pi / 2 - 1, rel=0.1)
    assert record.keys == pytest.approx(5000)


def test_a_record_read_back_is_the_same_to_the_bit() -> None:
    record = window_record(np.array([0.1, 0.2, 1 / 3]), np.array([0.3, 0.0, 0.1]))
    assert record is not None
    assert WindowRecord.of_text(record.text()) == record


def test_a_window_in_which_nothing_was_left_to_chance_teaches_nothing() -> None:
    assert window_record(np.zeros(3), np.zeros(3)) is None
    assert window_record(np.zeros(0), np.zeros(0)) is None


def test_unknown_errors_are_left_out() -> None:
    record = window_record(np.array([0.1, np.inf, 0.1]), np.array([0.1, 0.5, np.nan]))
    assert record is not None
    assert record.keys == 1
