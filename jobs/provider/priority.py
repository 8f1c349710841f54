"""Who gets the next place in a pool: what is due now, before what makes up for the past."""

from __future__ import annotations

from typing import Any

from airflow.task.priority_strategy import PriorityWeightStrategy

BACKFILL = "backfill"
DUE = 1000
"""More than any DAG has tasks: the furthest task of a backfill still comes after the first of a scheduled run."""


class DueFirst(PriorityWeightStrategy):
    """Tasks of backfills have the operator's own weight, those of all other runs `DUE` more."""

    def get_weight(self, ti: Any) -> int:
        """The weight of a task instance, by the kind of its run."""
        run = ti.__dict__.get("dag_run")  # loaded or not; a run that a backfill takes over keeps its id
        is_backfill = str(getattr(run, "run_type", "")) == BACKFILL or str(ti.run_id).startswith(f"{BACKFILL}__")
        return int(ti.task.priority_weight) + (0 if is_backfill else DUE)


PRIORITY = "jobs.provider.priority.DueFirst"
