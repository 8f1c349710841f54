"""What is tried again, and what is not: waiting helps against a lost process or a write conflict, never a verdict."""

from __future__ import annotations

import datetime as dt
from typing import Any

from airflow.sdk import ExceptionRetryPolicy, RetryAction, RetryRule
from airflow.sdk.exceptions import TaskDeferralTimeout

from shedding.errors import FINAL, SluiceError


class ApplicationError(SluiceError):
    """Raised when a Spark application said by its exit code that it failed for good."""


POLICY = ExceptionRetryPolicy(
    [
        RetryRule(
            [*FINAL, ApplicationError], RetryAction.FAIL, reason="trying again does not help; the error says what does"
        ),
        RetryRule(TaskDeferralTimeout, RetryAction.FAIL, reason="it has waited for as long as it may"),
    ]
)
"""Red at once: a refusal, rows or a specification that are wrong. Anything else is tried again."""

RETRIES: dict[str, Any] = {
    "retries": 3,
    "retry_delay": dt.timedelta(seconds=20),
    "retry_exponential_backoff": True,
    "max_retry_delay": dt.timedelta(minutes=10),
    "retry_policy": POLICY,
}
"""For what may pass by waiting: a lost JVM, a write conflict, a full disk."""
