"""The arrivals log: which sources of a dataset are visible, and what they cover.

`ingests/<dataset>` is append-only and the single truth. A source (one file's content, or one interval of
a generator) is written under a fresh id, and becomes visible with one append to the log, which also hides
what it replaces. Rows of attempts that died stay invisible for ever, whatever tables they reached.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from shedding import warehouse
from shedding.config import Settings
from shedding.spec.times import UNITS, parse_instant
from shedding.stretches import Stretches

HOUR = UNITS["hour"]


@dataclass(frozen=True)
class Source:
    """One visible source: its counts, the rows it has in each hour, and the key sets counted for it.

    `reached` is the newest of its event times that had come when it arrived: later ones are mistakes or plans, and
    tell nothing of what else has arrived.
    """

    source_id: str
    name: str
    content_hash: str
    seq: int
    rows_read: int = 0
    kept: int = 0
    excluded: int = 0
    quarantined: int = 0
    bytes: int = 0
    first_event: int | None = None
    last_event: int | None = None
    reached: int | None = None
    hours: Mapping[int, int] = field(default_factory=dict)
    concepts: frozenset[str] = frozenset()
    interval: tuple[int, int] | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def derived(self) -> list[str] | None:
        """The derived columns that its rows were stored with; None in a log that did not note them."""
        noted = self.detail.get("derived")
        return None if noted is None else [str(name) for name in noted]

    @cached_property
    def occupied(self) -> Stretches:
        """Where its rows may lie, by its hours and its first and last event.

        The events matter for slots shorter than an hour: what arrives for the next slot does not touch this one.
        """
        hours = Stretches.of(*((hour, hour + HOUR) for hour in self.hours))
        if self.first_event is None or self.last_event is None:
            return hours
        return hours.within(Stretches.of((self.first_event, self.last_event + 1)))

    def touches(self, stretches: Stretches) -> bool:
        """Whether this source may have rows there."""
        if not self.occupied:
            return False
        near = stretches.within(Stretches.of((self.occupied.start, self.occupied.end)))
        return bool(near.within(self.occupied))

    def log_row(self) -> dict[str, Any]:
        """The `committed` row that states this source again."""
        start, end = self.interval or (None, None)
        return {
            "state": "committed", "source_id": self.source_id, "name": self.name, "content_hash": self.content_hash,
            "rows_read": self.rows_read, "kept": self.kept, "excluded": self.excluded,
            "quarantined": self.quarantined, "bytes": self.bytes, "first_event": self.first_event,
            "last_event": self.last_event, "reached": self.reached,
            "hours": json.dumps({str(h): n for h, n in self.hours.items()}), "concepts": sorted(self.concepts),
            "interval_start": start, "interval_end": end, "detail": json.dumps(dict(self.detail), sort_keys=True),
        }  # fmt: skip


@dataclass(frozen=True)
class Arrivals:
    """A pinned snapshot of a dataset's log; a later ingest does not change it.

    `hidden` are the sources whose rows must not be read: begun and never committed, replaced, or a second
    copy of a content that another process committed first.
    """

    visible: tuple[Source, ...] = ()
    hidden: frozenset[str] = frozenset()
    marks: tuple[int, ...] = ()
    seq: int = 0
    version: int | None = None

    @classmethod
    def load(cls, settings: Settings, dataset: str, version: int | None = None) -> Arrivals:
        """The snapshot as of now, or of a version of the log; empty where nothing was ever ingested."""
        table = warehouse.ingests(settings, dataset)
        version = table.version() if version is None else version
        if version is None:
            return cls()
        return cls.of(table.read(version=version).to_pylist(), version)

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], version: int | None = None) -> Arrivals:
        """The snapshot that log rows add up to, in whatever order the rows come."""
        log = sorted(rows, key=lambda r: (r["seq"], r["state"], r["source_id"] or ""))
        by_state: dict[str, dict[str, Mapping[str, Any]]] = {}
        first_commit: dict[str, Mapping[str, Any]] = {}
        for row in log:
            by_state.setdefault(row["state"], {})[row["source_id"]] = row  # a later row of a source replaces an earlier
            if row["state"] == "committed":
                first_commit.setdefault(row["source_id"], row)
        gone = by_state.get("superseded", {}).keys() | by_state.get("removed", {}).keys()
        committed = by_state.get("committed", {})
        visible = _settle([_source(row, first_commit[key]) for key, row in committed.items() if key not in gone])
        seen = by_state.get("begun", {}).keys() | committed.keys()
        hidden = frozenset(seen - {source.source_id for source in visible} - by_state.get("removed", {}).keys())
        marks = tuple(_micros(row["interval_end"]) or 0 for row in log if row["state"] == "watermark")
        return cls(visible, hidden, marks, max((row["seq"] for row in log), default=0), version)

    def rows(self, stretches: Stretches) -> int:
        """Rows in the hours that overlap the stretches: an upper bound, exact where these are whole hours."""
        hours = stretches.widened(HOUR)
        if not hours:
            return 0
        inside = ((n, hour) for s in self.visible for hour, n in s.hours.items() if hours.start <= hour < hours.end)
        return sum(n for n, hour in inside if len(hours.parts) == 1 or hours.covers(Stretches.of((hour, hour + 1))))

    @cached_property
    def occupied(self) -> tuple[int, ...]:
        """The hours that have rows, in order."""
        return tuple(sorted({hour for source in self.visible for hour, rows in source.hours.items() if rows}))

    def fingerprint(self, stretches: Stretches) -> str:
        """Equal iff the same sources touch the stretches."""
        contents = sorted(s.content_hash for s in self.visible if s.touches(stretches))
        return hashlib.blake2b("\n".join(contents).encode(), digest_size=12).hexdigest()

    @property
    def first_event(self) -> int | None:
        """Event time of the oldest visible row."""
        return min((s.first_event for s in self.visible if s.first_event is not None), default=None)

    @property
    def last_event(self) -> int | None:
        """Event time of the newest visible row."""
        return max((s.last_event for s in self.visible if s.last_event is not None), default=None)

    @property
    def reached(self) -> int | None:
        """The newest event time that had come when its source arrived: one row of a far future moves nothing."""
        return max((s.reached for s in self.visible if s.reached is not None), default=None)

    @property
    def watermark(self) -> int | None:
        """Up to when the data is believed complete: an ingest run's interval, or the newest event that had come."""
        ends = [s.interval[1] for s in self.visible if s.interval is not None]
        newest = [] if ends or self.reached is None else [self.reached]
        return max([*self.marks, *ends, *newest], default=None)

    def ready(self, start: int, end: int, generator: bool, reach: int | None = None) -> bool:
        """Whether [start, end) may be computed: a generator must cover all of it, files must have passed its end.

        `reach` is how far back its windows look. A generator must cover that too, as far as it has begun by then: a
        window with a hole in it would be published as if its rows were all there.
        """
        if not generator:
            return self.watermark is not None and self.watermark >= end
        begun = min((s.interval[0] for s in self.visible if s.interval is not None), default=start)
        return not self.gaps(min(start, max(begun, start if reach is None else reach)), end)

    def gaps(self, start: int, end: int) -> list[tuple[int, int]]:
        """The stretches of [start, end) that no visible interval covers, in order."""
        covered = Stretches.of(*(s.interval for s in self.visible if s.interval is not None))
        return list(Stretches.of((start, end)).minus(covered))

    def without(self, column: str) -> list[str]:
        """The visible sources whose rows were stored before this derived column was."""
        return [s.source_id for s in self.visible if s.kept and s.derived is not None and column not in s.derived]

    def noting_derived(self, stored: Iterable[str]) -> Arrivals:
        """The same, where sources of a log that did not note their derived columns are said to have the stored ones."""
        names = list(stored)
        return replace(
            self,
            visible=tuple(
                s if s.derived is not None else replace(s, detail={**s.detail, "derived": names}) for s in self.visible
            ),
        )

    def counted(self, keyset: str, stretches: Stretches) -> bool:
        """Whether every visible source with rows near the stretches has been counted for the key set."""
        return all(keyset in s.concepts for s in self.visible if s.touches(stretches))


def _settle(sources: list[Source]) -> tuple[Source, ...]:
    """Of concurrent commits one stays: the first of equal contents, the last of equal names."""
    contents: dict[str, Source] = {}
    for source in sorted(sources, key=lambda s: (s.seq, s.source_id)):
        contents.setdefault(source.content_hash, source)
    names: dict[str, Source] = {source.name: source for source in contents.values()}
    return tuple(sorted(names.values(), key=lambda s: s.source_id))


def _source(row: Mapping[str, Any], first: Mapping[str, Any]) -> Source:
    """The source as its newest row states it; it arrived when the first one was written."""
    start, end = _micros(row["interval_start"]), _micros(row["interval_end"])
    last, arrived = _micros(row["last_event"]), _micros(first["at"])
    reached = _micros(row.get("reached"))  # rows of an older log have none
    if reached is None and last is not None and arrived is not None and last <= arrived:
        reached = last
    return Source(
        source_id=row["source_id"],
        name=row["name"],
        content_hash=row["content_hash"],
        seq=first["seq"],
        rows_read=row["rows_read"] or 0,
        kept=row["kept"] or 0,
        excluded=row["excluded"] or 0,
        quarantined=row["quarantined"] or 0,
        bytes=row["bytes"] or 0,
        first_event=_micros(row["first_event"]),
        last_event=last,
        reached=reached,
        hours={int(hour): rows for hour, rows in json.loads(row["hours"] or "{}").items()},
        concepts=frozenset(row["concepts"] or ()),
        interval=(start, end) if start is not None and end is not None else None,
        detail=json.loads(row["detail"] or "{}"),
    )


def _micros(moment: Any) -> int | None:
    return None if moment is None else parse_instant(moment)
