"""`windows/<query>`: readers tell a dropped window from an empty one, by any reader of Delta."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import polars
import pytest
from deltalake import DeltaTable

from jobs.publish import drop_slot, publish, quarantine
from shedding import warehouse
from shedding.config import Settings
from shedding.planning.slot_plan import by_calendar, settle_plan
from shedding.spec.query import QuerySpec
from tests.expectations.answers import HOUR, SLOT, Answer, make_query
from tests.jobs.test_publish import BAD, judged

CONSUMERS = Path(__file__).resolve().parents[2] / "jobs" / "PUBLISHED.md"


def states(settings: Settings) -> list[dict[str, Any]]:
    return warehouse.windows(settings, "fares").read().sort_by("window_start").to_pylist()


def dropper() -> QuerySpec:
    return make_query(shed={"policy": "exact", "windows": {"drop": 0.3, "batch": 1}}, schedule={"every": "4 hours"})


def slot_of(query: QuerySpec) -> int:
    """A slot of which some windows are dropped."""
    length = query.timeline.slot
    return next(s for s in range(SLOT, SLOT + 99 * length, length) if by_calendar(query, s).dropped)


class Kept(Answer):
    """An answer that has rows in the windows that the plan keeps, but for the empty ones."""

    empty: tuple[int, ...] = ()

    def rows(self, leg: str) -> Any:
        kept = set(by_calendar(self.query, self.slot).kept) - set(self.empty)
        rows = super().rows(leg)
        inside = [int(start.timestamp() * 1_000_000) in kept for start in rows["window_start"].to_pylist()]
        return rows.filter(inside)

    def _run_rows(self, leg: str, run_id: str) -> list[dict[str, Any]]:
        kept = set(by_calendar(self.query, self.slot).kept)
        return [row for row in super()._run_rows(leg, run_id) if row["window_start"] in kept]


def kept_answer(query: QuerySpec, slot: int, empty: tuple[int, ...] = ()) -> Answer:
    answer = Kept(query, slot, leg="exact")
    answer.empty = empty
    return answer


def test_every_published_window_of_any_query_has_a_state(settings: Settings) -> None:
    query = make_query()
    version = publish(settings, query, SLOT, judged(settings, Answer(query)), "run")
    found = states(settings)
    assert [row["state"] for row in found] == ["published", "published"]
    assert {row["published_version"] for row in found} == {version}
    assert {row["keys"] for row in found} == {4}


def test_a_window_is_published_empty_or_dropped(settings: Settings) -> None:
    query = dropper()
    slot = slot_of(query)
    plan = settle_plan(settings, query, slot, "run")
    publish(settings, query, slot, judged(settings, kept_answer(query, slot, plan.kept[:1])), "run")
    wanted = ["dropped" if s in plan.dropped else "empty" if s == plan.kept[0] else "published" for s in plan.windows]
    assert [row["state"] for row in states(settings)] == wanted
    assert all("calendar" in row["reason"] for row in states(settings) if row["state"] == "dropped")


def test_equal_rows_have_equal_contents_whoever_publishes_them(settings: Settings) -> None:
    query = make_query()
    publish(settings, query, SLOT, judged(settings, Answer(query)), "run")
    first = [row["content"] for row in states(settings)]
    publish(settings, query, SLOT, judged(settings, Answer(query), run_id="again"), "again")
    assert [row["content"] for row in states(settings)] == first
    other = Answer(query, values=[1.0, 2.0, 3.0, 4.0])
    publish(settings, query, SLOT, judged(settings, other, run_id="third"), "third")
    assert all(row["content"] != content for row, content in zip(states(settings), first, strict=True))


def test_a_refused_slot_says_why_and_leaves_what_was_published_as_it_was(settings: Settings) -> None:
    query = make_query()
    quarantine(settings, query, SLOT, judged(settings, Answer(query), BAD), "run")
    assert {row["state"] for row in states(settings)} == {"refused"}
    assert all("mean relative error" in row["reason"] for row in states(settings))
    publish(settings, query, SLOT, judged(settings, Answer(query), run_id="good"), "good")
    quarantine(settings, query, SLOT, judged(settings, Answer(query), BAD, run_id="bad"), "bad")
    assert {row["state"] for row in states(settings)} == {"published"}


def test_a_wholly_dropped_slot_is_decided_without_rows(settings: Settings) -> None:
    query = make_query(shed={"policy": "exact", "windows": {"drop": 0.6, "batch": 4}})
    slot = next(s for s in range(SLOT, SLOT + 400 * HOUR, HOUR) if not by_calendar(query, s).kept)
    drop_slot(settings, query, slot, "run")
    assert {row["state"] for row in states(settings)} == {"dropped"}


@pytest.fixture
def mixed(settings: Settings) -> tuple[Settings, QuerySpec, int]:
    query = dropper()
    slot = slot_of(query)
    kept = settle_plan(settings, query, slot, "run").kept
    publish(settings, query, slot, judged(settings, kept_answer(query, slot, kept[:1])), "run")
    return settings, query, slot


def documented_join() -> str:
    """The join as PUBLISHED.md shows it."""
    found = re.search(r"```sql\n(SELECT w\.window_start.*?)```", CONSUMERS.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def test_the_documented_join_tells_dropped_from_empty_in_duckdb_polars_and_deltalake(
    mixed: tuple[Settings, QuerySpec, int],
) -> None:
    settings, query, _ = mixed
    wanted = {row["window_start"]: (row["state"], row["keys"] or 0) for row in states(settings)}
    places = {kind: settings.table(kind, query.name) for kind in ("windows", "published")}
    windows, published = (DeltaTable(places[kind]).to_pyarrow_table() for kind in ("windows", "published"))
    with duckdb.connect() as base:
        base.register("windows", windows)
        base.register("published", published)
        rows = base.sql(documented_join()).fetchall()
    told = {start: (state, sum(r[0] == start and r[2] is not None for r in rows)) for start, state, *_ in rows}
    assert told == wanted
    left, right = (polars.read_delta(places[kind]) for kind in ("windows", "published"))
    joined = left.join(right, on="window_start", how="left", suffix="_of_rows")
    counts = joined.group_by("window_start", "state").agg(polars.col("route").count())
    assert {start: (state, keys) for start, state, keys in counts.iter_rows()} == wanted
    assert {state for state, _ in wanted.values()} == {"published", "empty", "dropped"}
