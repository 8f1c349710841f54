"""The arrivals log: what is visible follows from its rows alone, in whatever order they are read."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shedding import warehouse
from shedding.config import Settings
from shedding.ingest.arrivals import HOUR, Arrivals
from shedding.ingest.arrivals_log import watermark_row, write_log
from shedding.spec.times import as_datetime
from shedding.stretches import Stretches

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def row(state: str, source: str, seq: int, name: str = "", content: str = "", **more: Any) -> dict[str, Any]:
    known = {"state": state, "source_id": source, "seq": seq, "name": name or source, "content_hash": content or source}
    return dict.fromkeys(warehouse.ingests.schema.names) | known | {"at": NOW} | more


def committed(source: str, seq: int, hours: dict[int, int], **more: Any) -> dict[str, Any]:
    text = json.dumps({str(hour * HOUR): rows for hour, rows in hours.items()})
    return row("committed", source, seq, hours=text, kept=sum(hours.values()), **more)


def moment(hour: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(hour * 3600, dt.UTC)


def test_an_empty_log_shows_nothing() -> None:
    arrivals = Arrivals.of([])
    assert (arrivals.visible, arrivals.hidden) == ((), frozenset())
    assert (arrivals.watermark, arrivals.first_event) == (None, None)
    assert not arrivals.ready(0, HOUR, generator=True)
    assert not arrivals.ready(0, HOUR, generator=False)


def test_what_was_begun_and_never_committed_is_hidden() -> None:
    arrivals = Arrivals.of([row("begun", "a", 1), row("begun", "b", 1), committed("b", 2, {0: 5})])
    assert [source.source_id for source in arrivals.visible] == ["b"]
    assert arrivals.hidden == {"a"}


def test_a_replaced_source_is_hidden_and_changes_the_fingerprint_of_its_hours_only() -> None:
    first = [row("begun", "a", 1, "f", "1"), committed("a", 2, {0: 5}, name="f", content="1")]
    first.append(committed("o", 2, {9: 1}))
    after = [*first, committed("b", 4, {0: 6}, name="f", content="2"), row("superseded", "a", 4)]
    old, new = Arrivals.of(first), Arrivals.of(after)
    assert new.hidden == {"a"}
    assert new.rows(Stretches.of((0, HOUR))) == 6
    assert old.fingerprint(Stretches.of((0, HOUR))) != new.fingerprint(Stretches.of((0, HOUR)))
    assert old.fingerprint(Stretches.of((9 * HOUR, 10 * HOUR))) == new.fingerprint(Stretches.of((9 * HOUR, 10 * HOUR)))


def test_what_arrives_for_the_next_quarter_of_an_hour_does_not_touch_this_one() -> None:
    quarter = HOUR // 4
    ends = [{"first_event": as_datetime(n * quarter), "last_event": as_datetime((n + 1) * quarter - 1)} for n in (0, 1)]
    first, second = committed("a", 1, {0: 5}, **ends[0]), committed("b", 2, {0: 5}, **ends[1])
    old, new = Arrivals.of([first]), Arrivals.of([first, second])
    assert old.fingerprint(Stretches.of((0, quarter))) == new.fingerprint(Stretches.of((0, quarter)))
    assert old.fingerprint(Stretches.of((quarter, 2 * quarter))) != new.fingerprint(
        Stretches.of((quarter, 2 * quarter))
    )


def test_of_two_processes_that_commit_one_content_only_the_first_counts() -> None:
    both = [committed("a", 2, {0: 5}, content="same"), committed("b", 3, {0: 5}, content="same")]
    recounted = [*both, committed("a", 9, {0: 5}, content="same", concepts=["k"])]
    for log in (both, recounted):
        assert [source.source_id for source in Arrivals.of(log).visible] == ["a"]
        assert Arrivals.of(log).hidden == {"b"}
    assert Arrivals.of(recounted).counted("k", Stretches.of((0, HOUR)))
    assert not Arrivals.of(both).counted("k", Stretches.of((0, HOUR)))
    assert Arrivals.of(both).counted("k", Stretches.of((HOUR, 2 * HOUR)))


def test_a_generator_is_ready_once_its_intervals_leave_no_gap() -> None:
    log = [
        committed("a", 1, {0: 1}, interval_start=moment(0), interval_end=moment(1)),
        committed("b", 1, {2: 1}, interval_start=moment(2), interval_end=moment(4)),
    ]
    arrivals = Arrivals.of(log)
    assert arrivals.gaps(0, 5 * HOUR) == [(HOUR, 2 * HOUR), (4 * HOUR, 5 * HOUR)]
    assert arrivals.ready(2 * HOUR, 4 * HOUR, generator=True)
    assert not arrivals.ready(0, 4 * HOUR, generator=True)
    assert arrivals.watermark == 4 * HOUR


def test_files_are_ready_when_an_event_or_an_ingest_run_has_passed_the_end() -> None:
    events = [committed("a", 1, {0: 1}, first_event=moment(0), last_event=moment(3))]
    assert Arrivals.of(events).ready(0, 3 * HOUR, generator=False)
    assert not Arrivals.of(events).ready(0, 4 * HOUR, generator=False)
    marked = [*events, row("watermark", "", 2, interval_end=moment(5))]
    assert Arrivals.of(marked).ready(0, 5 * HOUR, generator=False)


def test_an_event_after_its_arrival_makes_nothing_ready() -> None:
    told = {"first_event": moment(0), "last_event": dt.datetime(2099, 1, 1, tzinfo=dt.UTC)}
    astray = committed("a", 1, {0: 1, 2: 1}, **told, reached=moment(2))
    recounted = committed("a", 9, {0: 1, 2: 1}, **told, reached=moment(2), at=dt.datetime(2100, 1, 1, tzinfo=dt.UTC))
    for log in ([astray], [astray, recounted]):
        assert Arrivals.of(log).watermark == 2 * HOUR
        assert not Arrivals.of(log).ready(0, 3 * HOUR, generator=False)
    unsaid = {"reached": None}  # all rows are later, or the log is older than the column
    assert Arrivals.of([astray | unsaid]).watermark is None
    assert Arrivals.of([astray | unsaid, recounted | unsaid]).watermark is None
    assert Arrivals.of([astray | unsaid, row("watermark", "", 2, interval_end=moment(5))]).watermark == 5 * HOUR


def test_what_a_source_reached_is_kept_when_it_is_stated_again() -> None:
    (source,) = Arrivals.of([committed("a", 1, {0: 1}, last_event=moment(9), reached=moment(3))]).visible
    assert source.log_row()["reached"] == source.reached == 3 * HOUR


def test_the_log_is_written_and_read_back(settings: Settings) -> None:
    assert Arrivals.load(settings, "d").version is None
    source = {"state": "committed", "source_id": "a", "name": "f", "content_hash": "c", "kept": 3, "concepts": ["k"],
              "hours": json.dumps({"0": 3}), "first_event": 5, "last_event": 9}  # fmt: skip
    write_log(settings, "d", [source], NOW)
    write_log(settings, "d", [watermark_row((0, HOUR))], NOW)
    arrivals = Arrivals.load(settings, "d")
    (found,) = arrivals.visible
    assert (found.first_event, found.last_event, found.hours, found.concepts) == (5, 9, {0: 3}, {"k"})
    assert arrivals.watermark == HOUR


@given(st.data())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_order_in_which_rows_are_read_does_not_matter(data: st.DataObject) -> None:
    names = st.sampled_from("abc")
    log = [
        committed(f"s{n}", n, {n % 3: 1}, name=data.draw(names), content=data.draw(names))
        if data.draw(st.booleans())
        else row(data.draw(st.sampled_from(["begun", "superseded"])), f"s{data.draw(st.integers(0, n))}", n)
        for n in range(data.draw(st.integers(0, 8)))
    ]
    shuffled = data.draw(st.permutations(log))
    assert Arrivals.of(shuffled) == Arrivals.of(log)
    visible = Arrivals.of(log).visible
    assert len({source.name for source in visible}) == len(visible)
    assert len({source.content_hash for source in visible}) == len(visible)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 4)), min_size=2, max_size=2), st.integers(0, 4))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_fingerprint_changes_exactly_when_a_source_with_rows_there_does(
    logs: list[dict[str, int]], hour: int
) -> None:
    span = Stretches.of((hour * HOUR, (hour + 1) * HOUR))
    one, other = (Arrivals.of([committed(name, 1, {at: 1}) for name, at in log.items()]) for log in logs)
    touching = [{name for name, at in log.items() if at == hour} for log in logs]
    assert (one.fingerprint(span) == other.fingerprint(span)) == (touching[0] == touching[1])
