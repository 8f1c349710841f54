"""The notifiers that a query's `notify` names, hung on the tasks and the DAG that they are about."""

from __future__ import annotations

import datetime as dt
import importlib
from typing import Any

from airflow.sdk.definitions.callback import AsyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference

from shedding.errors import SpecError
from shedding.spec import QuerySpec


def notifiers(query: QuerySpec, event: str) -> list[Any]:
    """The notifiers for an event, made with their arguments; SpecError where one cannot be."""
    made = []
    for entry in (entry for entry in query.notify if event in entry.on):
        module, _, name = entry.call.partition(":")
        try:
            made.append(getattr(importlib.import_module(module), name)(**entry.arguments))
        except Exception as error:  # whatever their code says, it is told with its place
            raise SpecError(
                f"queries/{query.name}.yaml: notify: {entry.call} cannot be used here: {error}; install the provider "
                f"that has it, or correct its name and arguments"
            ) from error
    return made


def late_alerts(query: QuerySpec) -> list[DeadlineAlert]:
    """Alerts for runs that have not ended one slot's length after they were due; by notifiers that can be awaited."""
    made = notifiers(query, "late")
    told = [entry for entry in query.notify if "late" in entry.on]
    return [
        DeadlineAlert(
            reference=DeadlineReference.DAGRUN_QUEUED_AT,
            interval=dt.timedelta(microseconds=query.timeline.slot),
            callback=AsyncCallback(type(notifier), kwargs=dict(entry.arguments)),
        )
        for notifier, entry in zip(made, told, strict=True)
    ]
