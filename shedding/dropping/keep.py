"""Queries on queries: which windows each stage must compute so that every kept window stands on all of its rows.

A stage reads raw rows or the windows of another stage; those count by their start, as event time. Needed of a stage
are its own kept windows and every window that starts inside a needed window of one of its readers. The pipeline and
fan-out rules (`rules`) are an outer bound of what this finds, and Table 3's marks an encoding of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shedding.errors import SpecError
from shedding.stretches import Stretches


@dataclass(frozen=True, slots=True)
class Stage:
    """The windows of one query, `size` every `slide`; `source` names the query that it reads, None: raw rows."""

    size: int
    slide: int
    source: str | None = None

    def starts_in(self, stretches: Stretches) -> list[int]:
        """The starts of the windows that start there, oldest first."""
        first = (range(start + -start % self.slide, end, self.slide) for start, end in stretches)
        return [start for part in first for start in part]

    def covered(self, starts: Iterable[int]) -> Stretches:
        """The instants of the windows with these starts."""
        return Stretches.of(*((start, start + self.size) for start in starts))


def in_order(stages: Mapping[str, Stage]) -> list[str]:
    """The stages, each before its readers, by name where the order is free; a circle is refused with its path."""
    order: list[str] = []
    for name in sorted(stages):
        _follow(stages, name, order)
    return order


def needed(stages: Mapping[str, Stage], kept: Mapping[str, Iterable[int]]) -> dict[str, list[int]]:
    """The starts of the windows that each stage computes; `kept` are those that are wanted for themselves."""
    wanted = {name: set(kept.get(name, ())) for name in stages}
    for name in reversed(in_order(stages)):
        source = stages[name].source
        if source is not None:
            wanted[source] |= set(stages[source].starts_in(stages[name].covered(wanted[name])))
    return {name: sorted(starts) for name, starts in wanted.items()}


def raw_stretches(stages: Mapping[str, Stage], starts: Mapping[str, Iterable[int]]) -> Stretches:
    """The instants whose raw rows some needed window holds; no other row is read."""
    return Stretches.union(stage.covered(starts[name]) for name, stage in stages.items() if stage.source is None)


def complete(reader: Stage, source: Stage, starts: Iterable[int], decided: Iterable[int]) -> dict[int, int | None]:
    """Of each window of the reader the first window of its source that is not among `decided`; None: all are.

    A window is never computed from part of its source: one with a dropped window inside is dropped too.
    """
    have = set(decided)
    return {
        start: next((s for s in source.starts_in(reader.covered([start])) if s not in have), None) for start in starts
    }


def _follow(stages: Mapping[str, Stage], name: str, order: list[str]) -> None:
    """Add a stage after those that it reads."""
    path = [name]
    while path[-1] not in order:
        source = stages[path[-1]].source
        if source is None or source in order:
            order.extend(reversed(path))
            return
        if source in path:
            circle = [*path[path.index(source) :], source]
            raise SpecError(
                f"queries read each other in a circle: {' -> '.join(circle)}; let one of them read a dataset"
            )
        if source not in stages:
            raise SpecError(f"{path[-1]} reads the query {source}, which does not exist")
        path.append(source)
