"""A pool as its owner writes it: queries of one dataset that share a scan, a schedule and one budget of rows.

A query joins by one line of its own file, `shed: {pool: city, weight: 2}`; the pool's file names no query. What the
members have in common stands in the pool's file alone: policy, budget, schedule and audits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from shedding.fields import Name, Number, Spec, Tag, Whole, Words
from shedding.spec.problems import Problem, did_you_mean
from shedding.spec.query import QuerySchedule, QuerySpec
from shedding.spec.shed import BudgetedSpec
from shedding.spec.times import Duration

OWN = {"shed": ("pool", "weight", "weights"), "schedule": (), "audit": ("verify",)}
"""Of the keys that a pool decides those that a member may state itself."""
SINGLE = {"join": "a join reads two datasets", "enrich": "functions make its columns of the rows that it alone keeps"}
"""Keys of queries that cannot share a scan, and why."""


class PoolAudit(Spec):
    """Which slots all members compute exactly, too: one in `one_in`, the same slots for all, so one scan."""

    one_in: Whole = Field(default=10, ge=1)
    season: Duration | None = Field(default=None, description="period of the data, e.g. 1 day")


class FairnessSpec(Spec):
    """What no member gives up for the others' sake."""

    at_least_alone: bool = Field(
        default=True, description="no member errs more than with its weight's part of the budget for itself"
    )


class PoolSpec(Spec):
    """One pool, one file `pools/<name>.yaml`; the budget is of the union of the rows that its members keep."""

    name: Name
    description: str = ""
    owner: Words = "data-platform"
    tags: list[Tag] = Field(default_factory=list)
    dataset: Name
    schedule: QuerySchedule
    shed: BudgetedSpec
    audit: PoolAudit = PoolAudit()
    owners: dict[str, Number] = Field(default_factory=dict, description="weights by the queries' owner; others have 1")
    fairness: FairnessSpec = FairnessSpec()

    @model_validator(mode="after")
    def _budget_is_of_rows(self) -> PoolSpec:
        if self.shed.budget.fraction is None and self.shed.budget.rows is None:
            raise ValueError("the budget of a pool is of rows: write shed.budget: {fraction: 0.05}, or {rows: N}")
        return self


@dataclass(frozen=True)
class Pooled:
    """A pool and its members, by name: the valid queries that joined it. A member is listed without its pool."""

    spec: PoolSpec
    members: tuple[QuerySpec, ...]

    @cached_property
    def names(self) -> list[str]:
        """The members' names."""
        return [member.name for member in self.members]

    def queries(self) -> list[QuerySpec]:
        """The members, each with its pool."""
        return [member.in_pool(self) for member in self.members]

    def weight(self, member: QuerySpec) -> float:
        """How much the error of a member counts: its owner's weight times its own."""
        return self.spec.owners.get(member.owner, 1.0) * member.shed.weight


def pool_problems(file: Path, pool: PoolSpec, datasets: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with a pool that only its dataset and its numbers tell."""
    found = [
        Problem(file, f"owners.{owner}", f"is {weight:g}: write a number greater than 0")
        for owner, weight in pool.owners.items()
        if not weight > 0
    ]
    if pool.dataset not in datasets:
        there = sorted(datasets)
        found.append(
            Problem(
                file, "dataset",
                f"is {pool.dataset!r}, which has no valid datasets/{pool.dataset}.yaml"
                f"{did_you_mean(pool.dataset, there)}; there is: {', '.join(there) or 'none'}",
            )
        )  # fmt: skip
    return found


def resolved(
    file: Path, given: dict[str, Any], pools: Mapping[str, PoolSpec], broken: Mapping[str, Path]
) -> dict[str, Any] | list[Problem]:
    """A query's file with what its pool decides put in, or why it cannot be a member; others as they are.

    `broken` are the pools whose files are wrong, by name.
    """
    shed = given.get("shed")
    if not isinstance(shed, dict) or shed.get("pool") is None:
        return given
    name = shed["pool"]
    if not isinstance(name, str) or name not in pools:
        return [Problem(file, "shed.pool", f"is {name!r}, which {_missing(str(name), pools, broken)}")]
    pool = pools[name]
    problems = [*_taken(file, given, pool), *_unfit(file, given, pool)]
    if problems:
        return problems
    own = given.get("audit")
    return {
        **given,
        "schedule": pool.schedule.model_dump(),
        "shed": {**pool.shed.model_dump(exclude_unset=True), **shed},
        "audit": {**pool.audit.model_dump(), **(own if isinstance(own, dict) else {})},
    }


def _missing(name: str, pools: Mapping[str, PoolSpec], broken: Mapping[str, Path]) -> str:
    if name in broken:
        return f"pools/{broken[name].name} is wrong about; fix that file first: `sluice check` says how"
    there = sorted(pools)
    return f"has no pools/{name}.yaml{did_you_mean(name, there)}; there is: {', '.join(there) or 'none'}"


def _taken(file: Path, given: Mapping[str, Any], pool: PoolSpec) -> Iterator[Problem]:
    """Keys of a member that its pool decides for all."""
    for part, own in OWN.items():
        stated = given.get(part)
        if isinstance(stated, dict):
            yield from (
                Problem(
                    file, f"{part}.{key}",
                    f"is decided by pool {pool.name} for all its members; remove it here, or change it in "
                    f"pools/{pool.name}.yaml",
                )
                for key in stated
                if key not in own
            )  # fmt: skip


def _unfit(file: Path, given: Mapping[str, Any], pool: PoolSpec) -> Iterator[Problem]:
    """What keeps a query from sharing the pool's scan."""
    if given.get("dataset") != pool.dataset:
        yield Problem(
            file, "dataset",
            f"is {given.get('dataset')!r}, and pool {pool.name} reads {pool.dataset}; members read one dataset",
        )  # fmt: skip
    for key, why in SINGLE.items():
        if given.get(key):
            yield Problem(
                file, key, f"does not go with shed.pool: {why}; remove it, or give the query a budget of its own"
            )
