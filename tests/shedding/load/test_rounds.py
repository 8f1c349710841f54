"""Rounds keep a budget of seconds whatever the forecast was worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shedding.load.rounds import MOST_ROUNDS, Rounds, calibrated_margin, round_ratios


def run(rounds: Rounds, speed: float, noise: list[float]) -> list[float]:
    """The factors of rounds on a machine that takes `speed` times the forecast, each round its own noise more."""
    factors: list[float] = []
    spent = before = 0.0
    while (factor := rounds.next()) is not None:
        forecast = factor * rounds.seconds
        spent += speed * noise[len(factors)] * (forecast - before)
        before = forecast
        factors.append(factor)
        rounds.record(factor, spent, forecast)
    return factors


@given(
    speed=st.floats(0.05, 4.0), whole=st.floats(0.01, 50.0), seconds=st.floats(0.1, 1000.0),
    noise=st.lists(st.floats(0.95, 1.05), min_size=MOST_ROUNDS, max_size=MOST_ROUNDS),
)  # fmt: skip
def test_rounds_are_nested_and_keep_the_budget(speed: float, whole: float, seconds: float, noise: list[float]) -> None:
    rounds = Rounds(seconds, whole)
    factors = run(rounds, speed, noise)
    assert factors == sorted(set(factors))
    assert rounds.spent <= seconds * 1.001
    if rounds.reached < whole:
        assert rounds.spent >= 0.8 * seconds
    else:
        assert rounds.settled >= whole


def test_where_all_rows_fit_all_are_taken_and_the_room_left_is_recorded() -> None:
    rounds = Rounds(60.0, whole=0.5)
    assert run(rounds, 1.0, [1.0] * 4)[-1] == 0.5
    assert rounds.settled > 0.8


def test_a_slow_machine_takes_fewer_rows_and_a_fast_one_more() -> None:
    reached = [Rounds(60.0, whole=10.0) for _ in range(3)]
    for rounds, speed in zip(reached, (2.0, 1.0, 0.5), strict=True):
        run(rounds, speed, [1.0] * 4)
        assert rounds.speed == pytest.approx(speed)
    assert reached[0].settled < reached[1].settled < reached[2].settled


def test_the_margin_is_what_nine_of_ten_parts_of_audits_would_have_kept() -> None:
    assert calibrated_margin([1.0] * 7) == 0.1
    assert calibrated_margin([1.0] * 9 + [1.3]) < calibrated_margin([1.0] * 5 + [1.3] * 5) == pytest.approx(0.3)
    rng = np.random.default_rng(1)
    ratios = round_ratios(rng.lognormal(0, 1, 1000), np.full(1000, np.exp(0.5)))
    assert ratios.size == 8
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.3)
    assert not round_ratios(np.ones(10), np.ones(10)).size
