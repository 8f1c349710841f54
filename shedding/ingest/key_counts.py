"""Reading what ingest counted: the exact rows per pane and key of the visible sources."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.compute as pc

from shedding import warehouse
from shedding.config import Settings
from shedding.errors import NotReadyError
from shedding.ingest.arrivals import Arrivals
from shedding.spec.keyset import KeySet
from shedding.spec.times import format_date
from shedding.stretches import Stretches
from shedding.tables import Table

LEAST_U = "least_u"


def add_counts(settings: Settings, keyset: KeySet, counts: pa.Table) -> None:
    """Add counts of sources that have none yet, in one commit."""
    _table(settings, keyset).append(_stored(counts), {"dataset": keyset.dataset, "keys": keyset.keys})


def replace_counts(settings: Settings, keyset: KeySet, counts: pa.Table, sources: list[str]) -> None:
    """Make `counts` all there is of the sources, whatever an earlier attempt left; one commit a source."""
    table = _table(settings, keyset)
    for source in sources:
        own = _stored(counts.filter(pc.equal(counts["_source"], source)))
        table.replace(own, {"_source": source}, {"dataset": keyset.dataset, "keys": keyset.keys})


def read_counts(settings: Settings, keyset: KeySet, stretches: Stretches, arrivals: Arrivals) -> pa.Table:
    """Exact counts of stretches between pane borders: key columns, pane_start (microseconds), rows, rows_<column>.

    `least_u` is the smallest u of the pane's rows of the key, NaN where some source was counted before it was kept.
    One row per pane and key that has rows, ordered by pane and key. Raises NotReadyError where a visible source
    of that stretch has not been counted yet: the next ingest run does it.
    """
    if not arrivals.counted(keyset.id, stretches):
        raise NotReadyError(
            f"key set {keyset.id} of dataset {keyset.dataset} is not counted for all its sources; "
            f"run `sluice ingest {keyset.dataset}` to catch up"
        )
    table = _table(settings, keyset)
    counts = ["rows", *(f"rows_{column}" for column in keyset.counted)]
    groups = ["pane_start", *keyset.keys]
    schema = table.schema()
    if schema is None or not stretches:
        return _empty([*groups, *counts])
    where: list[tuple[str, str, object]] = [
        ("event_date", ">=", format_date(stretches.start)),
        ("event_date", "<=", format_date(stretches.end - 1)),
        ("pane_start", ">=", stretches.start),
        ("pane_start", "<", stretches.end),
    ]
    if arrivals.hidden:
        where.append(("_source", "not in", sorted(arrivals.hidden)))
    found = table.read(where, [*groups, *counts, *([LEAST_U] if LEAST_U in schema.names else [])])
    if len(stretches.parts) > 1:
        found = found.filter(pa.array(stretches.hold(found.column("pane_start").to_numpy())))
    if LEAST_U not in schema.names:
        found = found.append_column(LEAST_U, pa.nulls(len(found), pa.float64()))
    # One source without it leaves the key's least unknown, so nulls are not skipped.
    wanted = [*((name, "sum", None) for name in counts), (LEAST_U, "min", pc.ScalarAggregateOptions(skip_nulls=False))]
    summed = found.group_by(groups, use_threads=False).aggregate(wanted).rename_columns([*groups, *counts, LEAST_U])
    known = summed.set_column(summed.num_columns - 1, LEAST_U, pc.fill_null(summed[LEAST_U], math.nan))
    return known.select([*keyset.keys, "pane_start", *counts, LEAST_U]).sort_by(
        [(name, "ascending") for name in groups]
    )


def _table(settings: Settings, keyset: KeySet) -> Table:
    return warehouse.concepts(settings, keyset.dataset, keyset.id)


def _empty(names: list[str]) -> pa.Table:
    return pa.table({name: pa.array([], pa.int64()) for name in names} | {LEAST_U: pa.array([], pa.float64())})


def _stored(counts: pa.Table) -> pa.Table:
    """Without the event times that counting also found."""
    return counts.drop_columns([name for name in ("_first", "_last") if name in counts.column_names])
