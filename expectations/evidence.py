"""What the gate judges: one slot's answer and what its run measured, at pinned versions, without a JVM."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from expectations.window_evidence import WindowEvidence, window_evidence
from shedding import warehouse
from shedding.answers.omissions import OMITTED
from shedding.config import Settings
from shedding.errors import DataError
from shedding.estimates.accuracy import WindowErrors
from shedding.keys import align
from shedding.planning.slot_plan import SlotPlan, standing
from shedding.risk import WindowLaws, claims
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
    omitted: pa.Table | None = None
    """The keys that the answer leaves out by its error limits, a row a window; None where it leaves out none."""
    drops: WindowEvidence | None = None

    @property
    def kind(self) -> str:
        """Whether the errors were measured against the exact answer or estimated from the intervals."""
        kinds = set(self.runs["error_kind"].to_pylist())
        return "measured" if kinds <= {"measured", "exact"} else "estimated"

    @property
    def trusts_audits(self) -> bool:
        """Whether nothing but past audits and spot checks tells how good the answer is."""
        return not self.audited and self.leg != "exact"

    @cached_property
    def starts(self) -> Array:
        """The starts of the slot's windows; what else is said by window is in their order."""
        return micros(self.runs["window_start"])

    @cached_property
    def window(self) -> Array:
        """The window of each row of the answer, by number."""
        return np.asarray(np.searchsorted(self.starts, micros(self.answer["window_start"])))

    @cached_property
    def rows(self) -> list[Array]:
        """The rows of the answer, window by window."""
        return [np.flatnonzero(self.window == number) for number in range(len(self.starts))]

    @cached_property
    def keys(self) -> Array:
        """How many keys each window shows."""
        return np.bincount(self.window, minlength=len(self.starts))

    @cached_property
    def missing(self) -> Array:
        """How many keys each window misses: they have no row, or one without a value that it should have."""
        return np.asarray(np.nan_to_num(numbers(self.runs, "missing_keys")).astype(int))

    @cached_property
    def absent(self) -> Array:
        """Of the missing keys those without a row: the others have an error of their own there."""
        silent = self.window[silent_rows(self.answer, self.query)]
        return np.asarray(np.maximum(self.missing - np.bincount(silent, minlength=len(self.starts)), 0))

    @cached_property
    def laws(self) -> dict[str, list[WindowLaws | None]]:
        """By measure, of each window the laws that bound its errors; None where they were measured."""
        return {measure.name: self._laws(measure.name) for measure in self.query.measures}

    @cached_property
    def judged(self) -> dict[str, list[WindowErrors]]:
        """By measure, each window's errors as the gate judges them."""
        return {name: [judged_errors(*cell, self.query.gate.risk) for cell in self._cells(name)] for name in self.laws}

    @cached_property
    def claimed(self) -> dict[str, list[WindowErrors]]:
        """By measure, each window's errors as the answer claims them; the measured ones where they are known."""
        return {name: [claimed_errors(*cell) for cell in self._cells(name)] for name in self.laws}

    def _cells(self, measure: str) -> list[tuple[Array, int, WindowLaws | None]]:
        """Of each window the known errors of the keys that it shows, the absent keys, and the laws."""
        errors = numbers(self.answer, f"{measure}_error")
        known = [errors[rows][~np.isnan(errors[rows])] for rows in self.rows]
        return list(zip(known, self.absent.tolist(), self.laws[measure], strict=True))

    def _laws(self, measure: str) -> list[WindowLaws | None]:
        if self.kind == "measured":
            return [None] * self.runs.num_rows
        column = f"{measure}_law"
        known = column in self.runs.column_names
        texts = self.runs[column].to_pylist() if known else [None] * self.runs.num_rows
        return [WindowLaws.of_text(text) for text in texts]


def judged_errors(errors: Array, missing: int, laws: WindowLaws | None, risk: float) -> WindowErrors:
    """The errors of a window as the gate judges them.

    Measured errors (no `laws`) are judged as they are. Expected ones are judged by the bounds that only a share `risk`
    of windows truly exceeds.
    """
    return WindowErrors.of(errors, missing) if laws is None else laws.bounds(errors, missing, risk)


def claimed_errors(errors: Array, missing: int, laws: WindowLaws | None) -> WindowErrors:
    """The errors of a window as the answer claims them; where they were measured, those."""
    return WindowErrors.of(errors, missing) if laws is None else claims(errors, missing)


def silent_rows(rows: pa.Table, query: QuerySpec) -> Array:
    """Which rows show a key without a value that it should have: null, with an error."""
    silent = np.zeros(rows.num_rows, dtype=bool)
    for measure in query.measures:
        silent |= rows[measure.name].is_null().to_numpy() & (numbers(rows, f"{measure.name}_error") > 0)
    return silent


def load_evidence(
    settings: Settings, query: QuerySpec, slot: int, run_id: str, runs_version: int | None = None
) -> Evidence:
    """What run `run_id` wrote of the slot at a version of `runs`, the newest unless one is named.

    Guarantee: answer and run rows were written by that run, whatever other runs of the slot write meanwhile.
    Raises DataError where the run rows are another run's, do not name exactly one published leg for exactly the slot's
    windows, or were made by another specification: what that one did not compute would read as null, and null passes
    for no value.
    """
    results, runs = warehouse.results(settings, query.name), warehouse.runs(settings, query.name)
    where = [("slot", "=", slot_name(slot))]
    runs_version = runs.version() if runs_version is None else runs_version
    written = runs.read(where, version=runs_version)
    published = written.filter(pc.equal(written["published"], True)).sort_by("window_start")
    require_own_run(query, slot, published, run_id)
    leg = _only_leg(query, slot, published, standing(settings, query, slot))
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
        omitted=_left_out(rows, leg),
        drops=window_evidence(settings, query, slot, _arrivals_version(published)),
    )


def _left_out(rows: pa.Table, leg: str) -> pa.Table | None:
    left_out = rows.filter(pc.equal(rows["leg"], OMITTED))
    return left_out.drop_columns(["slot", "leg"]) if leg != "exact" and left_out.num_rows else None


def _arrivals_version(runs: pa.Table) -> int | None:
    """The version of the arrivals log that the run saw; None in rows of an older run."""
    seen = runs["arrivals_version"].to_pylist() if "arrivals_version" in runs.column_names else []
    return seen[0] if seen else None


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
    _, (numbers_of_rows, numbers_of_others) = align([rows, others], ["window_start", *keys])
    if len(np.unique(numbers_of_others)) != len(numbers_of_others):
        raise DataError("a leg holds a key twice in one window; compute the slot again")
    most = max(numbers_of_rows.max(initial=-1), numbers_of_others.max(initial=-1))
    place = np.full(most + 1, -1, dtype=np.int64)
    place[numbers_of_others] = np.arange(len(numbers_of_others))
    return place[numbers_of_rows]


def _only_leg(query: QuerySpec, slot: int, published: pa.Table, plan: SlotPlan) -> str:
    where = f"runs/{query.name}, slot {slot_name(slot)}"
    remedy = _remedy(query, slot)
    legs = sorted(set(published["leg"].to_pylist()))
    if len(legs) != 1:
        raise DataError(f"{where}: {len(legs)} published legs ({', '.join(legs) or 'none'}), wanted one; {remedy}")
    windows = [int(start) for start in micros(published["window_start"])]
    wanted = list(plan.kept)
    if windows != wanted:
        raise DataError(f"{where}: {len(windows)} windows, the slot keeps {len(wanted)}; {remedy}")
    require_own_specification(query, slot, published)
    return str(legs[0])


def require_own_run(query: QuerySpec, slot: int, runs: pa.Table, run_id: str) -> None:
    """Raise DataError where run rows of the slot are of another run: its answer has a gate of its own."""
    others = sorted(set(runs["run_id"].to_pylist()) - {run_id})
    if others:
        raise DataError(
            f"runs/{query.name}, slot {slot_name(slot)}: the newest answer is of run {', '.join(others)}, not of "
            f"{run_id}, which wrote none or was overtaken; leave the slot to that run, or {_remedy(query, slot)}"
        )


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
