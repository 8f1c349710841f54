"""What the UI shows for a specification that is wrong: its own DAG, marked, with the message."""

from __future__ import annotations

from collections.abc import Sequence

from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException

from shedding.spec import Problem


def invalid_dag(dag_id: str, problems: Sequence[Problem]) -> DAG:
    """A DAG under the specification's own name that is never scheduled and fails with the problems.

    It keeps the name, so the history stays and the fixed file brings the real DAG back.
    """
    messages = [str(problem) for problem in problems]
    with DAG(
        dag_id,
        dag_display_name=f"{dag_id} (invalid)",
        description="; ".join(messages),
        schedule=None,
        auto_register=False,
        tags=["invalid"],
        default_args={"owner": "data-platform", "retries": 0},
        doc_md="# This specification is invalid\n\n" + "\n".join(f"- `{message}`" for message in messages),
    ) as dag:

        @task
        def explain() -> None:
            """Fail with what is wrong."""
            raise AirflowFailException("; ".join(messages))

        explain()
    return dag
