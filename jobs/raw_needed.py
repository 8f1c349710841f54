"""The raw rows that a slot needs before it may be computed, and what of them has not arrived."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from shedding.config import Settings
from shedding.ingest.arrivals import Arrivals
from shedding.ingest.published_side import SourceWindows
from shedding.spec import Catalog, QuerySpec
from shedding.spec.times import format_instant


@dataclass(frozen=True, slots=True)
class RawNeeded:
    """The interval of a slot, how far back its windows reach, and what it reads.

    `datasets` says of each whether all of the interval must be covered, as generators and queries do it; `derived` has
    the slot's length of those that are a query's published rows.
    """

    datasets: Mapping[str, bool]
    derived: Mapping[str, int]
    start: int
    end: int
    reach: int

    @classmethod
    def of(cls, catalog: Catalog, query: QuerySpec, slot: int) -> RawNeeded:
        """What the slot of a query needs, of both datasets where it joins two."""
        names = dict.fromkeys([query.dataset] + ([query.join.dataset] if query.join else []))
        derived = {name: catalog.derived[name].schedule.every for name in names if name in catalog.derived}
        kinds = {name: name in derived or catalog.dataset(name).source.kind == "generator" for name in names}
        return cls(kinds, derived, slot, slot + query.timeline.slot, query.timeline.windows(slot)[0][0])

    def missing(self, arrivals: Callable[[str], Arrivals]) -> dict[str, str]:
        """By dataset, up to when its rows have come, of those that have not come up to the end or have a hole."""
        found = {name: (arrivals(name), generated) for name, generated in self.datasets.items()}
        return {
            name: _come_to(come, self, generated)
            for name, (come, generated) in found.items()
            if not come.ready(self.start, self.end, generator=generated, reach=self.reach)
        }

    def load(self, settings: Settings, name: str) -> Arrivals:
        """What has arrived by now of one of its datasets."""
        return load_arrivals(settings, name, self.derived.get(name))

    def facts(self) -> dict[str, Any]:
        """As plain values, to be rebuilt in another process."""
        return asdict(self)


def load_arrivals(settings: Settings, name: str, every: int | None) -> Arrivals:
    """The arrivals of a dataset; with the length of its slots, those of a query's decided windows."""
    return Arrivals.load(settings, name) if every is None else SourceWindows.load(settings, name).arrivals(every)


def _come_to(arrivals: Arrivals, needed: RawNeeded, generated: bool) -> str:
    """In words: what has come, and what the slot waits for."""
    if arrivals.watermark is None:
        return f"nothing has arrived; needs rows up to {format_instant(needed.end)}"
    holes = arrivals.gaps(min(needed.start, needed.reach), needed.end) if generated else []
    if holes and arrivals.watermark >= needed.end:
        return f"no rows from {format_instant(holes[0][0])} to {format_instant(holes[0][1])}"
    return f"has come up to {format_instant(arrivals.watermark)}, needs {format_instant(needed.end)}"
