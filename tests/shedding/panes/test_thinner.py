"""Samples of keys that nobody counted: never more rows than the budget, the same in any order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shedding import warehouse
from shedding.config import Settings
from shedding.keys import Keys
from shedding.panes.side_scan import STEPS, thinner
from shedding.rates import Rates
from tests.shedding.answers.test_slot import elsewhere, make_query, run
from tests.shedding.rows_in_memory import HOUR, make_rows


def test_thinner_rates_are_nested_in_proportion_and_leave_whole_keys_whole() -> None:
    leg = Rates("posterior", Keys(("key",), (), 3), np.array([1.0, 0.5, 0.01]), 0.2)
    tried = thinner(leg)
    assert len(tried) == STEPS
    assert tried[0].values.tolist() == leg.values.tolist()
    for more, less in zip(tried, tried[1:], strict=False):  # noqa: RUF007
        assert less.values[0] == 1.0
        assert less.values[1:] == pytest.approx(0.96 * more.values[1:])
        assert less.unseen == pytest.approx(0.96 * more.unseen)


@pytest.mark.parametrize("policy", ["posterior", "uniform", "optimal"])
def test_a_slot_whose_keys_have_grown_keeps_its_budget(settings: Settings, policy: str) -> None:
    rows = make_rows(per_hour=800)
    small = (rows.time < 7 * HOUR) & (rows.key == "k001")
    rows = rows[~small | (rows.u < 0.2)].reset_index(drop=True)  # a key that is five times larger from slot 7 on
    query = make_query(shed={"policy": policy, "budget": {"fraction": 0.2}}, audit={"one_in": 50})
    run(settings, query, [7 * HOUR], rows, known=False)
    runs = warehouse.runs(settings, query.name).read([("leg", "=", policy)]).to_pylist()
    assert all(0.7 * row["budget_rows"] < row["processed_rows"] <= row["budget_rows"] for row in runs)


def test_any_order_of_slots_is_thinned_alike_where_windows_reach_back(settings: Settings, tmp_path: Path) -> None:
    query, slots = make_query(), [5 * HOUR, 6 * HOUR, 7 * HOUR]
    orders = {"on": slots, "back": slots[::-1]}
    answers = [run(elsewhere(settings, tmp_path, name), query, order, known=False)[0] for name, order in orders.items()]
    pd.testing.assert_frame_equal(*answers, check_exact=True)
