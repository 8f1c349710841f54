"""The page that the UI shows for a DAG, written from its specification."""

from __future__ import annotations

from shedding.spec import Catalog, DatasetSpec, QuerySpec
from shedding.spec.durations import format_duration
from shedding.spec.query import MeasureSpec


def dataset_page(dataset: DatasetSpec, catalog: Catalog) -> str:
    """What arrives, where it goes, who reads it."""
    readers = ", ".join(f"`{query.name}`" for query in catalog.queries_of(dataset.name)) or "none yet"
    columns = ", ".join(f"`{name}`" for name in dataset.column_names)
    return f"""# {dataset.name}
{dataset.description}

| | |
|---|---|
| source | {dataset.source.kind}, every {format_duration(dataset.schedule.every)} |
| columns | {columns} |
| rows | `raw/{dataset.name}`, partitioned by {dataset.partition} |
| broken rows | `quarantine/{dataset.name}`, with file, line, column and reason |
| late rows count up to | {format_duration(dataset.allowed_lateness)} |
| read by | {readers} |

Running an interval again adds nothing twice.
"""


def query_page(query: QuerySpec) -> str:
    """What is answered, within which budget and error, and what happens on failure."""
    slide = query.window.slide or query.window.size
    budget = (
        f"{query.shed.budget.fraction:.3g} of the rows"
        if query.shed.budget.fraction
        else f"{query.shed.budget.rows} rows a slot"
    )
    gate = query.gate.model_dump(exclude_none=True, exclude={"warn", "on_failure", "approval_timeout"})
    checks = "\n".join(f"| {name.replace('_', ' ')} | {value} |" for name, value in gate.items())
    return f"""# {query.name}
{query.description}

| | |
|---|---|
| windows | {format_duration(query.window.size)} every {format_duration(slide)}, from `{query.dataset}` |
| keys | {", ".join(f"`{key}`" for key in query.group_by) or "none"} |
| measures | {", ".join(_measure(measure) for measure in query.measures)} |
| slot | {format_duration(query.schedule.every)}: a run computes the windows that end in it |
| shedding | policy {query.shed.policy}, budget {budget} |
| audit | one slot in {query.audit.one_in} is also computed exactly |
| answer | `published/{query.name}` (only what passed the gate) |

## Gate
| check | limit |
|---|---|
{checks}

On failure: **{query.gate.on_failure}**. A refused slot ends red at `quarantine`; the published table stays as it was.

## Backfill
Press *Trigger* > *Backfill* and choose the dates: any order gives the same rows. To compute one slot, trigger a run
with its start in the parameter `slot`.
"""


def _measure(measure: MeasureSpec) -> str:
    what = {"count": "rows", "ratio": f"{measure.column} / {measure.over}"}.get(measure.agg, measure.column)
    return f"`{measure.name}` ({measure.agg} of {what})"
