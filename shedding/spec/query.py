"""A query as its owner writes it: windows, keys, measures, how much to shed and what error is allowed."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from shedding.fields import Column, Expression, Name, Number, Spec, Tag, Whole, Words
from shedding.spec.aggregates import AGGREGATES, Aggregate, Traits
from shedding.spec.enrich import EnrichSpec
from shedding.spec.policy_options import PolicyName, PolicyOptions
from shedding.spec.reserved_names import RESERVED, name_clashes
from shedding.spec.timeline import Timeline
from shedding.spec.times import UNITS, Duration, format_duration
from shedding.spec.weights import WeightsSpec
from shedding.spec.window_drops import WindowDrops

MOST_PANES = 100_000
DEAR_AUDITS = 50
EXACT = "exact"
"""The policy, and the leg, that keeps every row."""
Fraction = Annotated[Number, Field(gt=0, le=1)]


class WindowSpec(Spec):
    """Half-open, UTC, epoch-aligned windows; a slide above the size leaves gaps whose rows are never read."""

    size: Duration
    slide: Duration | None = Field(default=None, description="left out: the size (tumbling)")


class MeasureSpec(Spec):
    """One aggregate of one column (count: of the rows; ratio: sum of a column over sum of another)."""

    name: Name
    agg: Aggregate
    column: Column | None = None
    over: Column | None = Field(default=None, description="denominator column of a ratio")
    q: Number | None = Field(default=None, gt=0, lt=1, description="which quantile")
    near_zero: bool = Field(default=False, description="values may be near zero: errors relative to the row spread")
    magnitude: Whole = Field(
        default=40, ge=1, le=62, description="absolute values are below 2**magnitude; sums lose no bit of them"
    )

    @property
    def traits(self) -> Traits:
        """What may be asked of the aggregate without knowing its name."""
        return AGGREGATES[self.agg]

    @model_validator(mode="after")
    def _parts_fit(self) -> MeasureSpec:
        if self.agg == "count" and self.column is not None:
            raise ValueError(f"measure {self.name}: count counts rows and takes no column; remove column")
        if self.agg != "count" and self.column is None:
            raise ValueError(f"measure {self.name}: {self.agg} needs column; write the column that it is of")
        if (self.agg == "quantile") != (self.q is not None):
            raise ValueError(f"measure {self.name}: q goes with agg: quantile and only there, e.g. q: 0.9")
        if (self.agg == "ratio") != (self.over is not None):
            raise ValueError(f"measure {self.name}: over (the denominator) goes with agg: ratio and only there")
        return self


class JoinSpec(Spec):
    """Equi-join with a second dataset on the group-by keys, within the same window (CoD's third query type)."""

    dataset: Name
    on: list[Column] = Field(min_length=1)
    where: Expression | None = None


class TopSpec(Spec):
    """Publish only the n keys with the largest value of one measure, per window."""

    by: Name
    n: Whole = Field(gt=0)


class QuerySchedule(Spec):
    """The slot: one DAG run computes the windows that end in it."""

    every: Duration


class BudgetSpec(Spec):
    """How many rows may be processed: a fraction of the slot's rows, or a number of rows a slot."""

    fraction: Fraction | None = None
    rows: Whole | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _one_of_them(self) -> BudgetSpec:
        if (self.fraction is None) == (self.rows is None):
            raise ValueError("budget needs exactly one of fraction (in (0, 1]) and rows (a positive number)")
        return self


class ShedSpec(PolicyOptions):
    """What is shed, and by which policy; beside these keys stand the options of the policies that it names."""

    policy: PolicyName = "posterior"
    budget: BudgetSpec = Field(
        default=BudgetSpec(fraction=1.0), description="may be left out where no row is shed: policy exact, no compare"
    )
    # Which windows are kept is the slot's recorded plan: no fingerprint of an answer depends on it.
    windows: WindowDrops | None = Field(default=None, exclude=True, description="whole windows left out, others exact")
    compare: list[PolicyName] = Field(default_factory=list, description="legs run beside it on audited slots")
    completeness: Literal["best_effort", "required"] = "best_effort"
    spot_check: Number = Field(
        default=0.1, ge=0, le=0.5, description="part of the budget that computes some keys exactly, to measure errors"
    )

    weights: WeightsSpec = WeightsSpec()

    @model_validator(mode="after")
    def _options_fit(self) -> ShedSpec:
        for policy in {self.policy, *self.compare}:
            self.get_policy(policy)
        return self

    @model_validator(mode="after")
    def _budget_and_windows_fit(self) -> ShedSpec:
        exact = self.policy == "exact" and not self.compare
        if "budget" not in self.model_fields_set and not exact:
            raise ValueError(
                "budget is missing: rows are shed; add e.g. budget: {fraction: 0.1}, or write policy: exact"
            )
        if self.windows is not None and not exact:
            raise ValueError(
                "windows goes with policy: exact and no compare: a kept window is exact or it is not there"
            )
        return self


class AuditSpec(Spec):
    """One slot in `one_in` also gets the exact leg; 1 means always side by side."""

    one_in: Whole = Field(default=10, ge=1)
    drift_limit: Number | None = Field(
        default=None, gt=0, le=1, description="concept distance above which the next slot is audited too"
    )
    season: Duration | None = Field(
        default=None, description="period of the data, e.g. 1 day: slots learn from audits of the same phase too"
    )
    # No answer depends on it: left out of fingerprints, so that it may be switched on for slots that are published.
    verify: Duration | None = Field(
        default=None, exclude=True, description="how often what was published without an audit is computed exactly"
    )


class GateSpec(Spec):
    """The error budgets that an answer must meet before it is published."""

    mean_relative_error: Number | None = Field(default=None, gt=0)
    p95_relative_error: Number | None = Field(default=None, gt=0)
    worst_relative_error: Number | None = Field(default=None, gt=0)
    missing_keys: Whole | None = Field(default=0, ge=0)
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


class ObjectiveSpec(Spec):
    """The promise to readers: this share of windows is published within its limits, over this stretch of time.

    No answer depends on it: it may be changed for slots that are published.
    """

    share: Number = Field(default=0.99, gt=0, lt=1, description="of all windows, published and within their limits")
    over: Duration = Field(default=28 * UNITS["day"], description="the stretch of event time that the share is of")


class QuerySpec(Spec):
    """One query, one file `queries/<name>.yaml`."""

    name: Name
    description: str = ""
    owner: Words = "data-platform"
    tags: list[Tag] = Field(default_factory=list)
    dataset: Name
    where: Expression | None = None
    join: JoinSpec | None = None
    window: WindowSpec
    group_by: list[Column] = Field(default_factory=list)
    enrich: list[EnrichSpec] = Field(default_factory=list, description="columns that functions make of kept rows")
    measures: list[MeasureSpec] = Field(min_length=1)
    top: TopSpec | None = None
    schedule: QuerySchedule
    shed: ShedSpec
    estimates: Literal["shrunk", "plain"] = "shrunk"
    audit: AuditSpec = AuditSpec()
    publish: Literal["shed", "best"] = "shed"
    gate: GateSpec = GateSpec()
    objective: ObjectiveSpec = ObjectiveSpec()

    @model_validator(mode="after")
    def _times_fit(self) -> QuerySpec:
        slide, slot = self.window.slide or self.window.size, self.schedule.every
        if slot % slide:
            raise ValueError(
                f"schedule.every {format_duration(slot)} is no multiple of window.slide {format_duration(slide)}; "
                f"write e.g. every: {format_duration(slide * max(1, round(slot / slide)))}"
            )
        verify = self.audit.verify
        if verify is not None and verify < slot:
            raise ValueError(
                f"audit.verify {format_duration(verify)} is shorter than schedule.every {format_duration(slot)}; "
                f"write e.g. verify: 7 days"
            )
        if self.objective.over < slot:
            raise ValueError(
                f"objective.over {format_duration(self.objective.over)} is shorter than schedule.every "
                f"{format_duration(slot)}; write e.g. over: 28 days"
            )
        season = self.audit.season
        if season is not None and (season % slot or season == slot):
            raise ValueError(
                f"audit.season {format_duration(season)} is no multiple, two or more, of schedule.every "
                f"{format_duration(slot)}; write a period that whole slots fit into, e.g. season: 1 day"
            )
        panes = (slot + self.window.size) // math.gcd(self.window.size, slide)
        if panes > MOST_PANES:
            raise ValueError(
                f"a slot and its windows are cut into {panes} panes of "
                f"{format_duration(math.gcd(self.window.size, slide))}, more than {MOST_PANES}; write a longer "
                f"window.slide, or a shorter window.size or schedule.every"
            )
        return self

    @model_validator(mode="after")
    def _window_drops_fit(self) -> QuerySpec:
        if self.shed.windows is None:
            return self
        if self.join is not None:
            raise ValueError("shed.windows and join do not go together yet; remove one of them")
        if self.gate.on_failure in ("repair", "widen"):
            raise ValueError(
                f"gate.on_failure is {self.gate.on_failure}, and kept windows are exact; write quarantine or ask"
            )
        return self

    @model_validator(mode="after")
    def _names_fit(self) -> QuerySpec:
        names = [measure.name for measure in self.measures]
        doubled = [name for name in names if names.count(name) > 1]
        if doubled:
            raise ValueError(f"measure name {doubled[0]!r} is taken by another measure; rename it")
        clash = next(name_clashes(self.group_by, names, self.counted), None)
        if clash is not None:
            raise ValueError(clash)
        if len(set(self.group_by)) != len(self.group_by):
            raise ValueError("group_by names a column twice; remove one")
        strange = {name for entry in self.shed.weights.keys for name in entry.values} - set(self.group_by)
        if strange:
            raise ValueError(
                f"shed.weights.keys names {sorted(strange)[0]!r}, which is no key; write columns of group_by: "
                f"{', '.join(self.group_by) or 'there are none'}"
            )
        if self.top is not None and self.top.by not in names:
            raise ValueError(f"top.by is {self.top.by!r}, which is no measure; measures: {', '.join(names)}")
        if self.top is not None and not self.group_by:
            raise ValueError("top needs group_by: a query without keys has one row a window; remove top")
        if self.gate.top_missed is not None and self.top is None:
            raise ValueError("gate.top_missed goes with top and only there; write e.g. top: {by: trips, n: 10}")
        return self

    @model_validator(mode="before")
    @classmethod
    def _dear_audits_are_rare(cls, given: Any) -> Any:
        """An audit calls the functions for every row of its slot: one in 50 where the owner says nothing else."""
        audit = given.get("audit", {}) if isinstance(given, dict) else None
        if isinstance(audit, dict) and given.get("enrich"):
            return {**given, "audit": {"one_in": DEAR_AUDITS, **audit}}
        return given

    @model_validator(mode="after")
    def _enrichment_fits(self) -> QuerySpec:
        names = self.enriched
        doubled = [name for name in names if names.count(name) > 1]
        if doubled:
            raise ValueError(f"enrich makes column {doubled[0]!r} twice; rename one")
        if names and self.join is not None:
            raise ValueError("a join cannot enrich: enrich the rows in a query of one dataset")
        keys = [name for name in names if name in self.group_by]
        if keys:
            raise ValueError(f"group_by names {keys[0]!r}, which enrich makes of kept rows; keys are known before that")
        taken = [name for name in names if name.lower() in RESERVED or name.startswith("_")]
        if taken:
            raise ValueError(f"enrich column {taken[0]!r} is a name that Sluice reserves; rename it")
        return self

    @model_validator(mode="after")
    def _measures_fit(self) -> QuerySpec:
        exact_only = [m.name for m in self.measures if m.traits.exact_only]
        shed = [leg for leg in self.legs if leg != EXACT]
        if exact_only and shed:
            where = "shed.policy" if shed[0] == self.shed.policy else "shed.compare"
            raise ValueError(
                f"measure {exact_only[0]!r} has no honest estimate from a sample, and {where} names {shed[0]}; "
                f"write shed.policy: exact and no shed.compare, or move it to a query of its own"
            )
        unjoined = [m for m in self.measures if not m.traits.joined]
        if self.join is not None and unjoined:
            joined = ", ".join(name for name, traits in AGGREGATES.items() if traits.joined)
            raise ValueError(
                f"measure {unjoined[0].name!r} is a {unjoined[0].agg}; a join answers {joined}: "
                f"move it to a query of one dataset"
            )
        if self.join is not None and sorted(self.join.on) != sorted(self.group_by):
            raise ValueError("a join groups by the columns it joins on; write the same columns in join.on and group_by")
        return self

    @cached_property
    def timeline(self) -> Timeline:
        """The query's panes, windows and slots."""
        return Timeline(size=self.window.size, slide=self.window.slide or self.window.size, slot=self.schedule.every)

    @property
    def counted(self) -> list[str]:
        """The columns whose values must be counted, so that estimates know how many there are."""
        used = {c for m in self.measures if m.traits.estimated for c in (m.column, m.over) if c is not None}
        return sorted(used - set(self.enriched))

    @property
    def enriched(self) -> list[str]:
        """The columns that functions make; they are not there at arrival, so nobody counts their values."""
        return [entry.name for entry in self.enrich]

    @property
    def functions(self) -> dict[str, Any]:
        """What fingerprints hold of the functions, sources among it; nothing for a query without any."""
        return {"enrich": [entry.fingerprint() for entry in self.enrich]} if self.enrich else {}

    @property
    def spot_checks(self) -> bool:
        """Whether slots without an exact leg compute some keys exactly: queries of one dataset, grouped by keys."""
        sheds = self.shed.policy != EXACT and any(m.traits.estimated for m in self.measures)
        return sheds and self.shed.spot_check > 0 and bool(self.group_by) and self.join is None

    @property
    def legs(self) -> list[str]:
        """The legs of an audited slot: the published one first, then the compared ones and exact."""
        return list(dict.fromkeys([self.shed.policy, *self.shed.compare, EXACT]))
