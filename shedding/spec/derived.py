"""Queries on queries: the published rows of an exact query as a dataset, without copy or ingest.

Event time is `window_start`, the keys and the measures' values are the columns. Only exact queries can be read: an
error that nobody can propagate would be hidden in the reader's numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shedding.dropping.keep import Stage, in_order
from shedding.errors import SpecError
from shedding.fields import Name, Spec
from shedding.spec.dataset import ColumnSpec, DatasetSchedule, DatasetSpec, EventTimeSpec
from shedding.spec.expression_types import Types
from shedding.spec.problems import Problem, did_you_mean
from shedding.spec.query import QuerySpec
from shedding.spec.shed import EXACT
from shedding.spec.times import LONGEST, format_duration


class SourceQuery(Spec):
    """Where a derived dataset's rows come from."""

    kind: str = "query"
    query: Name


def derived_dataset(query: QuerySpec, types: Types) -> DatasetSpec:
    """The dataset that a query's published rows are; `types` are those of the query's own columns.

    Corrections flow on however late they are: the source's own `allowed_lateness` has bounded them already.
    """
    named = {key: types.get(key) or "string" for key in query.group_by} | {m.name: "double" for m in query.measures}
    return DatasetSpec.model_construct(
        name=query.name,
        description=query.description,
        source=SourceQuery(query=query.name),
        schedule=DatasetSchedule.model_construct(every=query.schedule.every),
        event_time=EventTimeSpec.model_construct(column="window_start"),
        columns=[ColumnSpec.model_construct(name=name, type=kind) for name, kind in named.items()],
        identity=list(query.group_by),
        allowed_lateness=LONGEST,
    )


def depth(name: str, queries: Mapping[str, QuerySpec]) -> int:
    """How many queries a query stands on; in a circle more than there are."""
    steps = 0
    while steps <= len(queries) and name in queries and queries[name].source is not None:
        name, steps = queries[name].dataset, steps + 1
    return steps


def source_problems(
    file: Path, query: QuerySpec, named: Mapping[str, QuerySpec], valid: Mapping[str, QuerySpec]
) -> list[Problem]:
    """What is wrong with a query that reads another; of those `named` the `valid` ones were looked at before."""
    if query.source is None:
        return []
    name, key = query.source.query, "source.query"
    if depth(query.name, named) > len(named):
        return [Problem(file, key, f"is {name!r}: {_circle(query.name, named)}")]
    if name not in valid:
        there = sorted(valid)
        text = f"is {name!r}, which has no valid queries/{name}.yaml{did_you_mean(name, there)}"
        return [Problem(file, key, f"{text}; there is: {', '.join(there) or 'none'}")]
    source = valid[name]
    found = [Problem(file, key, text) for text in (_not_exact(source), _too_few_windows(query, source)) if text]
    if query.shed.policy != EXACT or query.shed.compare:
        text = f"is {query.shed.policy}, and a query on a query is exact; write policy: exact"
        found.append(Problem(file, "shed.policy", text))
    if query.join is not None:
        found.append(Problem(file, "join", "a query on a query reads one source; remove join"))
    return found


def _not_exact(source: QuerySpec) -> str:
    if source.shed.policy == EXACT and not source.shed.compare:
        return ""
    return (
        f"is {source.name!r}, whose shed.policy is {source.shed.policy}: the error of its rows would be hidden in "
        f"the reader's; write policy: exact there, or read its dataset"
    )


def _too_few_windows(query: QuerySpec, source: QuerySpec) -> str:
    """A source that drops by its own calendar leaves a reader of n windows (1 - p)^n of its own."""
    drops, windows = source.shed.windows, query.timeline.size // source.timeline.slide
    if drops is None or drops.drop is None or not drops.drop or windows <= 1:
        return ""
    left = (1 - drops.drop) ** windows
    return (
        f"is {source.name!r}, which drops {drops.drop:g} of its windows by itself: of windows of "
        f"{format_duration(query.timeline.size)}, each on {windows} of them, {left:.2g} would be left; write "
        f"windows: {{follow: readers}} there, and drop here"
    )


def _circle(name: str, queries: Mapping[str, QuerySpec]) -> str:
    """The path of the circle that a query reads, in the words of the rules of nested queries."""
    stages = {}
    while name not in stages:
        stages[name] = Stage(queries[name].timeline.size, queries[name].timeline.slide, queries[name].dataset)
        name = queries[name].dataset
    try:
        in_order(stages)
    except SpecError as error:
        return str(error)
    raise AssertionError(f"{name} is in no circle")
