"""The published rows of a query as one side of another: what is decided, counted and visible of them.

The log of arrivals is `windows/<query>`: a slot of the source is one arrival, and its content is the rows that were
judged, not the run that made them. Equal rows published again make no reader stale, corrected ones do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from shedding import warehouse
from shedding.config import Settings
from shedding.errors import NotReadyError
from shedding.ingest.arrivals import HOUR, Arrivals, Source
from shedding.ingest.side import Side, file_bytes
from shedding.spec.dataset import DatasetSpec
from shedding.spec.fingerprints import digest
from shedding.spec.keyset import KeySet
from shedding.spec.times import as_datetime, parse_instant
from shedding.stretches import Stretches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class SourceWindow:
    """A window of the source: where it starts, what became of it, its content and rows."""

    start: int
    fate: str
    content: str | None
    keys: int
    slot: str

    @property
    def gone(self) -> bool:
        """Whether it is decided and has no rows."""
        return self.fate in ("dropped", "shut")

    @property
    def decided(self) -> bool:
        """Whether readers need not wait for it."""
        return self.fate != "refused"


@dataclass(frozen=True)
class SourceWindows:
    """All windows of a source, oldest first, as a version of `windows/<query>` has them."""

    windows: tuple[SourceWindow, ...] = ()
    version: int | None = None
    published_version: int | None = None

    @classmethod
    def load(cls, settings: Settings, query: str, version: int | None = None) -> SourceWindows:
        """The windows as they are decided now, or at a version of their table."""
        table = warehouse.windows(settings, query)
        version = table.version() if version is None else version
        if version is None:
            return cls()
        rows = table.read(version=version).sort_by("window_start").to_pylist()
        windows = [
            SourceWindow(parse_instant(r["window_start"]), r["state"], r["content"], r["keys"] or 0, r["slot"])
            for r in rows
        ]
        newest = max((r["published_version"] for r in rows if r["published_version"] is not None), default=None)
        return cls(tuple(windows), version, newest)

    def within(self, stretches: Stretches) -> list[SourceWindow]:
        """The windows that start there."""
        import numpy as np

        starts = np.array([window.start for window in self.windows], dtype=np.int64)
        return [self.windows[place] for place in np.flatnonzero(stretches.hold(starts)).tolist()]

    def arrivals(self, every: int) -> Arrivals:
        """The slots of the source, of a length, as arrivals; one with a refused window is not decided: readers wait."""
        slots: dict[str, list[SourceWindow]] = {}
        for window in self.windows:
            slots.setdefault(window.slot, []).append(window)
        return Arrivals(tuple(_arrival(slot, own, every) for slot, own in slots.items()), version=self.version)


@dataclass(frozen=True)
class PublishedSide(Side):
    """A query's published rows as a side: the same questions, answered from its two small tables."""

    published_version: int | None = None

    @cached_property
    def windows(self) -> SourceWindows:
        """The source's windows at the pinned version."""
        return SourceWindows.load(self.settings, self.dataset.name, self.arrivals.version)

    def known(self, stretches: Stretches) -> bool:
        """Rows can be counted at any time, unless a condition must be asked of each."""
        return self.keyset.where is None

    def counts(self, stretches: Stretches) -> pa.Table | None:
        """The rows per pane and key."""
        if not self.known(stretches):
            return None
        return published_counts(self.settings, self.keyset, stretches, self.published_version)

    def fingerprint(self, stretches: Stretches) -> str:
        """Changes when the content or the fate of a window that starts there does."""
        windows = self.windows.within(stretches)
        return digest([[w.start, "gone" if w.gone else w.content] for w in windows])

    def rows(self, stretches: Stretches) -> float:
        """The rows of the windows that start there."""
        return float(sum(window.keys for window in self.windows.within(stretches)))

    def bytes(self, stretches: Stretches, deepest: int | None = None) -> int:
        """Bytes of the published files that a scan cannot skip by the statistics of `window_start`."""
        return file_bytes(warehouse.published(self.settings, self.dataset.name), "window_start", stretches, self.only)

    def types(self) -> dict[str, pa.DataType]:
        """The type of each published column; NotReadyError where nothing was ever published."""
        schema = warehouse.published(self.settings, self.dataset.name).schema()
        if schema is None:
            name = self.dataset.name
            raise NotReadyError(f"query {name} has published nothing yet; run `sluice run {name}` first")
        return {field.name: field.type for field in schema}

    def read(self, spark: SparkSession, stretches: Stretches) -> DataFrame:
        """The published rows of windows that start there, with `event_time` and `u`."""
        from pyspark.sql import functions as fn

        from shedding.ingest.identity import identity_of, place_of
        from shedding.ingest.raw_rows import inside

        table = warehouse.published(self.settings, self.dataset.name)
        self.types()  # or nothing was published
        rows = spark.read.format("delta").option("versionAsOf", str(self.published_version)).load(table.uri)
        rows = rows.withColumn("event_time", fn.col("window_start"))
        rows = rows.where(inside(stretches)) if stretches else rows.limit(0)
        place = place_of(identity_of(["event_time", *self.dataset.identity]), self.dataset.name)
        columns = [f"`{name}`" for name in self.dataset.column_names]
        return rows.withColumn("u", place).select("event_time", "u", *columns)


def published_side(settings: Settings, dataset: DatasetSpec, keyset: KeySet) -> PublishedSide:
    """The source as it is now."""
    windows = SourceWindows.load(settings, dataset.name)
    arrivals = windows.arrivals(dataset.schedule.every)
    return PublishedSide(settings, dataset, keyset, arrivals, published_version=windows.published_version)


def published_counts(settings: Settings, keyset: KeySet, stretches: Stretches, version: int | None) -> pa.Table:
    """Rows per pane and key of the source's published rows at a version, and of each counted column its values."""
    table = warehouse.published(settings, keyset.dataset)
    counted = [f"rows_{column}" for column in keyset.counted]
    groups = ["pane_start", *keyset.keys]
    if version is None or not stretches:
        return pa.table({name: pa.array([], pa.int64()) for name in [*groups, "rows", *counted]} | {
            "least_u": pa.array([], pa.float64())})  # fmt: skip
    where = [("window_start", ">=", as_datetime(stretches.start)), ("window_start", "<", as_datetime(stretches.end))]
    rows = table.read(where, ["window_start", *keyset.keys, *keyset.counted], version=version)
    start = rows["window_start"].cast(pa.int64()).to_numpy()
    inside = stretches.hold(start)
    rows, start = rows.filter(pa.array(inside)), start[inside]
    rows = rows.append_column("pane_start", pa.array(start - start % keyset.pane, pa.int64()))
    wanted: list[Any] = [([], "count_all"), *((column, "count") for column in keyset.counted)]
    found = rows.group_by(groups, use_threads=False).aggregate(wanted)
    unknown = pa.array([math.nan] * len(found), pa.float64())
    found = found.rename_columns([*groups, "rows", *counted]).append_column("least_u", unknown)
    return found.sort_by([(name, "ascending") for name in groups])


def _arrival(slot: str, windows: list[SourceWindow], every: int) -> Source:
    """A slot of the source as one arrival; it owns a window every slide, all of them decided together."""
    hours: dict[int, int] = {}
    for window in windows:
        if window.keys:
            hour = window.start - window.start % HOUR
            hours[hour] = hours.get(hour, 0) + window.keys
    there = [window.start for window in windows if window.keys]
    decided = all(window.decided for window in windows)
    return Source(
        source_id=slot, name=slot, seq=0, kept=sum(hours.values()), hours=hours,
        content_hash=digest([[w.start, w.fate, w.content] for w in windows]),
        first_event=min(there, default=None), last_event=max(there, default=None), reached=max(there, default=None),
        interval=(windows[0].start, windows[0].start + every) if decided else None,
    )  # fmt: skip
