"""Which slot a DAG run computes."""

from __future__ import annotations

from typing import Any

from jobs.provider.priority import BACKFILL
from shedding.errors import SpecError
from shedding.spec import QuerySpec
from shedding.spec.times import parse_instant


def slot_of_run(query: QuerySpec, dag_run: Any, params: Any) -> int:
    """The slot named in the run's parameters, else the last whole one of its interval.

    Raises SpecError where a backfill names one: each of its runs would compute that same slot, and none its own.
    """
    named = params.get("slot")
    if named and str(getattr(dag_run, "run_type", "")) == BACKFILL:
        raise SpecError(
            f"the parameter slot ({named}) makes every run of this backfill compute the same slot; leave it empty and "
            "start the backfill again, or trigger one run with it"
        )
    if named:
        return query.timeline.slot_of(parse_instant(named))
    end = dag_run.data_interval_end or dag_run.run_after
    return query.timeline.slot_of(parse_instant(end)) - query.timeline.slot
