from __future__ import annotations

import pytest

from shedding.config import Settings
from shedding.errors import ConflictError, DataError, NotReadyError, SpecError, VerdictError


@pytest.mark.airflow
def test_a_conflict_is_tried_again_and_a_verdict_never(airflow_home: Settings) -> None:
    from airflow.sdk import RetryAction
    from airflow.sdk.exceptions import TaskDeferralTimeout

    from jobs.provider.retries import POLICY, RETRIES

    never = (VerdictError("x"), DataError("x"), SpecError("x"), TaskDeferralTimeout("x"))
    again = (ConflictError("x"), NotReadyError("x"), OSError("x"), MemoryError())
    assert {POLICY.evaluate(error, 1, 3).action for error in never} == {RetryAction.FAIL}
    assert {POLICY.evaluate(error, 1, 3).action for error in again} == {RetryAction.DEFAULT}
    assert RETRIES["retry_policy"] is POLICY
