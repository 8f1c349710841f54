"""`sluice check`: every specification, one problem a line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from shedding.config import Settings
from shedding.errors import SpecError
from shedding.policies import POLICIES
from shedding.spec import Catalog, Problem, QuerySpec, load_catalog
from shedding.spec.times import UNITS, format_duration
from shedding.stretches import Stretches


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("check", help="check every specification; exit 1 and one problem a line")
    parser.add_argument("--spark", action="store_true", help="analyse every expression with Spark too (needs Java)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 where every file is valid, else 1."""
    catalog = load_catalog(settings.specs)
    if not any((settings.specs / kind).is_dir() for kind in ("datasets", "queries")):
        raise SpecError(f"{settings.specs} has neither datasets/ nor queries/; name another with --specs")
    problems = [*catalog.problems, *(_analysed(settings, catalog) if arguments.spark else [])]
    for problem in problems:
        print(problem)
    for note in notes(catalog, settings):
        print(f"note: {note}")
    if problems:
        return 1
    pools = f", {len(catalog.pools)} pools" if catalog.pools else ""
    print(f"{len(catalog.datasets)} datasets, {len(catalog.queries)} queries{pools}: no problems")
    return 0


def _analysed(settings: Settings, catalog: Catalog) -> list[Problem]:
    from shedding.spark.analysis import analysed
    from shedding.spark.session import spark_session

    with spark_session(settings, "sluice check") as spark:
        return analysed(spark, catalog)


def notes(catalog: Catalog, settings: Settings) -> Iterator[str]:
    """What is allowed but should be known: windows with gaps, options without effect, keys that nobody counted."""
    yield from _pool_notes(catalog)
    for name, query in sorted(catalog.queries.items()):
        size, slide = query.window.size, query.window.slide or query.window.size
        if slide > size:
            yield (
                f"queries/{name}.yaml: window.slide {format_duration(slide)} is above window.size "
                f"{format_duration(size)}: windows with gaps, rows between them are never read"
            )
        yield from (f"queries/{name}.yaml: {note}" for note in _ignored(query))
        yield from (f"queries/{name}.yaml: shed.windows: {note}" for note in _window_drops(query, catalog))
        for dataset in _uncounted(query, catalog, settings):
            yield (
                f"queries/{name}.yaml: rows of {dataset} that arrived before this query have no counts of its keys: "
                + (
                    "their slots work with estimated populations, COUNT is estimated there too and errors are "
                    "1.2 to 4 times larger"
                    if query.join is None
                    else f"a join waits until they have; run `sluice ingest {dataset}`"
                )
            )


def _window_drops(query: QuerySpec, catalog: Catalog) -> Iterator[str]:
    """What dropped windows save, and whether the partitions of the dataset let it be saved."""
    drops, timeline = query.shed.windows, query.timeline
    if drops is None:
        return
    if drops.drop is None and not drops.readers:
        yield "follows its readers, and no query reads it: all windows are computed"
    advice = drops.advice(timeline.size, timeline.slide)
    if advice:
        yield advice
    free = (drops.batch + 1) * timeline.slide - timeline.size  # rows of so long a stretch lie in dropped windows only
    dataset = catalog.datasets.get(query.dataset)
    if dataset is not None and drops.drop and 0 < free < UNITS["day"] and dataset.partition == "date":
        yield (
            f"at most {format_duration(free)} in a row are free of kept windows, and datasets/{dataset.name}.yaml has "
            f"a partition a day: only files that hold no other hours are skipped; write partition: hour there"
        )


def _pool_notes(catalog: Catalog) -> Iterator[str]:
    """Pools that nobody joined, or whose owners own none of their queries."""
    for name, pool in sorted(catalog.pools.items()):
        if not pool.members:
            how = f"write shed: {{pool: {name}}} in a query of {pool.spec.dataset}"
            yield f"pools/{name}.yaml: no query joins it; {how}"
            continue
        strange = sorted(set(pool.spec.owners) - {member.owner for member in pool.members})
        if strange:
            yield f"pools/{name}.yaml: owners names {', '.join(strange)}, who owns none of its queries"


def _ignored(query: QuerySpec) -> Iterator[str]:
    """Options that the published leg's policy does not have."""
    for option in query.shed.stated_options:
        if option in POLICIES[query.shed.policy].model_fields:
            continue
        having = [name for name, policy in POLICIES.items() if option in policy.model_fields]
        legs = [leg for leg in query.shed.compare if leg in having]
        effect = f"only the compared {', '.join(legs)} follows it" if legs else "it has no effect"
        yield (
            f"shed.{option}: policy {query.shed.policy} has no such option, {effect}; "
            f"remove it, or write shed.policy: {' or '.join(having)}"
        )


def _uncounted(query: QuerySpec, catalog: Catalog, settings: Settings) -> list[str]:
    """The datasets of the query that have rows whose keys nobody counted."""
    from shedding.ingest.side import sides_of

    found = []
    for side in sides_of(settings, catalog, query):
        first, last = side.arrivals.first_event, side.arrivals.last_event
        if first is not None and last is not None and not side.known(Stretches.of((first, last + 1))):
            found.append(side.dataset.name)
    return found
