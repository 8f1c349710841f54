"""Who is told when a slot needs a person's eye."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from shedding.fields import CALL, Spec

Event = Literal["refused", "repaired", "late", "approval_needed"]


class NotifySpec(Spec):
    """One of Airflow's notifiers, with its arguments, and the events it is for. No answer depends on it."""

    on: list[Event] = Field(min_length=1, description="refused, repaired, late, approval_needed")
    call: Annotated[str, StringConstraints(pattern=CALL)] = Field(description="module:Class of an Airflow notifier")
    arguments: dict[str, Any] = Field(default_factory=dict, description="what the notifier is made with")
