"""The arithmetic of an objective: shares, budgets, burn-down and burn rates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shedding.compare.error_budget import burn_down, burn_rate, burn_windows, error_budget
from shedding.spec.fingerprints import spec_fingerprint
from shedding.spec.query import ObjectiveSpec
from shedding.spec.timeline import Timeline
from tests.shedding.answers.test_slot import make_query

HOUR = 3_600_000_000
DAY = 24 * HOUR
HOURLY = Timeline(size=HOUR, slide=HOUR, slot=HOUR)
FOUR_WEEKS = ObjectiveSpec(share=0.99, over="28 days")


def windows(count: int, *bad: int) -> tuple[np.ndarray, np.ndarray]:
    ends = np.arange(1, count + 1, dtype=np.int64) * HOUR
    return ends, np.isin(np.arange(count), bad)


def test_a_week_with_two_bad_hours_has_spent_what_two_of_six_point_seven_hours_are() -> None:
    state = error_budget(FOUR_WEEKS, HOURLY, *windows(168, 3, 50))
    assert (state.promised, state.bad) == (168, 2)
    assert state.achieved == pytest.approx(166 / 168)
    assert state.allowed == pytest.approx(6.72)
    assert state.left == pytest.approx(1 - 2 / 6.72)
    assert state.left_slots == pytest.approx(4.72)


def test_the_achieved_share_lies_in_its_exact_binomial_interval() -> None:
    state = error_budget(FOUR_WEEKS, HOURLY, *windows(39, *range(9)))
    assert (state.achieved_low, state.achieved_high) == pytest.approx((1 - 0.393, 1 - 0.111), abs=1e-3)


def test_windows_that_share_rows_count_as_one_in_the_interval() -> None:
    sliding = Timeline(size=3 * HOUR, slide=HOUR, slot=HOUR)
    apart, together = (error_budget(FOUR_WEEKS, line, *windows(300, 1, 2, 3)) for line in (HOURLY, sliding))
    assert together.achieved == apart.achieved
    assert together.achieved_low < apart.achieved_low
    assert together.achieved_high > apart.achieved_high


def test_nothing_promised_is_nothing_achieved_and_an_untouched_budget() -> None:
    state = error_budget(FOUR_WEEKS, HOURLY, *windows(0))
    assert math.isnan(state.achieved)
    assert (state.achieved_low, state.achieved_high, state.left) == (0.0, 1.0, 1.0)


def test_what_is_older_than_the_stretch_is_forgiven() -> None:
    ends, bad = windows(24 * 40, 0, 24 * 39)
    assert error_budget(FOUR_WEEKS, HOURLY, ends, bad).bad == 1
    left = burn_down(FOUR_WEEKS, HOURLY, ends, bad, np.array([DAY, 28 * DAY, 29 * DAY, 40 * DAY]))
    assert left == pytest.approx([1 - 1 / 6.72, 1 - 1 / 6.72, 1.0, 1 - 1 / 6.72])


@given(st.lists(st.booleans(), min_size=1, max_size=200), st.floats(0.5, 0.999))
def test_the_burn_down_ends_where_the_budget_is(flags: list[bool], share: float) -> None:
    objective = ObjectiveSpec(share=share, over="3 days")
    ends, bad = np.arange(1, len(flags) + 1, dtype=np.int64) * HOUR, np.array(flags)
    left = burn_down(objective, HOURLY, ends, bad, ends)
    assert left[-1] == pytest.approx(error_budget(objective, HOURLY, ends, bad).left)
    assert (left <= 1).all()


@given(st.floats(0.5, 0.999), st.integers(1, 72))
def test_a_burn_rate_of_one_over_the_whole_stretch_spends_the_budget(share: float, failed: int) -> None:
    objective = ObjectiveSpec(share=share, over="3 days")
    ends, bad = windows(72, *range(failed))
    rate = burn_rate(objective, HOURLY, ends, bad, 72, int(ends[-1]))
    assert 1 - rate == pytest.approx(error_budget(objective, HOURLY, ends, bad).left)


@given(st.floats(0.5, 0.9999), st.sampled_from(["1 minute", "1 hour", "6 hours", "1 day", "28 days"]))
def test_every_alert_can_fire_and_never_on_a_pace_that_lasts(share: float, every: str) -> None:
    query = make_query(schedule={"every": every}, window={"size": every}, objective={"share": share})
    for alert in burn_windows(query.objective, query.timeline):
        assert 1 <= alert.short_slots <= alert.long_slots
        assert 1 <= alert.rate < 1 / (1 - share)


def test_hourly_slots_page_on_a_fast_burn_and_write_tickets_on_a_slow_one() -> None:
    found = [(alert.severity, alert.long_slots, alert.short_slots) for alert in burn_windows(FOUR_WEEKS, HOURLY)]
    assert found == [("page", 1, 1), ("page", 6, 1), ("ticket", 67, 6)]
    assert [round(alert.rate, 1) for alert in burn_windows(FOUR_WEEKS, HOURLY)] == [13.4, 5.6, 1.0]


def test_an_objective_shorter_than_a_slot_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"objective.over 1 hour is shorter than schedule.every 6 hours"):
        make_query(schedule={"every": "6 hours"}, objective={"over": "1 hour"})


def test_an_objective_may_change_without_making_published_slots_stale() -> None:
    one, other = (make_query(objective={"share": share}) for share in (0.9, 0.999))
    assert spec_fingerprint(one, "posterior") == spec_fingerprint(other, "posterior")
