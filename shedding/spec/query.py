"""A query as its owner writes it: windows, keys, measures, how much to shed and what error is allowed."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from shedding.fields import Column, Expression, Name, Number, Spec, Tag, Whole, Words
from shedding.spec.aggregates import AGGREGATES
from shedding.spec.enrich import EnrichSpec
from shedding.spec.gate import GateSpec
from shedding.spec.measure import MeasureSpec
from shedding.spec.notify import NotifySpec
from shedding.spec.reserved_names import RESERVED, name_clashes
from shedding.spec.shed import EXACT, ShedSpec
from shedding.spec.timeline import Timeline
from shedding.spec.times import UNITS, Duration, format_duration

if TYPE_CHECKING:
    from shedding.spec.pool import Pooled

MOST_PANES = 100_000
DEAR_AUDITS = 50
KEPT = "_kept"
"""The column that is 1 for the rows that `shed.keep` holds for, else 0."""


class WindowSpec(Spec):
    """Half-open, UTC, epoch-aligned windows; a slide above the size leaves gaps whose rows are never read."""

    size: Duration
    slide: Duration | None = Field(default=None, description="left out: the size (tumbling)")


class JoinSpec(Spec):
    """Equi-join with a second dataset on the group-by keys, within the same window (CoD's third query type)."""

    dataset: Name
    on: list[Column] = Field(min_length=1)
    where: Expression | None = None


class SourceSpec(Spec):
    """Instead of a dataset: the published rows of an exact query, by `window_start`."""

    query: Name


class TopSpec(Spec):
    """Publish only the n keys with the largest value of one measure, per window."""

    by: Name
    n: Whole = Field(gt=0)


class QuerySchedule(Spec):
    """The slot: one DAG run computes the windows that end in it."""

    every: Duration


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
    dataset: Name = Field(description="what it reads; or `source`")
    # The name stands in `dataset` too, so that fingerprints need not know of it.
    source: SourceSpec | None = Field(default=None, exclude=True, description="instead of dataset: rows of a query")
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
    notify: list[NotifySpec] = Field(default_factory=list, description="whom Airflow tells, of what")
    _pool: Pooled | None = PrivateAttr(default=None)

    @property
    def pool(self) -> Pooled | None:
        """The pool whose scan and budget it shares, with all members; the catalog knows it."""
        return self._pool

    def in_pool(self, pool: Pooled | None) -> QuerySpec:
        """The query as a member of the pool; with None as one for itself."""
        member = self.model_copy()
        member._pool = pool
        return member

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
        tolerate = self.shed.tolerate
        limited = tolerate.error if tolerate is not None and isinstance(tolerate.error, dict) else {}
        unknown = [name for name in limited if name not in names]
        if unknown:
            raise ValueError(f"shed.tolerate names {unknown[0]!r}, which is no measure; measures: {', '.join(names)}")
        if self.top is not None and self.top.by not in names:
            raise ValueError(f"top.by is {self.top.by!r}, which is no measure; measures: {', '.join(names)}")
        if self.top is not None and not self.group_by:
            raise ValueError("top needs group_by: a query without keys has one row a window; remove top")
        if self.gate.top_missed is not None and self.top is None:
            raise ValueError("gate.top_missed goes with top and only there; write e.g. top: {by: trips, n: 10}")
        return self

    @model_validator(mode="before")
    @classmethod
    def _one_source(cls, given: Any) -> Any:
        """A query that reads another names it once: its name is that of the dataset that the rows are."""
        source = given.get("source") if isinstance(given, dict) else None
        if source is None:
            return given
        if "dataset" in given:
            raise ValueError("write dataset or source, not both: a query reads one of them")
        name = source.get("query") if isinstance(source, dict) else getattr(source, "query", None)
        return {**given, "dataset": name}

    @property
    def drops_windows(self) -> bool:
        """Whether slots have a recorded plan: windows are left out, by itself or because its source left some out."""
        return self.shed.windows is not None or self.source is not None

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
        made = [(entry.name, name) for entry in self.enrich for name in entry.cost_by if name in names]
        if made:
            raise ValueError(
                f"enrich.{made[0][0]}.cost_by names {made[0][1]!r}, which enrich makes; costs are known before that"
            )
        return self

    @model_validator(mode="after")
    def _seconds_fit(self) -> QuerySpec:
        if not self.shed.budget.in_seconds:
            return self
        if not self.enrich:
            raise ValueError(
                "shed.budget is of seconds, and seconds are what functions of enrich take; add enrich, or write e.g. "
                "budget: {fraction: 0.1}"
            )
        return self

    @model_validator(mode="after")
    def _limits_fit(self) -> QuerySpec:
        what = "a budget of seconds" if self.shed.budget.in_seconds else "shed.keep" if self.shed.keep else None
        if what is not None and (self.shed.limited or self.shed.budget.error is not None):
            raise ValueError(
                f"{what} does not go with errors that are planned by key (shed.tolerate, weights with error, "
                f"budget.error); remove one of them"
            )
        return self

    @model_validator(mode="after")
    def _strata_fit(self) -> QuerySpec:
        if not self.strata_columns:
            return self
        if self.join is not None:
            raise ValueError("shed.keep and join do not go together; remove one of them")
        whole = [m.name for m in self.measures if m.traits.state is not None and m.traits.state.values]
        if whole:
            what = "shed.keep" if self.shed.keep is not None else "cost_by"
            raise ValueError(
                f"measure {whole[0]!r} is a quantile, which is not estimated from rows of several rates; "
                f"remove {what}, or move the measure to a query of its own"
            )
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
        if self.join is not None and self.shed.limited:
            raise ValueError("shed.tolerate does not go with a join yet; remove it, or let the gate limit the errors")
        if self.join is not None and self.shed.budget.error is not None:
            raise ValueError("shed.budget.error does not go with a join yet; write a fraction, or rows")
        if self.join is not None and sorted(self.join.on) != sorted(self.group_by):
            raise ValueError("a join groups by the columns it joins on; write the same columns in join.on and group_by")
        return self

    @cached_property
    def timeline(self) -> Timeline:
        """The query's panes, windows and slots."""
        return Timeline(size=self.window.size, slide=self.window.slide or self.window.size, slot=self.schedule.every)

    @property
    def audit_salt(self) -> str:
        """What the choice of audited slots is drawn by: the members of a pool are audited together."""
        return self.name if self.shed.pool is None else f"pool {self.shed.pool}"

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
    def strata_columns(self) -> list[str]:
        """The columns beside the keys that rows are sampled by: those that costs go by, and whether a row is kept."""
        named = [name for entry in self.enrich for name in entry.cost_by] if self.shed.budget.in_seconds else []
        kept = [KEPT] if self.shed.keep is not None else []
        return [name for name in dict.fromkeys([*named, *kept]) if name not in self.group_by]

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
