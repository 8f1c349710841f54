"""Which tables the warehouse has: of each kind its place, its partitions and, where they are fixed, its columns.

Nothing else joins a table's location. A new table is a line here, in the list of its owner: maintenance, `sluice show`
and the writers then know it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from shedding.config import Settings
from shedding.stores import folders
from shedding.tables import Table

_INSTANT = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of table, called with its owner for the one of that owner: `runs(settings, "taxi_route_fare")`.

    `schema` has the columns that every table of the kind has; it is empty where a dataset or a query decides them.
    """

    name: str
    partition_by: tuple[str, ...] = ()
    schema: pa.Schema = field(default=pa.schema([]), repr=False)

    def __call__(self, settings: Settings, *owner: str) -> Table:
        """The table of a dataset (and key set) or of a query."""
        return Table(settings.table(self.name, *owner), self.partition_by)


raw = Kind("raw")
"""Rows that arrived, partitioned as the dataset says (`ingest.refine.partition_columns`)."""
concepts = Kind("concepts", ("event_date",))
"""Exact rows per pane, key and source; one table for each dataset and key set."""
quarantined_rows = Kind("quarantine")
"""Records of a dataset that could not be stored, with the reason."""
ingests = Kind("ingests", schema=pa.schema([
    ("at", _INSTANT), ("seq", pa.int64()), ("source_id", pa.string()), ("name", pa.string()),
    ("content_hash", pa.string()), ("state", pa.string()), ("rows_read", pa.int64()), ("kept", pa.int64()),
    ("excluded", pa.int64()), ("quarantined", pa.int64()), ("bytes", pa.int64()), ("first_event", _INSTANT),
    ("last_event", _INSTANT), ("reached", _INSTANT), ("hours", pa.string()), ("concepts", pa.list_(pa.string())),
    ("interval_start", _INSTANT), ("interval_end", _INSTANT), ("detail", pa.string()),
]))  # fmt: skip
"""The arrivals log of a dataset: which of its sources are visible."""

published = Kind("published", ("slot",))
"""What consumers read; only `jobs/publish.py` writes it."""
omitted = Kind("omitted", ("slot",))
"""Keys that the published answer leaves out, since their planned error is above what is tolerated; by `publish` too."""
results = Kind("results", ("slot", "leg"))
"""A slot's answer, all legs, as its run computed it."""
runs = Kind("runs", ("slot",))
"""One row per window and leg: what a slot's run read, decided and measured."""
verdicts = Kind("verdicts", ("slot",), pa.schema([
    ("slot", pa.string()), ("run_id", pa.string()), ("attempt", pa.int64()), ("check", pa.string()),
    ("observed", pa.float64()), ("limit", pa.float64()), ("severity", pa.string()), ("passed", pa.bool_()),
    ("estimate", pa.float64()),
    ("kind", pa.string()), ("detail", pa.string()), ("leg", pa.string()), ("docs", pa.string()),
    ("results_version", pa.int64()), ("runs_version", pa.int64()), ("at", _INSTANT),
]))  # fmt: skip
"""The gate's decisions, one row per run, attempt and check."""
panes = Kind("panes", ("slot", "leg"))
"""What is remembered of a slot's rows, per pane, key and leg."""
verifications = Kind("verifications", ("slot",))
"""Published slots computed exactly afterwards."""
quarantined_slots = Kind("quarantine", ("slot",))
"""Slots of a query that the gate refused, with the reason."""
enriched = Kind("enriched", ("slot", "column"), pa.schema([
    ("slot", pa.string()), ("column", pa.string()), ("version", pa.int64()), ("source", pa.string()),
    ("event_time", pa.int64()), ("u", pa.float64()), ("inputs", pa.int64()), ("double", pa.float64()),
    ("bigint", pa.int64()), ("string", pa.string()), ("boolean", pa.bool_()), ("cost_ns", pa.int64()),
    ("cpu_ns", pa.int64()), ("error", pa.string()), ("refused", pa.string()), ("item", pa.int64()),
]))  # fmt: skip
"""What functions made of the rows that a query's legs kept, once for each row, and what that took."""
costs = Kind("costs", ("slot",), pa.schema([
    ("slot", pa.string()), ("functions", pa.string()), ("depth", pa.int64()), ("width", pa.int64()),
    ("rows", pa.list_(pa.int64())), ("cost", pa.list_(pa.int64())), ("total_rows", pa.int64()),
    ("total_ns", pa.int64()), ("change", pa.float64()), ("stable", pa.bool_()), ("digest", pa.string()),
    ("ratios", pa.list_(pa.float64())),
    ("made_at", _INSTANT),
]))  # fmt: skip
"""What the calls of an audited slot cost, by item: the sketch that later slots plan by; the first one stays."""

plans = Kind("plans", ("slot",), pa.schema([
    ("slot", pa.string()), ("revision", pa.int64()), ("mode", pa.string()), ("kept", pa.list_(pa.int64())),
    ("windows", pa.int64()), ("size", pa.int64()), ("slide", pa.int64()), ("drop", pa.float64()),
    ("batch", pa.int64()), ("salt", pa.string()), ("reason", pa.string()), ("run_id", pa.string()),
    ("made_at", _INSTANT),
    ("basis", pa.string()), ("cost_version", pa.list_(pa.string())), ("budget_seconds", pa.float64()),
    ("reached", pa.float64()), ("speed", pa.float64()), ("margin", pa.float64()), ("forecast_seconds", pa.float64()),
    ("spent_seconds", pa.float64()), ("delay_seconds", pa.float64()), ("rounds", pa.list_(pa.float64())),
]))  # fmt: skip
"""What a slot decided before a row was read; the first writer of a revision wins, re-runs obey."""
windows = Kind("windows", ("slot",), pa.schema([
    ("window_start", _INSTANT), ("window_end", _INSTANT), ("state", pa.string()), ("rows", pa.int64()),
    ("keys", pa.int64()), ("published_version", pa.int64()), ("content", pa.string()), ("plan_revision", pa.int64()),
    ("reason", pa.string()), ("run_id", pa.string()), ("decided_at", _INSTANT), ("slot", pa.string()),
]))  # fmt: skip
"""The fate of every decided window: published, empty, dropped, refused or shut; no row: not decided yet."""

OF_DATASET = (raw, concepts, quarantined_rows, ingests)
OF_QUERY = (
    published, omitted, results, runs, verdicts, panes, verifications, quarantined_slots, plans, windows, enriched,
    costs,
)  # fmt: skip


def named(settings: Settings, name: str) -> Table:
    """The table of a name as users write it, e.g. `published/taxi_route_fare`."""
    return Table(settings.table(*name.split("/")))


def tables_of_dataset(settings: Settings, dataset: str) -> dict[str, Table]:
    """The dataset's tables that exist, by name; of counts also those that no query needs any more."""
    keysets = [(dataset, keyset) for keyset in folders(concepts(settings, dataset).uri)]
    owners = {kind: keysets if kind is concepts else [(dataset,)] for kind in OF_DATASET}
    places = {"/".join((kind.name, *owner)): kind(settings, *owner) for kind in OF_DATASET for owner in owners[kind]}
    return {name: table for name, table in places.items() if table.exists()}


def tables_of_query(settings: Settings, query: str) -> dict[str, Table]:
    """The query's tables that exist, by name."""
    places = {f"{kind.name}/{query}": kind(settings, query) for kind in OF_QUERY}
    return {name: table for name, table in places.items() if table.exists()}
