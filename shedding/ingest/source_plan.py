"""What an ingest run has to do: which sources are new, which replace others, which are known already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from shedding.ingest.arrivals import Arrivals, Source
from shedding.ingest.landing import LandedFile
from shedding.spec.dataset import DatasetSpec
from shedding.spec.times import format_instant

BATCH_SOURCES = 256
BATCH_INTERVALS = 64
BATCH_BYTES = 512 << 20


@dataclass(frozen=True)
class Intake:
    """One source to ingest: its name and content, and the visible sources that it takes the place of."""

    name: str
    content_hash: str
    size: int = 0
    file: LandedFile | None = None
    interval: tuple[int, int] | None = None
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """The sources to ingest, and words on each that is not: it is known already, or refused."""

    intakes: list[Intake] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def reading(dataset: DatasetSpec) -> str:
    """A hash of all that decides what a file's rows become: when it changes, files are read again."""
    parts = dataset.model_dump(mode="json", include={
        "source", "event_time", "columns", "derived", "exclude", "identity", "partition", "layout",
    })  # fmt: skip
    parts["source"].pop("path", None)
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=8).hexdigest()


def plan_files(dataset: DatasetSpec, files: list[LandedFile], arrivals: Arrivals) -> Plan:
    """Same content, any name: known. Same name, new content (or a new way of reading it): replaces the old rows.

    Files of one name and different contents are refused together.
    """
    manner = reading(dataset)
    files, refused = _told_apart(files)
    names = {source.name: source for source in arrivals.visible}
    keys = {file.name: f"{file.content}.{manner}" for file in files}
    leaving = {name for name, key in keys.items() if name in names and names[name].content_hash != key}
    there = {s.content_hash: s for s in arrivals.visible if s.name not in leaving}
    intakes: list[Intake] = []
    known: list[str] = []
    for file in files:
        key = keys[file.name]
        if key in there:
            known.append(f"{file.name} is known already, as {there[key].name}: nothing changed")
            continue
        # The same content, once read in another manner, must not stay beside the new rows.
        same = [s for s in arrivals.visible if s.content_hash.split(".")[0] == file.content]
        old = {s.source_id for s in [*same, *([names[file.name]] if file.name in leaving else [])]}
        intakes.append(Intake(file.name, key, file.size, file=file, replaces=tuple(sorted(old))))
        there[key] = Source(source_id="", name=file.name, content_hash=key, seq=0)
    return Plan(intakes, known, refused)


def _told_apart(files: list[LandedFile]) -> tuple[list[LandedFile], list[str]]:
    """The files whose name says which they are, and words on the others."""
    named: dict[str, dict[str, LandedFile]] = {}
    for file in files:
        named.setdefault(file.name, {}).setdefault(file.content, file)
    refused = []
    for first, *others in (list(same.values()) for same in named.values()):
        refused += [
            f"{other.path} has the name of {first.path} and other content; a file replaces the rows of the one that "
            "had its name before: rename it, or ingest them one after the other"
            for other in others
        ]
    return [file for file in files if len(named[file.name]) == 1], refused


def plan_interval(dataset: DatasetSpec, start: int, end: int, arrivals: Arrivals) -> Plan:
    """The units of `schedule.every` that cover [start, end), without what is there; other manners are replaced."""
    manner, every = reading(dataset), dataset.schedule.every
    outdated = [s for s in arrivals.visible if s.interval and not s.content_hash.endswith(manner)]
    low, high = start // every * every, -(-end // every) * every
    touched = [s for s in outdated if s.interval and s.interval[0] < high and s.interval[1] > low]
    low = min([low, *(s.interval[0] // every * every for s in touched if s.interval)])
    high = max([high, *(-(-s.interval[1] // every) * every for s in touched if s.interval)])
    touched = [s for s in outdated if s.interval and s.interval[0] < high and s.interval[1] > low]
    current = Arrivals(visible=tuple(s for s in arrivals.visible if s not in touched))
    replaces = tuple(sorted(s.source_id for s in touched))
    intakes: list[Intake] = []
    for gap in current.gaps(low, high):
        for unit in range(gap[0] // every * every, gap[1], every):
            interval = (max(unit, gap[0]), min(unit + every, gap[1]))
            name = f"{format_instant(interval[0])}/{format_instant(interval[1])}"
            intakes.append(Intake(name, f"{name}.{manner}", interval=interval, replaces=replaces))
    known = [] if intakes else [f"{format_instant(start)}/{format_instant(end)} is there already: nothing changed"]
    return Plan(intakes, known)


def batches(intakes: list[Intake]) -> Iterator[list[Intake]]:
    """Sources to ingest together: one layout, at most so many files or intervals and bytes (a larger file alone)."""
    layouts: dict[tuple[str, ...], list[Intake]] = {}
    for intake in intakes:
        layouts.setdefault(intake.file.layout if intake.file else (), []).append(intake)
    for group in layouts.values():
        batch: list[Intake] = []
        size = 0
        for intake in group:
            most = BATCH_SOURCES if intake.file else BATCH_INTERVALS
            if batch and (len(batch) == most or size + intake.size > BATCH_BYTES):
                yield batch
                batch, size = [], 0
            batch.append(intake)
            size += intake.size
        yield batch
