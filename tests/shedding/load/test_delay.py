"""Delay limits and the queue behind them, with the errata of the printed listing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.load.delay import MEMORY, Backlog, MeanDelay, MostDelay, next_delay

delays = st.lists(st.floats(0, 100), max_size=80)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(offered=delays, tau=st.floats(0, 50))
def test_the_mean_of_what_is_admitted_never_passes_tau(offered: list[float], tau: float) -> None:
    limit = MeanDelay(tau)
    for delay in offered:
        if limit.admits(delay):
            limit.count(delay)
            assert limit.total <= tau * limit.taken * (1 + 1e-12)


def test_the_first_row_is_judged_without_dividing_by_nothing() -> None:
    assert MeanDelay(5).admits(5)
    assert not MeanDelay(5).admits(5.1)
    assert MostDelay(0).admits(0)


def test_forced_rows_count_in_the_mean_of_later_ones() -> None:
    counted, left_out = MeanDelay(10), MeanDelay(10)
    counted.count(30)
    assert not counted.admits(0)
    assert left_out.admits(0)


def test_idle_time_is_not_banked() -> None:
    queue = Backlog()
    queue.add(0.0, 5.0)
    assert queue.delay(100.0) == 0.0
    queue.add(100.0, 7.0)
    assert queue.delay(101.0) == 6.0


@settings(max_examples=200, deadline=None, derandomize=True)
@given(work=st.lists(st.floats(0, 30), min_size=1, max_size=40), tau=st.floats(0, 20))
def test_slots_that_take_no_more_than_their_room_keep_every_delay_below_tau(work: list[float], tau: float) -> None:
    limit, past, delay = MostDelay(tau), [0.0], 0.0
    for wanted in work:
        delay = next_delay(delay, min(wanted, limit.room(past, 10.0)), 10.0)
        past.append(delay)
        assert delay <= tau + 1e-9


@settings(max_examples=200, deadline=None, derandomize=True)
@given(work=st.lists(st.floats(0, 30), min_size=1, max_size=60), tau=st.floats(0, 20))
def test_slots_that_take_no_more_than_their_room_keep_the_mean_delay_below_tau(work: list[float], tau: float) -> None:
    limit, past, delay = MeanDelay(tau), [0.0], 0.0
    for wanted in work:
        delay = next_delay(delay, min(wanted, limit.room(past, 10.0)), 10.0)
        past.append(delay)
        assert sum(past[-MEMORY:]) / len(past[-MEMORY:]) <= tau + 1e-9


def test_the_recursion_over_slots_keeps_what_is_left_and_no_idle_time() -> None:
    assert next_delay(3.0, 10.0, 10.0) == 3.0
    assert next_delay(3.0, 2.0, 10.0) == 0.0
    assert next_delay(0.0, 12.5, 10.0) == pytest.approx(2.5)
