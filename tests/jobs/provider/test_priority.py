from __future__ import annotations

from types import SimpleNamespace

import pytest

from shedding.config import Settings


@pytest.mark.airflow
def test_what_is_due_comes_before_every_task_of_a_backfill(airflow_home: Settings) -> None:
    from airflow.models.dagrun import DagRunType
    from airflow.task.priority_strategy import validate_and_load_priority_weight_strategy

    from jobs.provider.priority import PRIORITY

    strategy = validate_and_load_priority_weight_strategy(PRIORITY)  # known by the plugin's entry point

    def weight(run_id: str, own: int = 1, **run: object) -> int:
        return strategy.get_weight(SimpleNamespace(run_id=run_id, task=SimpleNamespace(priority_weight=own), **run))

    due = [weight("scheduled__2026"), weight("manual__x"), weight("late__x"), weight("scheduled__2026", dag_run=None)]
    taken_over = SimpleNamespace(run_type=DagRunType.BACKFILL_JOB)
    past = [weight("backfill__2026", 50), weight("scheduled__2026", 50, dag_run=taken_over)]
    assert min(due) > max(past)
