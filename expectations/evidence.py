"""What the gate judges: one slot's answer and what its run measured, at pinned versions, without a JVM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shedding import warehouse
from shedding.config import Settings
from shedding.errors import DataError
from shedding.keys import align
from shedding.spec.fingerprints import spec_fingerprint
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.spec.times import format_instant

Array = np.ndarray


@dataclass(frozen=True)
class Evidence:
    """The leg of a slot that would be published, its windows' run rows, and the exact leg where there is one."""

    query: QuerySpec
    slot: int
    leg: str
    policy: str
    audited: bool
    answer: pa.Table
    exact: pa.Table | None
    runs: pa.Table
    results_version: int
    runs_version: int

    @property
    def kind(self) -> str:
        """Whether the errors were measured against the exact answer or estimated from the intervals."""
        kinds = set(self.runs["error_kind"].to_pylist())
        return "measured" if kinds <= {"measured", "exact"} else "estimated"


def load_evidence(settings: Settings, query: QuerySpec, slot: int, runs_version: int | None = None) -> Evidence:
    """The slot's evidence at a version of `runs`, the newest unless one is named, with the results it points to.

    Guarantee: answer and run rows were written by the same run, whatever other runs of the slot write meanwhile.
    Raises DataError where the run rows do not name exactly one published leg for exactly the slot's windows, or were
    made by another specification: what that one did not compute would read as null, and null passes for no value.
    """
    results, runs = warehouse.results(settings, query.name), warehouse.runs(settings, query.name)
    where = [("slot", "=", slot_name(slot))]
    runs_version = runs.version() if runs_version is None else runs_version
    found = runs.read(where, version=runs_version)
    published = found.filter(pc.equal(found["published"], True)).sort_by("window_start")
    leg = _only_leg(query, slot, published)
    results_version = published["results_version"][0].as_py()
    rows = results.read(where, version=results_version)
    exact = rows.filter(pc.equal(rows["leg"], "exact"))
    assert runs_version is not None
    audited = bool(published["audited"][0].as_py())
    return Evidence(
        query=query,
        slot=slot,
        leg=leg,
        policy=str(published["policy"][0].as_py()),
        audited=audited,
        answer=rows.filter(pc.equal(rows["leg"], leg)).drop_columns(["slot", "leg"]),
        exact=exact.drop_columns(["slot", "leg"]) if audited or exact.num_rows else None,
        runs=published,
        results_version=results_version,
        runs_version=runs_version,
    )


def micros(column: pa.ChunkedArray) -> Array:
    """A timestamp column as microseconds since the epoch."""
    values: Array = column.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy()
    return values


def numbers(table: pa.Table, column: str) -> Array:
    """A column as doubles, null as NaN; all NaN where the table has no such column (an older run wrote it)."""
    if column not in table.column_names:
        return np.full(table.num_rows, np.nan)
    values: Array = table[column].cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values


def positions(rows: pa.Table, others: pa.Table, keys: list[str]) -> Array:
    """For each row, the place in `others` of the same window and key, or -1; null keys equal each other."""
    _, (here, there) = align([rows, others], ["window_start", *keys])
    if len(np.unique(there)) != len(there):
        raise DataError("a leg holds a key twice in one window; compute the slot again")
    place = np.full(max(here.max(initial=-1), there.max(initial=-1)) + 1, -1, dtype=np.int64)
    place[there] = np.arange(len(there))
    return place[here]


def doubled(rows: pa.Table, keys: list[str]) -> Array:
    """Which rows repeat an earlier row's window and key."""
    _, (number,) = align([rows], ["window_start", *keys])
    again = np.ones(len(number), dtype=bool)
    again[np.unique(number, return_index=True)[1]] = False
    return again


def _only_leg(query: QuerySpec, slot: int, published: pa.Table) -> str:
    where = f"runs/{query.name}, slot {slot_name(slot)}"
    remedy = _remedy(query, slot)
    legs = sorted(set(published["leg"].to_pylist()))
    if len(legs) != 1:
        raise DataError(f"{where}: {len(legs)} published legs ({', '.join(legs) or 'none'}), wanted one; {remedy}")
    windows = [int(start) for start in micros(published["window_start"])]
    wanted = [start for start, _ in query.timeline.windows(slot)]
    if windows != wanted:
        raise DataError(f"{where}: {len(windows)} windows, the specification has {len(wanted)} in it; {remedy}")
    require_own_specification(query, slot, published)
    return str(legs[0])


def require_own_specification(query: QuerySpec, slot: int, runs: pa.Table) -> None:
    """Raise DataError where run rows of the slot were not made by what the specification says of their legs now."""
    for leg, made_by in zip(runs["leg"].to_pylist(), runs["spec_fingerprint"].to_pylist(), strict=True):
        if made_by != spec_fingerprint(query, leg):
            raise DataError(
                f"runs/{query.name}, slot {slot_name(slot)}: queries/{query.name}.yaml has changed since it was "
                f"computed; {_remedy(query, slot)}"
            )


def _remedy(query: QuerySpec, slot: int) -> str:
    end = format_instant(slot + query.timeline.slot)
    return f"run `sluice run {query.name} --from {format_instant(slot)} --to {end}` for the slot again"
