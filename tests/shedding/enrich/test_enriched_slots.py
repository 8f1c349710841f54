"""Slots of a query whose column a function makes, on rows held in memory: only kept rows, each once, ever."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shedding import warehouse
from shedding.answers.slot import answer_sides
from shedding.config import Settings
from shedding.errors import DataError, SpecError
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from tests.shedding.rows_in_memory import HOUR, RowsScans, make_rows, side_of

FUNCTION = """
def score(value):
    with open({log!r}, "a") as log:
        log.write("x")
    {body}
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "calls"


def write_function(tmp_path: Path, log: Path, body: str = "return 2 * value") -> Path:
    (tmp_path / "specs/functions").mkdir(parents=True, exist_ok=True)
    (tmp_path / "specs/functions/scores.py").write_text(FUNCTION.format(log=str(log), body=body))
    return tmp_path / "specs"


def make_query(specs: Path, fraction: float = 0.1, **entry: Any) -> QuerySpec:
    query = QuerySpec.model_validate({
        "name": "q", "dataset": "d", "window": {"size": "1 hour"}, "group_by": ["key"],
        "enrich": [{"name": "score", "call": "scores:score", "columns": ["value"], **entry}],
        "measures": [{"name": "mean", "agg": "avg", "column": "score"}, {"name": "n", "agg": "count"},
                     {"name": "total", "agg": "sum", "column": "score"}],
        "schedule": {"every": "1 hour"},
        "shed": {"policy": "optimal", "budget": {"fraction": fraction}, "spot_check": 0},
        "audit": {"one_in": 4},
    })  # fmt: skip
    for one in query.enrich:
        one.found_in(specs)
    return query


def answer(settings: Settings, query: QuerySpec, slot: int, rows: pd.DataFrame) -> pd.DataFrame:
    scans = RowsScans(query, settings)
    answer_sides(settings, query, slot, [side_of(rows, query)], scans).write(settings, "run", 0.0)
    found = warehouse.results(settings, query.name).read([("slot", "=", slot_name(slot))]).to_pandas()
    return found.sort_values(["leg", "window_start", "key"]).reset_index(drop=True)


def calls(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def forget_panes(settings: Settings, query: QuerySpec) -> None:
    shutil.rmtree(warehouse.panes(settings, query.name).uri)


def test_an_exact_leg_is_a_group_by_of_the_function_s_values(settings: Settings, tmp_path: Path, log: Path) -> None:
    query, rows = make_query(write_function(tmp_path, log)), make_rows(hours=4)
    found = answer(settings, query, 0, rows)
    exact = found[found.leg == "exact"].set_index("key")
    wanted = (2 * rows[rows.time < HOUR].set_index("key").value).groupby("key").agg(["mean", "sum"])
    np.testing.assert_allclose(exact["mean"], wanted["mean"], rtol=1e-12)
    np.testing.assert_allclose(exact["total"], wanted["sum"], rtol=1e-12)


@pytest.mark.slow
def test_a_shed_leg_calls_the_function_for_kept_rows_only_and_a_re_run_not_at_all(
    settings: Settings, tmp_path: Path, log: Path
) -> None:
    query, rows = make_query(write_function(tmp_path, log)), make_rows(hours=8)
    first = {slot: answer(settings, query, slot * HOUR, rows) for slot in range(8)}
    shed = [slot for slot, found in first.items() if "exact" not in set(found.leg)]
    assert shed
    made = warehouse.enriched(settings, "q").read().to_pandas()
    assert len(made) == calls(log)
    for slot in shed:
        assert (made.slot == slot_name(slot * HOUR)).sum() == int(first[slot].sampled_rows.sum())
    before = calls(log)
    forget_panes(settings, query)
    for slot in reversed(range(8)):
        pd.testing.assert_frame_equal(answer(settings, query, slot * HOUR, rows), first[slot])
    assert calls(log) == before


@pytest.mark.slow
def test_a_wider_sample_and_late_rows_call_for_new_rows_only(settings: Settings, tmp_path: Path, log: Path) -> None:
    specs, rows = write_function(tmp_path, log), make_rows(hours=6)
    held_back = rows.sample(frac=0.05, random_state=1).index
    for fraction, given in ((0.1, rows.drop(held_back)), (0.3, rows.drop(held_back)), (0.3, rows)):
        for slot in range(6):
            answer(settings, make_query(specs, fraction), slot * HOUR, given)
    made = warehouse.enriched(settings, "q").read().to_pandas()
    assert len(made) == calls(log) == len(made.drop_duplicates(["event_time", "u", "inputs"]))


def test_a_source_that_changed_without_a_version_is_refused_and_a_new_version_computes_again(
    settings: Settings, tmp_path: Path, log: Path
) -> None:
    specs, rows = write_function(tmp_path, log), make_rows(hours=2)
    answer(settings, make_query(specs), 0, rows)
    write_function(tmp_path, log, "return 3 * value")
    with pytest.raises(SpecError, match=r"source of scores:score changed.*version: 2 in enrich.score"):
        answer(settings, make_query(specs), 0, rows)
    found = answer(settings, make_query(specs, version=2), 0, rows)
    total = float(found[found.leg == "exact"].total.sum())
    assert total == pytest.approx(3 * float(rows[rows.time < HOUR].value.sum()))


def test_rows_that_fail_have_no_value_and_their_inputs_are_kept_in_quarantine(
    settings: Settings, tmp_path: Path, log: Path
) -> None:
    body = "return 2 * value if value < 40 else None.x"
    query, rows = make_query(write_function(tmp_path, log, body), on_error="quarantine"), make_rows(hours=1)
    answer(settings, query, 0, rows)
    made = warehouse.enriched(settings, "q").read().to_pandas()
    failed = made[made.error.notna()]
    assert sorted(float(text[1:-1]) for text in failed.refused) == sorted(rows.value[rows.value >= 40])
    assert failed.error.str.startswith("AttributeError").all()
    with pytest.raises(DataError, match="scores:score failed on"):
        answer(settings, make_query(write_function(tmp_path, log, body), on_error="fail", version=2), 0, rows)


@pytest.mark.slow
def test_a_sum_is_unbiased_where_the_function_gives_no_value_for_many_rows(
    settings: Settings, tmp_path: Path, log: Path
) -> None:
    specs = write_function(tmp_path, log, "return value if int(100 * value) % 2 else None")
    query = make_query(specs, 0.3).model_copy(update={"estimates": "plain"})
    ratios = []
    for seed in range(6):
        here = settings.model_copy(update={"warehouse": str(tmp_path / f"w{seed}")})
        rows = make_rows(hours=4, per_hour=800, keys=4, seed=seed)
        for slot in range(1, 4):
            found = answer(here, query, slot * HOUR, rows)
            mine = found[found.leg == "optimal"]
            rows_there = rows[(rows.time // HOUR == slot) & ((100 * rows.value).astype(int) % 2 == 1)]
            ratios.append(float(mine.total.sum()) / float(rows_there.value.sum()))
    assert abs(np.mean(ratios) - 1) <= 3 * np.std(ratios) / np.sqrt(len(ratios)) + 0.01
