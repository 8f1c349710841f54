"""The limits that an answer must meet before it is published."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from shedding.fields import Number, Spec, Whole
from shedding.spec.times import Duration


class GateSpec(Spec):
    """The error budgets that an answer must meet before it is published."""

    mean_relative_error: Number | None = Field(default=None, gt=0)
    p95_relative_error: Number | None = Field(default=None, gt=0)
    worst_relative_error: Number | None = Field(default=None, gt=0)
    row_weighted_error: Number | None = Field(default=None, gt=0, description="mean error, each key by its rows")
    missing_keys: Whole | None = Field(default=0, ge=0)
    omitted_keys: Number | None = Field(default=None, ge=0, lt=1, description="share of keys that limits leave out")
    omitted_rows: Number | None = Field(default=None, ge=0, lt=1, description="share of rows that limits leave out")
    top_missed: Whole | None = Field(default=None, ge=0, description="keys of the true top that an answer may miss")
    coverage: Number | None = Field(default=None, gt=0, lt=1)
    half_width: Number | None = Field(default=None, gt=0, description="mean half-width of intervals over the value")
    processed_over_budget: Number | None = Field(default=None, gt=0, description="processed rows over budgeted rows")
    drift: Number | None = Field(default=None, gt=0, le=1)
    row_count_change: Number | None = Field(default=None, gt=0, description="keys against the prior's, relative")
    audit_age: Duration | None = Field(default=None, description="how old the last audit may be")
    allow_empty: bool = Field(default=False, description="a slot without rows passes and publishes nothing")
    warn: list[str] = Field(default_factory=list, description="checks that only warn")
    on_failure: Literal["quarantine", "repair", "widen", "ask"] = "quarantine"
    approval_timeout: Duration = Field(default=86_400_000_000)
    risk: Number = Field(
        default=0.05, gt=0, lt=0.5, description="share of published windows that may truly be over an error limit"
    )

    @model_validator(mode="after")
    def _sensible(self) -> GateSpec:
        mean, p95, worst = self.mean_relative_error, self.p95_relative_error, self.worst_relative_error
        for low_name, low, high_name, high in (
            ("mean_relative_error", mean, "p95_relative_error", p95),
            ("p95_relative_error", p95, "worst_relative_error", worst),
            ("mean_relative_error", mean, "worst_relative_error", worst),
        ):
            if low is not None and high is not None and low > high:
                raise ValueError(f"{low_name} {low} is above {high_name} {high}; budgets widen from mean to worst")
        checks = {name for name in type(self).model_fields if name not in NOT_CHECKS}
        unknown = sorted(set(self.warn) - checks)
        if unknown:
            raise ValueError(f"warn names {', '.join(unknown)}, which is no check; checks: {', '.join(sorted(checks))}")
        return self


NOT_CHECKS = frozenset({"allow_empty", "warn", "on_failure", "approval_timeout", "risk"})
