"""Error limits of a query: what a slot shows, what it leaves out and writes down, the same in any order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from shedding import warehouse
from shedding.config import Settings
from shedding.errors import NotReadyError
from shedding.spec.query import QuerySpec
from tests.shedding.answers.test_slot import elsewhere, make_query, run
from tests.shedding.rows_in_memory import HOUR

SLOTS = [h * HOUR for h in range(5, 9)]


def limited(error: Any, **shed: Any) -> QuerySpec:
    content = {"policy": "posterior", "budget": {"fraction": 0.2}, "tolerate": {"error": error}, **shed}
    return make_query(shed=content)


def test_a_key_is_shown_or_left_out_and_none_is_missing(settings: Settings) -> None:
    query = limited(0.2)
    rows, _ = run(settings, query, SLOTS)
    keys = ["window_start", "key"]
    shown, left_out, exact = (
        rows[rows.leg == leg][keys].apply(tuple, axis=1) for leg in ("posterior", "omitted", "exact")
    )
    assert len(shown)
    assert len(left_out)
    assert not set(shown) & set(left_out)
    audited = rows[rows.leg == "exact"].window_start.unique()
    both = {pair for pair in {*shown, *left_out} if pair[0] in audited}
    assert both == set(exact)
    runs = warehouse.runs(settings, query.name).read([("leg", "=", "posterior")]).to_pandas()
    assert (runs.missing_keys == 0).all()
    assert runs.omitted_keys.sum() == len(left_out)
    assert runs.omitted_rows.sum() == rows[rows.leg == "omitted"].population.sum()
    assert (runs.omitted_rows < runs.window_rows).all()


def test_what_is_left_out_says_why_and_what_it_would_take(settings: Settings) -> None:
    rows, _ = run(settings, limited(0.2), SLOTS)
    left_out = rows[rows.leg == "omitted"]
    assert (left_out.planned_error > 0.2).all()
    assert (left_out.error_limit == 0.2).all()
    assert ((left_out.rows_needed > 0) & (left_out.rows_needed <= left_out.population)).all()
    assert left_out.reason.str.match(r"mean: planned error .* is above 0\.2$").all()


def test_with_a_limit_of_zero_every_row_is_exact(settings: Settings) -> None:
    rows, _ = run(settings, limited(0), SLOTS)
    mine = rows[rows.leg == "posterior"]
    assert len(mine)
    assert mine.is_exact.all()
    assert (mine.mean_low == mine.mean_high).all()
    assert (rows.leg == "omitted").any()


def test_any_order_of_slots_leaves_out_the_same(settings: Settings, tmp_path: Path) -> None:
    query = limited(0.2)
    answers = [
        run(elsewhere(settings, tmp_path, name), query, order)[0]
        for name, order in {"on": SLOTS, "back": SLOTS[::-1]}.items()
    ]
    pd.testing.assert_frame_equal(*answers, check_exact=True)


def test_a_keys_own_limit_and_that_of_a_measure_count(settings: Settings, tmp_path: Path) -> None:
    own = limited(0.2, weights={"keys": [{"key": "k001", "error": 5}]})
    rows, _ = run(elsewhere(settings, tmp_path, "own"), own, SLOTS[:1])
    assert "k001" not in set(rows[rows.leg == "omitted"].key)
    none, _ = run(elsewhere(settings, tmp_path, "none"), limited({"n": 0.1}), SLOTS[:1])
    assert not (none.leg == "omitted").any()  # the number of rows is exact


def test_without_counts_of_the_keys_the_slot_waits(settings: Settings) -> None:
    with pytest.raises(NotReadyError, match="has error limits, and its keys of d are not counted yet; run"):
        run(settings, limited(0.2), SLOTS[:1], known=False)


@pytest.mark.parametrize(
    ("shed", "message"),
    [
        ({"policy": "exact", "budget": {"fraction": 1}, "tolerate": {"error": 0.1}}, "go with a policy that sheds"),
        ({"completeness": "required", "tolerate": {"error": 0.1}}, "completeness: required keeps all"),
        ({"tolerate": {"error": {"other": 0.1}}}, "'other', which is no measure"),
        ({"tolerate": {"error": -1}}, "greater than or equal to 0"),
        ({"weights": {"keys": [{"key": "a"}]}}, "says nothing of these keys"),
    ],
)
def test_limits_that_make_no_sense_are_refused(shed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_query(shed={"budget": {"fraction": 0.1}, **shed})
