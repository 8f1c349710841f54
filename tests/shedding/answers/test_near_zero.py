"""An audit proposes `near_zero` where values lie near zero, and only there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shedding.answers.slot import answer_sides
from shedding.config import Settings
from shedding.spec.query import QuerySpec
from tests.shedding.rows_in_memory import HOUR, RowsScans, side_of


def advice_of(warehouse: Path, values: np.ndarray, **measure: object) -> list[str]:
    """What the first slot, an audit, of 20 keys with 50 rows each says."""
    size = len(values)
    rows = pd.DataFrame({
        "time": np.linspace(0, HOUR - 1, size).astype("int64"), "u": np.linspace(0, 0.999, size),
        "key": [f"k{place % 20}" for place in range(size)], "value": values, "other": 1.0,
    })  # fmt: skip
    query = QuerySpec.model_validate({
        "name": "near", "dataset": "stream", "window": {"size": "1 hour"}, "group_by": ["key"],
        "measures": [{"name": "m", "agg": "avg", "column": "value", **measure}], "schedule": {"every": "1 hour"},
        "shed": {"policy": "posterior", "budget": {"fraction": 0.1}},
    })  # fmt: skip
    settings = Settings(warehouse=str(warehouse))
    made = answer_sides(settings, query, 0, [side_of(rows, query)], RowsScans(query))
    assert made.audited
    return made.advice


def around_zero() -> np.ndarray:
    """Gains and losses whose mean is next to nothing beside their spread."""
    return np.where(np.arange(1000) // 20 % 2 == 0, 100.0, -99.5)


def test_gains_and_losses_are_proposed_to_be_near_zero(tmp_path: Path) -> None:
    (sentence,) = advice_of(tmp_path, around_zero())
    assert sentence.startswith("m: 100.0% of the exact values")
    assert "near_zero: true" in sentence


@pytest.mark.parametrize("measure", [{"agg": "ratio", "over": "other"}, {"agg": "quantile", "q": 0.5}])
def test_every_estimated_measure_is_looked_at(tmp_path: Path, measure: dict[str, object]) -> None:
    mostly_small = np.where(np.arange(1000) // 20 % 3 == 0, 100.0, 0.01)
    values = around_zero() if measure["agg"] == "ratio" else mostly_small
    assert len(advice_of(tmp_path, values, **measure)) == 1


def test_a_measure_that_says_so_or_lies_far_from_zero_needs_no_advice(tmp_path: Path) -> None:
    assert advice_of(tmp_path, around_zero(), near_zero=True) == []
    assert advice_of(tmp_path, around_zero() + 400) == []
    assert advice_of(tmp_path, np.zeros(1000)) == []
