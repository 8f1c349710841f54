"""stddev and variance go the whole way of a slot: every policy, audited or not, shrunk or plain, counted or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from shedding.answers.slot import answer_sides
from shedding.config import Settings
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.tables import Table
from tests.shedding.rows_in_memory import HOUR, RowsScans, make_rows, side_of

MEASURES = [{"name": agg, "agg": agg, "column": "value"} for agg in ("stddev", "variance")]


def rows_of() -> pd.DataFrame:
    """Six hours; one key of a single row in each."""
    rows = make_rows(hours=6, per_hour=150)
    rows.loc[rows.groupby(rows.time // HOUR).head(1).index, "key"] = "lonely"
    return rows


def results(settings: Settings, slots: list[int], known: bool = True, **changes: Any) -> pd.DataFrame:
    content: dict[str, Any] = {
        "name": "q", "dataset": "stream", "window": {"size": "1 hour", "slide": "20 minutes"}, "group_by": ["key"],
        "measures": MEASURES, "schedule": {"every": "1 hour"}, "audit": {"one_in": 3},
        "shed": {"policy": "posterior", "budget": {"fraction": 0.3}},
    }  # fmt: skip
    query = QuerySpec.model_validate(content | changes)
    for slot in slots:
        answer_sides(settings, query, slot, [side_of(rows_of(), query, known=known)], RowsScans(query)).write(
            settings, "run", 1.0
        )
    found = Table(settings.table("results", "q")).read([("slot", "=", slot_name(slots[-1]))]).to_pandas()
    return found.sort_values(["leg", "window_start", "key"]).reset_index(drop=True)


@pytest.mark.parametrize("policy", ["uniform", "proportional", "cod", "optimal", "k_optimal", "posterior"])
@pytest.mark.parametrize("estimates", ["shrunk", "plain"])
def test_every_policy_answers_and_a_budget_of_all_rows_is_exact_to_the_bit(
    settings: Settings, policy: str, estimates: str
) -> None:
    shed = {"policy": policy, "budget": {"fraction": 1.0}}
    found = results(settings, [4 * HOUR], shed=shed, estimates=estimates, audit={"one_in": 1})
    exact, whole = (found[found.leg == leg].reset_index(drop=True) for leg in ("exact", policy))
    for name in ("stddev", "variance"):
        np.testing.assert_array_equal(whole[name], exact[name])
    last = exact[exact.window_start == exact.window_start.max()].set_index("key")
    inside = rows_of().query("time >= @HOUR * 4 and time < @HOUR * 5").groupby("key").value
    np.testing.assert_allclose(last.stddev, inside.std().reindex(last.index), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_a_sampled_slot_shows_every_key_that_has_two_rows_and_null_for_one(settings: Settings, known: bool) -> None:
    found = results(settings, [0, HOUR, 2 * HOUR, 4 * HOUR, 5 * HOUR], known)
    shed = found[found.leg == "posterior"]
    if known:
        many = shed[shed.population > 1]
        assert many.stddev.notna().all()
        assert shed[(shed.key == "lonely") & (shed.population == 1)].stddev.isna().all()
    told = shed[shed.stddev.notna()]
    assert ((told.stddev_low <= told.stddev) & (told.stddev <= told.stddev_high) & (told.stddev_low >= 0)).all()
    np.testing.assert_allclose(told.variance, told.stddev**2, rtol=1e-9)


@pytest.mark.slow
def test_any_order_of_slots_gives_the_same_bits(settings: Settings, tmp_path: Any) -> None:
    other = settings.model_copy(update={"warehouse": str(tmp_path / "other")})
    pd.testing.assert_frame_equal(
        results(settings, [HOUR, 3 * HOUR, 2 * HOUR, 5 * HOUR]).drop(columns="run_id", errors="ignore"),
        results(other, [5 * HOUR]).drop(columns="run_id", errors="ignore"),
        check_exact=True,
    )
