"""The slot's recorded plan: which of its windows are computed, decided before a row is read (`plans/<query>`).

Law: rows = f(visible raw rows, specification, recorded plan). The first writer of a revision wins and every re-run
obeys; a later revision keeps all that an earlier one kept, so nothing published is dropped afterwards.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from shedding import warehouse
from shedding.config import Settings
from shedding.dropping.calendar import Calendar
from shedding.dropping.gaps import fewest_fills
from shedding.dropping.keep import Stage
from shedding.errors import DataError
from shedding.ingest.published_side import SourceWindows
from shedding.spec.fingerprints import digest
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.spec.times import format_duration, format_instant
from shedding.stretches import Interval, Stretches

FILLED = "filled: all windows are computed"
GAP_FILLED = "some are filled: the hole between slots was longer than the batch"


@dataclass(frozen=True, slots=True)
class SlotPlan:
    """The starts of the windows that a slot computes, oldest first; `revision` 0 is a plan that nobody recorded."""

    slot: int
    size: int
    windows: tuple[int, ...]
    kept: tuple[int, ...]
    reason: str
    revision: int = 0

    @property
    def dropped(self) -> tuple[int, ...]:
        """The starts of the windows that are left out."""
        return tuple(start for start in self.windows if start not in self.kept)

    @property
    def spans(self) -> list[Interval]:
        """The windows that are computed, each as start and end."""
        return [(start, start + self.size) for start in self.kept]

    @property
    def stretches(self) -> Stretches:
        """The instants whose rows the kept windows need."""
        return Stretches.of(*self.spans)

    @property
    def fingerprint(self) -> str:
        """Of what was decided, not of who decided it and when."""
        return digest([self.slot, self.size, self.kept])


def calendar_of(query: QuerySpec) -> Calendar | None:
    """The calendar of a query that drops windows by itself; its salt is the query's name."""
    drops = query.shed.windows
    return None if drops is None or drops.drop is None else Calendar(drops.drop, drops.batch, query.name)


def stage_of(query: QuerySpec) -> Stage:
    """The query's windows."""
    return Stage(query.timeline.size, query.timeline.slide)


def by_calendar(query: QuerySpec, slot: int) -> SlotPlan:
    """What the calendar says of a slot: a function of the specification and event time alone."""
    starts = tuple(start for start, _ in query.timeline.windows(slot))
    drops, kept = query.shed.windows, kept_by_rule(query, starts)
    if drops is None:
        reason = "no windows are dropped"
    elif drops.drop is None:
        reason = f"follows its readers: {', '.join(one.name for one in drops.readers) or 'there are none'}"
    else:
        reason = f"calendar: drop {drops.drop:g}, at most {drops.batch} in a row"
    return SlotPlan(slot, query.timeline.size, starts, kept, reason)


def kept_by_rule(query: QuerySpec, starts: Sequence[int]) -> tuple[int, ...]:
    """Of some windows those that the specification keeps: by the calendar, or by what readers' kept windows need.

    A follower without readers keeps all: nobody has said what it may leave out.
    """
    drops, calendar = query.shed.windows, calendar_of(query)
    if drops is None or (calendar is None and not drops.readers):
        return tuple(starts)
    if calendar is not None:
        return tuple(int(start) for start in calendar.kept_starts(query.timeline.slide, tuple(starts)))
    wanted = Stretches.union(_needed_by(reader, starts[0], starts[-1] + 1) for reader in drops.readers)
    return tuple(start for start in starts if wanted.within(Stretches.of((start, start + 1))))


def _needed_by(reader: QuerySpec, first: int, end: int) -> Stretches:
    """The instants of the windows that a reader keeps, of those that reach into [first, end)."""
    stage = stage_of(reader)
    reached = stage.starts_in(Stretches.of((first - stage.size + 1, end)))
    return stage.covered(kept_by_rule(reader, reached)) if reached else Stretches()


def recorded(settings: Settings, query: QuerySpec, slot: int) -> SlotPlan | None:
    """The slot's plan as it stands; DataError where it was made for other windows."""
    table = warehouse.plans(settings, query.name)
    rows = table.read([("slot", "=", slot_name(slot))]).to_pylist() if table.exists() else []
    return _plan(query, slot, rows[0]) if rows else None


def standing(settings: Settings, query: QuerySpec, slot: int) -> SlotPlan:
    """The recorded plan, or what the calendar says where none was recorded."""
    return recorded(settings, query, slot) or by_calendar(query, slot)


def around(settings: Settings, query: QuerySpec, plan: SlotPlan) -> tuple[list[int], set[int]]:
    """The windows of the slot and of those that a run of dropped ones may reach, oldest first; and the kept."""
    drops, timeline = query.shed.windows, query.timeline
    reach = 0 if drops is None or drops.drop is None else (drops.batch + 1) * timeline.slide
    slots = timeline.slots_between(plan.slot - reach, plan.slot + timeline.slot + reach)
    plans = [plan if slot == plan.slot else standing(settings, query, slot) for slot in slots]
    return [start for one in plans for start in one.windows], {start for one in plans for start in one.kept}


def gap_fills(settings: Settings, query: QuerySpec, plan: SlotPlan) -> list[int]:
    """The fewest windows of the slot that must be kept too, so that no hole they lie in is longer than the batch."""
    drops = query.shed.windows
    if drops is None or drops.drop is None:
        return []
    windows, kept = around(settings, query, plan)
    return fewest_fills(windows, kept, set(plan.windows), drops.batch)


def settle_plan(
    settings: Settings, query: QuerySpec, slot: int, run_id: str, *, fill: bool = False, also: Sequence[int] = ()
) -> SlotPlan:
    """The plan that this and every other run of the slot obeys; recorded where the query can drop windows.

    A window that was kept stays kept. A smaller `drop`, `fill` (all) and `also` (some) add windows as a new revision.
    """
    wanted = by_calendar(query, slot)
    if not query.drops_windows:
        return wanted
    if fill:
        wanted = SlotPlan(slot, wanted.size, wanted.windows, wanted.windows, FILLED)
    elif also:
        kept = tuple(start for start in wanted.windows if start in wanted.kept or start in also)
        wanted = replace(wanted, kept=kept, reason=f"{wanted.reason}; {GAP_FILLED}")
    wanted = on_whole_sources(settings, query, wanted)
    plan = recorded(settings, query, slot)
    while plan is None or not set(wanted.kept) <= set(plan.kept):
        before = () if plan is None else plan.kept
        kept = tuple(start for start in wanted.windows if start in before or start in wanted.kept)
        revision = 1 if plan is None else plan.revision + 1
        plan = _settled(
            settings, query, SlotPlan(slot, wanted.size, wanted.windows, kept, wanted.reason, revision), run_id
        )
    return replace(plan, reason=wanted.reason) if fill and plan.dropped else plan  # why a fill could not add them


def on_whole_sources(settings: Settings, query: QuerySpec, wanted: SlotPlan) -> SlotPlan:
    """The plan without the windows that a dropped window of the source lies in: none stands on part of its rows."""
    if query.source is None or not wanted.kept:
        return wanted
    gone = [w.start for w in SourceWindows.load(settings, query.dataset).within(wanted.stretches) if w.gone]
    hole = {start: next((g for g in gone if start <= g < start + wanted.size), None) for start in wanted.kept}
    first = next((g for g in hole.values() if g is not None), None)
    if first is None:
        return wanted
    kept = tuple(start for start, inside in hole.items() if inside is None)
    return replace(
        wanted, kept=kept, reason=f"{wanted.reason}; its source {query.dataset} dropped {format_instant(first)}"
    )


def _settled(settings: Settings, query: QuerySpec, plan: SlotPlan, run_id: str) -> SlotPlan:
    """The plan of this revision that stands: this one, or that of whoever came first."""
    drops, name = query.shed.windows, slot_name(plan.slot)
    row = {
        "slot": name, "revision": plan.revision, "mode": "drop" if plan.dropped else "exact", "kept": list(plan.kept),
        "windows": len(plan.windows), "size": plan.size, "slide": query.timeline.slide,
        "drop": None if drops is None else drops.drop, "batch": None if drops is None else drops.batch,
        "salt": query.name, "reason": plan.reason, "run_id": run_id,
        "made_at": dt.datetime.now(dt.UTC),
    }  # fmt: skip
    rows = pa.Table.from_pylist([row], schema=warehouse.plans.schema)
    counter = f"plan/{query.name}/{name}"
    stands = warehouse.plans(settings, query.name).settle(
        rows, {"slot": name}, counter, plan.revision, {"run_id": run_id, "slot": name, "kept": len(plan.kept)}
    )
    return _plan(query, plan.slot, stands.to_pylist()[0])


def _plan(query: QuerySpec, slot: int, row: dict[str, object]) -> SlotPlan:
    timeline = query.timeline
    if (row["size"], row["slide"]) != (timeline.size, timeline.slide):
        size, slide = (format_duration(int(str(row[part]))) for part in ("size", "slide"))
        raise DataError(
            f"plans/{query.name}, slot {slot_name(slot)}: planned for windows of {size} every {slide}, which "
            f"queries/{query.name}.yaml no longer has; put the window back, or give the changed query a new name"
        )
    starts = tuple(start for start, _ in timeline.windows(slot))
    kept = set(row["kept"])  # type: ignore[call-overload]
    mine = tuple(start for start in starts if start in kept)
    return SlotPlan(slot, timeline.size, starts, mine, str(row["reason"]), int(str(row["revision"])))
