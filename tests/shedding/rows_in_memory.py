"""A dataset held in NumPy instead of Spark: the same answers to the same questions, for tests without a JVM."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from shedding.config import Settings
from shedding.enrich.calls import Calls, Result
from shedding.enrich.function import load_function
from shedding.enrich.items import items_of
from shedding.enrich.store import ROW, Enriched, row_columns
from shedding.keys import align
from shedding.rates import Rates
from shedding.scan.ask import Ask, Shared
from shedding.scan.read import Read
from shedding.scan.row_sums import row_sums
from shedding.spec.dataset import LayoutSpec
from shedding.spec.enrich import EnrichSpec
from shedding.spec.keyset import KeySet, keyset_of
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec
from shedding.stretches import Stretches

MINUTE = 60_000_000
HOUR = 60 * MINUTE


def make_rows(hours: int = 12, per_hour: int = 400, keys: int = 40, seed: int = 1) -> pd.DataFrame:
    """Rows of a heavy-tailed key with a mean of its own, values in cents; columns time, u, key, value, other."""
    rng = np.random.default_rng(seed)
    size = hours * per_hour
    key = np.minimum(rng.zipf(1.3, size), keys) - 1
    level = np.round(10 * (1 + rng.gamma(2.0, 1.0, keys)), 2)
    return pd.DataFrame({
        "time": np.sort(rng.integers(0, hours * HOUR, size)),
        "u": rng.random(size),
        "key": [f"k{k:03d}" for k in key],
        "value": np.round(level[key] * rng.lognormal(0, 0.4, size), 2),
        "other": np.round(1 + rng.random(size), 2),
    })  # fmt: skip


@dataclass
class RowsSide:
    """Stands in for `Side`: counts and fingerprints straight from the rows."""

    data: pd.DataFrame
    keyset: KeySet
    known_counts: bool = True
    only: pa.Table | None = None
    arrivals: SimpleNamespace = field(init=False)
    dataset: SimpleNamespace = field(init=False)

    def __post_init__(self) -> None:
        self.arrivals = SimpleNamespace(
            rows=lambda stretches: len(self.within(stretches)),
            version=None,
            first_event=int(self.data.time.min()) if len(self.data) else None,
            last_event=int(self.data.time.max()) if len(self.data) else None,
            occupied=tuple(np.unique(self.data.time // HOUR * HOUR)),
        )

        self.dataset = SimpleNamespace(
            name=self.keyset.dataset, column_names=list(self.data.columns), layout=LayoutSpec()
        )

        if self.keyset.keep is not None:
            self.data = self.data.assign(_kept=self.data.eval(self.keyset.keep).astype(int))

    def within(self, stretches: Stretches) -> pd.DataFrame:
        return self.data[stretches.hold(self.data.time.to_numpy())]

    def known(self, stretches: Stretches) -> bool:
        return self.known_counts

    def counts(self, stretches: Stretches) -> pa.Table | None:
        if not self.known_counts:
            return None
        rows = self.within(stretches)
        frame = rows.assign(pane_start=rows.time // self.keyset.pane * self.keyset.pane, rows=1)
        columns = {"rows": ("rows", "sum"), "least_u": ("u", "min")}
        columns |= {f"rows_{c}": (c, "count") for c in self.keyset.counted}
        groups = ["pane_start", *self.keyset.keys]
        found = frame.groupby(groups, as_index=False, dropna=False).agg(**columns)
        return pa.Table.from_pandas(found, preserve_index=False)

    def fingerprint(self, stretches: Stretches) -> str:
        content = pd.util.hash_pandas_object(self.within(stretches)).to_numpy().tobytes()
        return hashlib.blake2b(content, digest_size=8).hexdigest()

    def rows(self, stretches: Stretches) -> float:
        return float(len(self.within(stretches)))

    def bytes(self, stretches: Stretches, deepest: int | None = None) -> int:
        return 8 * len(self.within(stretches))

    def types(self) -> dict[str, pa.DataType]:
        schema = pa.Schema.from_pandas(self.data, preserve_index=False)
        return {field.name: field.type for field in schema}

    def no_keys(self) -> pa.Table:
        return pa.table({name: pa.array([], pa.string()) for name in self.keyset.keys})


def side_of(rows: pd.DataFrame, query: QuerySpec, *, known: bool = True) -> RowsSide:
    """The rows as the dataset of a query."""
    return RowsSide(rows, keyset_of(query), known)


def joined_sides(left: pd.DataFrame, right: pd.DataFrame, query: QuerySpec, *, known: bool = True) -> list[RowsSide]:
    """The rows of two datasets as the sides of a join; `known` is about the left one."""
    columns = list(left.columns)
    return [
        RowsSide(left, keyset_of(query, "left", columns), known), RowsSide(right, keyset_of(query, "right", columns))
    ]  # fmt: skip


class RowsScans:
    """Stands in for `SlotScan`; counts the scans that were asked for. Functions of `enrich` need `settings`.

    With a `clock` (arguments of a call -> seconds) calls take what it says.
    """

    def __init__(
        self, query: QuerySpec, settings: Settings | None = None, clock: Callable[..., float] | None = None
    ) -> None:
        self.query, self.calls, self.settings, self.clock = query, 0, settings, clock

    def of(self, query: QuerySpec) -> RowsScans:
        return RowsScans(query, self.settings)

    def panes(
        self,
        side: RowsSide,
        measures: Sequence[MeasureSpec],
        stretches: Stretches,
        legs: Sequence[Rates],
        exact: bool,
    ) -> Read:
        self.calls += 1
        rows = side.within(stretches)
        timeline = self.query.timeline
        mask = np.zeros(len(rows), dtype=np.int64)
        for bit, leg in enumerate(legs):
            mask |= np.where(rows.u.to_numpy() < _rate_of(leg, rows, side.keyset.keys), 1 << bit, 0)
        pane = timeline.pane
        frame = rows.assign(pane_start=rows.time // pane * pane, mask=mask)
        if not exact:
            frame = frame[frame["mask"] != 0]
        frame = self._enriched(frame)
        columns = {m.name: [c for c in (m.column, m.over) if c] for m in measures if m.column}
        groups = ["pane_start", *side.keyset.keys, "mask"]
        table = row_sums(pa.Table.from_pandas(frame, preserve_index=False), groups, measures, columns)
        return Read(table, side.bytes(stretches))

    def together(self, asks: Sequence[Ask]) -> Shared | None:
        self.calls += 1
        kept: set[int] = set()
        reads = []
        for ask in asks:
            side: Any = ask.side
            rows = side.within(ask.stretches)
            rates = [_rate_of(leg, rows, side.keyset.keys) for leg in ask.legs]
            kept |= set(rows.index[np.any([rows.u.to_numpy() < rate for rate in rates], axis=0)])
            scans = RowsScans(ask.query, self.settings)
            reads.append(scans.panes(side, ask.measures, ask.stretches, ask.legs, ask.exact))
        return Shared(reads, float(len(kept)))

    def _enriched(self, rows: pd.DataFrame, spent: list[pd.DataFrame] | None = None) -> pd.DataFrame:
        """The rows with the columns that functions make, as `enriched_rows` has them."""
        for entry in self.query.enrich:
            assert self.settings is not None, "rows that functions enrich need a warehouse"
            store = Enriched(self.settings, self.query.name, entry)
            arguments = list(rows[entry.columns].itertuples(index=False, name=None))
            inputs = [int.from_bytes(hashlib.blake2b(repr(one).encode(), digest_size=7).digest()) for one in arguments]
            keyed = rows.assign(event_time=rows.time, inputs=np.array(inputs, np.int64))
            slots = sorted(set((rows.time // self.query.timeline.slot * self.query.timeline.slot).tolist()))
            known = store.read(slots).select(list(ROW)).to_pandas()
            merged = keyed.merge(known.assign(known=True), how="left", on=list(ROW))
            new = ((merged.known != True) & ~merged.duplicated(list(ROW))).to_numpy()  # noqa: E712
            given = [one for one, is_new in zip(arguments, new, strict=True) if is_new]
            self._call(store, entry, keyed[new], given)
            if spent is not None:
                costs = store.read(slots).select([*ROW, "item", "cost_ns"]).to_pandas()
                spent.append(keyed[list(ROW)].drop_duplicates().merge(costs, on=list(ROW)))
            values = store.read(slots).select([*ROW, entry.type]).to_pandas().rename(columns={entry.type: entry.name})
            rows = keyed.merge(values, how="left", on=list(ROW)).drop(columns=["event_time", "inputs"])
        return rows

    def _call(self, store: Enriched, entry: EnrichSpec, rows: pd.DataFrame, arguments: list[tuple[Any, ...]]) -> None:
        source, length = entry.source, self.query.timeline.slot
        function = load_function(entry.call, source.file if source.shipped else None)
        calls = Calls(function, entry.call, entry.type, entry.batch, entry.limit / 1e6, entry.on_error == "fail")
        by = entry.cost_by or self.query.group_by
        items = items_of(entry.name, pa.Table.from_pandas(rows[by], preserve_index=False), by)
        made = row_columns(
            entry, source.digest, self.clocked(entry, calls.results(arguments), arguments), arguments, items
        )
        for name in ROW:
            made = made.append_column(name, pa.array(rows[name].to_numpy()))
        slots = (rows.time // length * length).to_numpy()
        for slot in np.unique(slots).tolist():
            store.add(slot, made.filter(pa.array(slots == slot)))

    def clocked(self, entry: EnrichSpec, results: list[Result], arguments: list[tuple[Any, ...]]) -> list[Result]:
        """What the clock says of the calls; with a virtual one, what it makes of their arguments."""
        if self.clock is None:
            return results
        return [r._replace(cost_ns=int(1e9 * self.clock(*a))) for r, a in zip(results, arguments, strict=True)]

    def spent(self, side: RowsSide, stretches: Stretches, rates: Rates) -> pa.Table:
        rows = side.within(stretches)
        kept = rows[rows.u.to_numpy() < _rate_of(rates, rows, side.keyset.keys)]
        spent: list[pd.DataFrame] = []
        self._enriched(kept, spent)
        found = pd.concat(spent).groupby("item").cost_ns.agg(["size", "sum"]).reset_index()
        return pa.table({"item": found["item"], "rows": found["size"], "ns": found["sum"]})

    def panes_by_slot(
        self, side: RowsSide, measures: Sequence[MeasureSpec], stretches: Stretches, legs: Sequence[Rates]
    ) -> pa.Table:
        slot = self.query.timeline.slot
        data = side.data.assign(_slot=side.data.time // slot * slot)
        keyset = replace(side.keyset, keys=("_slot", *side.keyset.keys))
        return self.panes(RowsSide(data, keyset), measures, stretches, legs, exact=False).table

    def blocks(self, side: RowsSide, measures: Sequence[MeasureSpec], blocks: Sequence[tuple[int, int]]) -> pa.Table:
        self.calls += 1
        return self.windows(side, measures, blocks)

    def windows(self, side: RowsSide, measures: Sequence[MeasureSpec], windows: Sequence[tuple[int, int]]) -> pa.Table:
        parts = []
        for start, end in windows:
            rows = self._enriched(side.within(Stretches.of((start, end))))
            grouped = rows.groupby(list(side.keyset.keys), dropna=False)
            found = {measure.name: grouped[measure.column].agg(_percentile, measure.q) for measure in measures}
            parts.append(pd.DataFrame(found).reset_index().assign(window_start=start))
        return pa.Table.from_pandas(pd.concat(parts), preserve_index=False)


def _percentile(values: pd.Series, q: float) -> float:
    """SQL's percentile, in Spark's own words."""
    found = values.dropna().sort_values().to_numpy()
    if not found.size:
        return math.nan
    place = (found.size - 1) * q
    lower, higher = math.floor(place), math.ceil(place)
    if found[lower] == found[higher]:
        return float(found[lower])
    return float((higher - place) * found[lower] + (place - lower) * found[higher])


def _rate_of(leg: Rates, rows: pd.DataFrame, keys: Sequence[str]) -> np.ndarray:
    if leg.constant is not None or not keys:
        return np.full(len(rows), leg.unseen if leg.constant is not None else leg.values[0])
    table = pa.Table.from_pandas(rows[list(keys)], preserve_index=False)
    _, (here, there) = align([table, leg.keys.table()], keys)
    laid = np.full(int(max(here.max(initial=-1), there.max(initial=-1))) + 1, leg.unseen)
    laid[there] = leg.values
    return laid[here]
