"""What calls cost by class, and what budgets buy, from what audits measured."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from jobs.cli.profile import _cost_text
from shedding.compare.cost_profile import cost_profile
from shedding.config import Settings
from shedding.errors import NotReadyError
from tests.shedding.planning.test_spending import answer, clock, costly_rows, make_query
from tests.shedding.rows_in_memory import HOUR


def test_the_profile_of_costs_is_that_of_audited_slots(settings: Settings, tmp_path: Path) -> None:
    query, rows = make_query(tmp_path, {"seconds": 1.0}, ["size"]), costly_rows(hours=3, per_hour=1000)
    with pytest.raises(NotReadyError, match="q has measured no calls of a whole slot yet"):
        cost_profile(settings, query)
    answer(settings, query, HOUR, rows)
    found = cost_profile(settings, query)
    here = rows[rows.time // HOUR == 1]
    assert (found.calls, found.slots, found.failed) == (len(here), 1, 0)
    assert found.seconds_a_slot == pytest.approx(sum(clock(0, size) for size in here["size"]), rel=1e-6)
    assert len(found.classes) == here["size"].nunique()
    assert sum(line.share_of_seconds for line in found.classes) == pytest.approx(1)
    assert all(line.aware >= line.blind and line.error <= 1 for line in found.purchases)
    assert found.purchases[-1].aware == 1
    text = _cost_text("q", asdict(found))
    assert "error over that of one rate" in text
    assert "100.0%" in text
