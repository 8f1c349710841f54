"""A green run whose checks warned says so: in its note, which Airflow shows beside the run.

Tasks cannot write a run's note. The gate leaves its warnings as a value of the task, and the scheduler, which ends the
run, moves them into the note. What a person wrote there stays.
"""

from __future__ import annotations

from typing import Any

from airflow.listeners import hookimpl

KEY = "warnings"


@hookimpl
def on_dag_run_success(dag_run: Any, msg: str) -> None:
    """Put the warnings of the run's gates into its note, in the session of whoever ends the run."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from sqlalchemy.orm import object_session

    session = object_session(dag_run)
    if session is not None:
        _annotate(dag_run, session)
        return
    with create_session() as own:  # `airflow dags test` hands over a run that no session holds
        _annotate(own.get(DagRun, dag_run.id), own)


def _annotate(dag_run: Any, session: Any) -> None:
    from airflow.models.xcom import XComModel
    from sqlalchemy import select

    if dag_run is None or dag_run.note:
        return
    left = select(XComModel).where(
        XComModel.dag_id == dag_run.dag_id, XComModel.run_id == dag_run.run_id, XComModel.key == KEY
    )
    texts = [str(XComModel.deserialize_value(row)) for row in session.scalars(left)]
    if texts:
        dag_run.note = f"Published with a warning: {'; '.join(texts)}"[:1000]
