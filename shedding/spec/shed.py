"""What a query sheds: by which policy, within which budget."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from shedding.fields import Expression, Name, Number, Spec, Whole
from shedding.spec.policy_options import PolicyName, PolicyOptions
from shedding.spec.times import Duration, format_duration
from shedding.spec.tolerate import TolerateSpec
from shedding.spec.weights import WeightsSpec
from shedding.spec.window_drops import WindowDrops

EXACT = "exact"
"""The policy, and the leg, that keeps every row."""
Fraction = Annotated[Number, Field(gt=0, le=1)]


class DelaySpec(Spec):
    """How long slots may wait for the work of those before them: on average over the last 24, or each."""

    mean: Duration | None = None
    max: Duration | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> DelaySpec:
        if (self.mean is None) == (self.max is None):
            raise ValueError("budget.delay needs exactly one of mean and max; write e.g. delay: {max: 10 minutes}")
        return self


class BudgetSpec(Spec):
    """What a slot may spend: a fraction of its rows, a number of them, what an error takes, or seconds of functions.

    `error`: the mean relative error of the keys, as it is planned from counts and audits; with `keys` so many of them
    have a planned 95 % half-width of at most that. `seconds` are core seconds of `enrich` a slot; `delay` says how long
    work may wait, which gives a slot its seconds.
    """

    fraction: Fraction | None = None
    rows: Whole | None = Field(default=None, gt=0)
    error: Number | None = Field(default=None, gt=0, description="as many rows a slot as this planned error takes")
    keys: Fraction | None = Field(default=None, description="with error: the share of keys that must be this good")
    seconds: Number | None = Field(default=None, gt=0, description="core seconds of enrichment a slot")
    delay: DelaySpec | None = Field(default=None, description="how long slots may wait for the work of earlier ones")

    @property
    def in_seconds(self) -> bool:
        """Whether it is time that is spent, not rows."""
        return self.seconds is not None or self.delay is not None

    @model_validator(mode="after")
    def _one_of_them(self) -> BudgetSpec:
        kinds = (self.fraction, self.rows, self.error, self.seconds, self.delay)
        if sum(one is not None for one in kinds) != 1:
            raise ValueError(
                "budget needs exactly one of fraction (in (0, 1]), rows, seconds (positive numbers), error and delay"
            )
        if self.keys is not None and self.error is None:
            raise ValueError("budget.keys goes with budget.error and only there, e.g. {error: 0.1, keys: 0.95}")
        return self

    def __str__(self) -> str:
        """In words."""
        if self.seconds is not None:
            return f"{self.seconds:g} s of enrichment"
        if self.delay is not None:
            kind = "mean" if self.delay.mean is not None else "most"
            return f"a {kind} delay of {format_duration(self.delay.mean or self.delay.max or 0)}"
        if self.error is not None:
            good = "a mean error" if self.keys is None else f"{self.keys:.0%} of the keys within +-"
            return f"the rows that {good} of {self.error:g} takes".replace("+- of", "+-")
        return f"{self.rows} rows" if self.rows is not None else f"{self.fraction:g} of the rows"


class BudgetedSpec(PolicyOptions):
    """What is shed of rows, by which policy and within which budget; beside these keys stand the policies' options."""

    policy: PolicyName = "posterior"
    budget: BudgetSpec = Field(
        default=BudgetSpec(fraction=1.0), description="may be left out where no row is shed: policy exact, no compare"
    )
    compare: list[PolicyName] = Field(default_factory=list, description="legs run beside it on audited slots")
    completeness: Literal["best_effort", "required"] = "best_effort"
    spot_check: Number = Field(
        default=0.1, ge=0, le=0.5, description="part of the budget that computes some keys exactly, to measure errors"
    )

    @property
    def sheds_nothing(self) -> bool:
        """Whether every leg keeps every row."""
        return self.policy == EXACT and not self.compare

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        for policy in {self.policy, *self.compare}:
            self.get_policy(policy)
        return self

    @model_validator(mode="after")
    def _budget_is_there(self) -> Self:
        if "budget" not in self.model_fields_set and not self.sheds_nothing:
            raise ValueError(
                "budget is missing: rows are shed; add e.g. budget: {fraction: 0.1}, or write policy: exact"
            )
        return self


class ShedSpec(BudgetedSpec):
    """What a query sheds; a member of a pool has policy and budget from there."""

    # Which windows are kept is the slot's recorded plan: no fingerprint of an answer depends on it.
    windows: WindowDrops | None = Field(default=None, exclude=True, description="whole windows left out, others exact")
    weights: WeightsSpec = WeightsSpec()
    tolerate: TolerateSpec | None = Field(default=None, description="keys that cannot be this good are left out")
    keep: Expression | None = Field(
        default=None,
        description="rows that are never shed, a condition such as amount > 10000; they count in the budget",
    )
    # Fingerprints of members hold their whole pool; those of other queries stay as they were before there were pools.
    pool: Name | None = Field(default=None, exclude=True, description="the pool whose scan and budget it shares")
    weight: Number = Field(default=1.0, gt=0, exclude=True, description="how much it counts in its pool")
    # Which leg a slot computes: no number of either leg depends on it.
    unless_cheaper: bool = Field(
        default=True,
        exclude=True,
        description="a slot whose exact leg costs less by the cost model is computed exactly",
    )

    @property
    def limited(self) -> bool:
        """Whether keys have error limits, so that some may be left out."""
        return self.tolerate is not None or any(entry.error is not None for entry in self.weights.keys)

    @model_validator(mode="after")
    def _limits_fit(self) -> ShedSpec:
        if self.limited and self.policy == EXACT:
            raise ValueError("tolerate, and error in weights, go with a policy that sheds: exact rows have no error")
        if self.limited and self.budget.error is not None:
            raise ValueError(
                "budget.error buys the rows that an error takes, so tolerate leaves nothing out; remove one"
            )
        if self.limited and self.completeness == "required":
            raise ValueError("tolerate leaves keys out and completeness: required keeps all of them; remove one")
        if self.limited and self.pool is not None:
            raise ValueError("error limits and pool do not go together yet; remove the errors, or the pool")
        return self

    @model_validator(mode="after")
    def _windows_fit(self) -> ShedSpec:
        if self.windows is not None and not self.sheds_nothing:
            raise ValueError(
                "windows goes with policy: exact and no compare: a kept window is exact or it is not there"
            )
        return self

    @model_validator(mode="after")
    def _weight_goes_with_a_pool(self) -> ShedSpec:
        if self.pool is None and "weight" in self.model_fields_set:
            raise ValueError("weight is of a query among others in a pool; add pool: NAME, or weigh keys by weights")
        return self
