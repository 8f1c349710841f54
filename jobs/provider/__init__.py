"""Sluice as an Airflow provider: operators, the task group of a query, a trigger, and the pages beside Airflow's UI.

    from jobs.provider.task_group import SluiceTaskGroup

Installed with the wheel, it registers itself: a section `[sluice]` in Airflow's configuration, the pages at `/sluice`
and `/data-docs`, the priority of scheduled runs over backfills. The DAGs of this repository are made of the same parts.
Nothing here imports Spark, Delta or Great Expectations before a task runs.
"""
