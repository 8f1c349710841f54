"""The Spark side of a memory: scans of raw rows, bound to one session and query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as sf

from shedding.config import Settings
from shedding.ingest.side import Side
from shedding.rates import Rates
from shedding.scan.ask import Ask, Shared
from shedding.scan.enriched_rows import enriched_rows, spent_on
from shedding.scan.rank_bounds import deepest_rank, expected_rows
from shedding.scan.read import Read
from shedding.scan.scan import kept_rows, scan
from shedding.scan.shared_scan import shared_scan
from shedding.scan.whole_windows import whole_blocks, whole_windows
from shedding.spark.expression import matching, with_kept
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import Block
from shedding.stretches import Stretches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SLOT = "_slot"
FEW_ROWS = 4_000_000
"""Sampled rows up to which the driver sums them itself: some 30 bytes each."""


class SlotScan:
    """Scans of one query's raw rows."""

    def __init__(self, spark: SparkSession, settings: Settings, query: QuerySpec) -> None:
        self._spark, self._settings, self._query = spark, settings, query

    def of(self, query: QuerySpec) -> SlotScan:
        """The same for another query."""
        return SlotScan(self._spark, self._settings, query)

    def panes(
        self,
        side: Side,
        measures: Sequence[MeasureSpec],
        stretches: Stretches,
        legs: Sequence[Rates],
        exact: bool,
    ) -> Read:
        """The rows of the stretches grouped by pane, key and class of legs; of ranked files only those it needs."""
        rows = self._rows(side, stretches)
        counts = side.counts(stretches) if legs and not exact else None
        deepest: int | None = None
        if counts is not None and "_rank" in rows.columns:
            deepest = deepest_rank(side, self._query.timeline, stretches, legs)
        if deepest is not None:
            rows = rows.where(sf.col("_rank") <= sf.lit(deepest))
        rows = self._enriched(rows, side, stretches, legs, exact)
        kept = side.arrivals.rows(stretches) if counts is None else expected_rows(counts, side.keyset.keys, legs)
        found = scan(
            self._spark,
            rows,
            timeline=self._query.timeline,
            keys=side.keyset.keys,
            measures=measures,
            legs=legs,
            exact=exact,
            where=side.keyset.where,
            few=kept <= FEW_ROWS,
            counted=side.known(stretches),
        )
        return Read(found, side.bytes(stretches, deepest))

    def _rows(self, side: Side, stretches: Stretches) -> DataFrame:
        """The visible rows of the stretches, with what the side's key set adds to them."""
        return with_kept(side.read(self._spark, stretches), side.keyset.keep)

    def together(self, asks: Sequence[Ask]) -> Shared | None:
        """The panes that several asks want, from one pass over the rows of one dataset; None where they are too many.

        Of ranked files only what the deepest of the asks needs.
        """
        if any(ask.exact or ask.side.keyset.keep is not None for ask in asks):
            return None
        side, stretches = asks[0].side, Stretches.union(ask.stretches for ask in asks)
        if sum(_kept_rows(ask) for ask in asks) > FEW_ROWS:
            return None
        rows = side.read(self._spark, stretches)
        ranks = [deepest_rank(ask.side, ask.timeline, ask.stretches, ask.legs) for ask in asks]
        deepest = None if None in ranks or "_rank" not in rows.columns else max(rank or 0 for rank in ranks)
        if deepest is not None:
            rows = rows.where(sf.col("_rank") <= sf.lit(deepest))
        found = shared_scan(self._spark, rows, asks)
        if found is None:
            return None
        tables, union = found
        size = side.bytes(stretches, deepest)
        return Shared([Read(table, size) for table in tables], float(union))

    def _enriched(
        self,
        rows: DataFrame,
        side: Side,
        stretches: Stretches,
        legs: Sequence[Rates],
        exact: bool,
        keys: Sequence[str] | None = None,
    ) -> DataFrame:
        """The rows that legs keep (all for `exact`), with the columns that functions make; as they are without any."""
        if not self._query.enrich:
            return rows
        by = side.keyset.keys if keys is None else keys
        kept = kept_rows(self._spark, rows, keys=by, legs=legs, exact=exact, where=side.keyset.where)
        slots = stretches.multiples(self._query.timeline.slot)
        return enriched_rows(self._spark, self._settings, self._query, kept, slots)

    def panes_by_slot(
        self, side: Side, measures: Sequence[MeasureSpec], stretches: Stretches, legs: Sequence[Rates]
    ) -> pa.Table:
        """The same over many slots at once, with the slot (us) as first key of the rates and of the answer."""
        rows = self._rows(side, stretches)
        moment = sf.unix_micros(sf.col("event_time"))
        slot = moment - sf.pmod(moment, sf.lit(self._query.timeline.slot))
        keys = [SLOT, *side.keyset.keys]
        return scan(
            self._spark,
            self._enriched(rows.withColumn(SLOT, slot), side, stretches, legs, False, keys),
            timeline=self._query.timeline,
            keys=keys,
            measures=measures,
            legs=legs,
            exact=False,
            where=side.keyset.where,
            counted=side.known(stretches),
        )

    def spent(self, side: Side, stretches: Stretches, rates: Rates) -> pa.Table:
        """What functions took for the rows of the stretches that the rates keep; they are called where none was yet."""
        rows, keyset = self._rows(side, stretches), side.keyset
        kept = kept_rows(self._spark, rows, keys=keyset.keys, legs=[rates], exact=False, where=keyset.where)
        slots = stretches.multiples(self._query.timeline.slot)
        return spent_on(self._spark, self._settings, self._query, kept, slots)

    def blocks(self, side: Side, measures: Sequence[MeasureSpec], blocks: Sequence[Block]) -> pa.Table:
        """Exact values that do not merge over panes, per block (window_start) and key; blocks do not overlap."""
        stretches = Stretches.of(*blocks)
        rows = side.read(self._spark, stretches)
        if side.keyset.where:
            rows = rows.where(side.keyset.where)
        rows = self._enriched(rows, side, stretches, (), exact=True)
        return whole_blocks(rows, blocks, side.keyset.keys, measures)

    def windows(self, side: Side, measures: Sequence[MeasureSpec], windows: Sequence[tuple[int, int]]) -> pa.Table:
        """Exact values that do not merge over panes, per window and key."""
        stretches = Stretches.of(*windows)
        rows = side.read(self._spark, stretches)
        if side.keyset.where:
            rows = matching(rows, side.keyset.where)
        rows = self._enriched(rows, side, stretches, (), exact=True)
        return whole_windows(rows, windows, self._query.timeline, self._query.group_by, measures)


def _kept_rows(ask: Ask) -> float:
    """How many rows some leg of the ask is expected to keep; all where nobody counted."""
    counts = ask.side.counts(ask.stretches)
    return ask.side.arrivals.rows(ask.stretches) if counts is None else expected_rows(counts, ask.keys, ask.legs)
