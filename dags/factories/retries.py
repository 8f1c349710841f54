"""What is tried again, and what is not: waiting helps against a lost process or a write conflict, never a verdict."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from airflow.sdk.exceptions import AirflowFailException

from shedding.errors import FINAL

P, T = ParamSpec("P"), TypeVar("T")

RETRIES = {
    "retries": 3,
    "retry_delay": dt.timedelta(seconds=20),
    "retry_exponential_backoff": True,
    "max_retry_delay": dt.timedelta(minutes=10),
}
"""For what may pass by waiting: a lost JVM, a write conflict, a full disk. Verdicts never retry."""


def final_errors(work: Callable[P, T]) -> Callable[P, T]:
    """The task's function, red at once where no waiting helps: a refusal, rows or a specification that are wrong.

    Anything else, a write conflict or a lost process, is tried again.
    """

    @functools.wraps(work)
    def tried(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return work(*arguments, **named)
        except FINAL as error:
            raise AirflowFailException(str(error)) from error

    return tried
