"""The page that the UI shows for a DAG, written from its specification."""

from __future__ import annotations

from shedding.spec import Catalog, DatasetSpec, Pooled, QuerySpec
from shedding.spec.measure import MeasureSpec
from shedding.spec.shed import BudgetSpec
from shedding.spec.times import format_duration


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
| shedding | policy {query.shed.policy}, budget {_budget(query.shed.budget)}{_shared(query)} |
| audit | one slot in {query.audit.one_in} is also computed exactly{_verified(query)} |
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


def pool_page(pool: Pooled) -> str:
    """Who shares what, by which weights, and where each answer goes."""
    spec = pool.spec
    members = "\n".join(
        f"| `{one.name}` | {', '.join(f'`{key}`' for key in one.group_by) or 'none'} | {pool.weight(one):g} | "
        f"`published/{one.name}` |"
        for one in pool.members
    )
    fair = "no member errs more than with its weight's part of the budget alone"
    return f"""# Pool {spec.name}
{spec.description}

| | |
|---|---|
| reads | `{spec.dataset}`, once for all members |
| slot | {format_duration(spec.schedule.every)} |
| shedding | policy {spec.shed.policy}, budget {_budget(spec.shed.budget)}, of the union of what members keep |
| audit | one slot in {spec.audit.one_in} is also computed exactly, for all members |
| fairness | {fair if spec.fairness.at_least_alone else "the sum of errors alone counts"} |

| member | keys | weight | answer |
|---|---|---|---|
{members}

Each member is judged and published by itself. A change of a member's keys, measures or weight changes the rates of all:
their shed slots are of another specification from then on. For one member's slot trigger `query_<member>`: same rows.
"""


def _budget(budget: BudgetSpec) -> str:
    return str(budget) + (" a slot" if budget.rows is not None else "")


def verify_page(query: QuerySpec) -> str:
    """What is computed again, what is compared, and when the run is red."""
    assert query.audit.verify is not None
    return f"""# Verification of {query.name}
Every {format_duration(query.audit.verify)} the slots that `query_{query.name}` published without an audit are computed
exactly from all their rows and compared with what was published. Nothing published is changed.

| | |
|---|---|
| compares | `published/{query.name}`, slots of the run's interval, one slot earlier (the last may be running) |
| keeps | `verifications/{query.name}`: truth, the gate's estimate and bound, limit and coverage of each window |
| red | a limit was broken more often than the gate's risk allows, beyond chance |

By hand: `sluice verify {query.name} --from T --to T`, or trigger a run with `from`, `to` and `sample`.
"""


def _shared(query: QuerySpec) -> str:
    return "" if query.shed.pool is None else f", shared with the other members of `pool_{query.shed.pool}`"


def _verified(query: QuerySpec) -> str:
    every = query.audit.verify
    return f"; the others every {format_duration(every)}, by `verify_{query.name}`" if every is not None else ""


def _measure(measure: MeasureSpec) -> str:
    what = f"{measure.column} / {measure.over}" if measure.over else measure.column or "rows"
    return f"`{measure.name}` ({measure.agg} of {what})"
