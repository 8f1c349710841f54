"""Pools: a member has what its pool decides, and a wrong file harms its own members or leaves the pool to others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from shedding.spec import Catalog, load_catalog
from shedding.spec.fingerprints import spec_fingerprint
from tests.small_specs import DATASET, QUERY, write_specs

CITY = """
name: city
dataset: trips
schedule: {every: 2 hours}
shed: {policy: optimal, budget: {fraction: 0.05}, compare: [uniform]}
audit: {one_in: 4}
owners: {ops: 3}
"""


def member(name: str, **changes: Any) -> dict[str, Any]:
    content = {**yaml.safe_load(QUERY), "name": name, "shed": {"pool": "city"}}
    del content["schedule"]
    return {key: value for key, value in (content | changes).items() if value is not None}


def catalog_of(tmp_path: Path, *queries: Any, pool: str = CITY) -> Catalog:
    return load_catalog(write_specs(tmp_path / "specs", [DATASET], queries or [QUERY], [pool]))


def problems(catalog: Catalog) -> list[str]:
    return [str(problem) for problem in catalog.problems]


def test_a_member_has_policy_budget_schedule_and_audits_of_its_pool(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path, member("fares"), member("rare", owner="ops", shed={"pool": "city", "weight": 2}))
    assert problems(catalog) == []
    fares, rare = catalog.query("fares"), catalog.query("rare")
    assert (fares.shed.policy, fares.shed.budget.fraction, fares.shed.compare) == ("optimal", 0.05, ["uniform"])
    assert (fares.timeline.slot, fares.audit.one_in) == (2 * 3_600_000_000, 4)
    assert fares.audit_salt == rare.audit_salt == "pool city"
    pool = catalog.pool("city")
    assert pool.names == ["fares", "rare"]
    assert fares.pool is not None
    assert fares.pool == rare.pool == pool
    assert [pool.weight(one) for one in pool.members] == [1.0, 6.0]


def test_other_queries_are_in_no_pool(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path, QUERY)
    assert (catalog.query("fares").pool, catalog.query("fares").audit_salt) == (None, "fares")
    assert catalog.pool("city").members == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schedule": {"every": "1 hour"}}, "schedule.every: is decided by pool city"),
        ({"shed": {"pool": "city", "policy": "cod"}}, "shed.policy: is decided by pool city"),
        ({"shed": {"pool": "city", "budget": {"rows": 5}}}, "or change it in pools/city.yaml"),
        ({"audit": {"one_in": 3}}, "audit.one_in: is decided by pool city"),
        ({"shed": {"pool": "citi"}}, "has no pools/citi.yaml (did you mean city?)"),
        ({"shed": {"pool": 7}}, "shed.pool: is 7"),
        ({"shed": {"pool": "city", "weight": 0}}, "shed.weight: is 0: write a number greater than 0"),
        ({"shed": {"policy": "uniform", "budget": {"rows": 5}, "weight": 2}, "schedule": {"every": "1 hour"}},
         "add pool: NAME"),
        ({"dataset": "others"}, "dataset: is 'others', and pool city reads trips"),
        ({"join": {"dataset": "trips", "on": ["route"]}}, "join: does not go with shed.pool"),
        ({"shed": {"pool": "city", "weights": {"keys": [{"route": "a", "weight": 1, "error": 0.1}]}}},
         "error limits and pool do not go together yet"),
        ({"shed": {"pool": "city", "tolerate": {"error": 0.1}}}, "shed.tolerate: is decided by pool city"),
        ({"window": {"size": "90 minutes"}}, "schedule.every 2 hours is no multiple of window.slide 90 minutes"),
    ],
)  # fmt: skip
def test_a_member_that_contradicts_its_pool_is_told_so_and_leaves_it_to_the_others(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    catalog = catalog_of(tmp_path, member("fares", **changes), member("good"))
    assert len(problems(catalog)) == 1
    assert message in problems(catalog)[0]
    assert problems(catalog)[0].startswith("queries/fares.yaml")
    assert catalog.pool("city").names == ["good"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fraction: 0.05", "fraction: 5", "pools/city.yaml: shed.budget.fraction: is 5"),
        ("fraction: 0.05", "error: 0.05", "the budget of a pool is of rows"),
        ("dataset: trips", "dataset: trip", "(did you mean trips?)"),
        ("one_in: 4", "drift_limit: 0.1", "audit.drift_limit: unknown key"),
        ("ops: 3", "ops: 0", "owners.ops: is 0: write a number greater than 0"),
        ("name: city", "name: town", "rename the file to town.yaml"),
    ],
)
def test_a_broken_pool_invalidates_its_members_and_nobody_else(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    specs = write_specs(tmp_path / "specs", [DATASET], [QUERY, member("rare")], [CITY])
    (specs / "pools" / "city.yaml").write_text(CITY.replace(old, new))
    catalog = load_catalog(specs)
    assert any(message in problem for problem in problems(catalog))
    assert any(p.startswith("queries/rare.yaml: shed.pool:") and "fix that file first" in p for p in problems(catalog))
    assert (list(catalog.queries), list(catalog.pools)) == (["fares"], [])


def fingerprints(tmp_path: Path, place: str, *others: Any, pool: str = CITY) -> tuple[str, str]:
    query = catalog_of(tmp_path / place, member("fares"), *others, pool=pool).query("fares")
    return spec_fingerprint(query, "optimal"), spec_fingerprint(query, "exact")


def test_a_shed_leg_is_of_the_pool_and_of_what_its_members_ask_for_and_the_exact_leg_is_not(tmp_path: Path) -> None:
    base = fingerprints(tmp_path, "base", member("rare"))
    others = {
        "alone": fingerprints(tmp_path, "alone"),
        "weight": fingerprints(tmp_path, "weight", member("rare", shed={"pool": "city", "weight": 2})),
        "keys": fingerprints(tmp_path, "keys", member("rare", group_by=[])),
        "owner": fingerprints(tmp_path, "owner", member("rare", owner="ops")),
        "fair": fingerprints(
            tmp_path, "fair", member("rare"), pool=CITY + "fairness: {at_least_alone: false}\n"
        ),
    }  # fmt: skip
    assert all(found[0] != base[0] for found in others.values())
    assert {found[1] for found in others.values()} == {base[1]}
    same = [fingerprints(tmp_path, "words", member("rare", description="other words", gate={"coverage": 0.5}))]
    assert same == [base]
