"""One seed: a dataset ingested plain and ranked, a few queries of one shape, and every answer against the others.

The exact policy, published, against DuckDB; budgets of all rows against it, to the bit; files in rank order against
plain ones, also at a part of the rows; windows of one pane against the same windows of many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.aggregate import aggregate
from jobs.ingest import ingest
from jobs.run_slot import run_slot
from shedding.config import Settings
from shedding.errors import DataError
from shedding.spec import Catalog, load_catalog
from shedding.spec.timeline import slot_name
from shedding.spec.times import parse_instant
from shedding.tables import Table
from tests.fuzz.truth import Answer, answers, plain
from tests.fuzz.worlds import DATASET, SLOT, Shape, shape_of, world_of
from tests.small_specs import small_world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLICIES = ["uniform", "proportional", "cod", "optimal", "posterior"]
EXACT = {"policy": "exact", "budget": {"fraction": 1.0}}
UNTOLD = frozenset({"run_id", "revision", "published_at", "seconds"})


@dataclass
class Trial:
    """What a seed compared, and where answers differ."""

    seed: int
    pairs: int = 0
    wrong: list[str] = field(default_factory=list)

    def compare(self, what: str, mine: Any, wanted: Any) -> None:
        """Two answers, equal or a mismatch."""
        self.pairs += 1
        if repr(mine) != repr(wanted):
            self.wrong.append(f"seed {self.seed}, {what}: {mine!r}, not {wanted!r}")


def run_trial(spark: SparkSession, directory: Path, seed: int) -> Trial:
    """Compare everything that this seed makes."""
    rng = np.random.default_rng(seed)
    world, shape = world_of(rng), shape_of(rng)
    policy, fraction = str(rng.choice(POLICIES)), float(rng.choice([0.2, 0.6]))
    whole = {"name": "sum_n", "agg": "sum", "column": "n", "magnitude": shape.magnitude}
    finer = Shape(shape.group_by, shape.where, shape.size, shape.slide // 2, shape.magnitude)
    full, part = ({"policy": policy, "budget": {"fraction": share}} for share in (1.0, fraction))
    estimates = {"estimates": str(rng.choice(["plain", "shrunk"]))}
    queries = [
        shape.query("exact", shape.exact, EXACT),
        shape.query("wholes", [whole], EXACT),
        finer.query("finer", shape.exact, EXACT),
        shape.query("full", shape.estimated, full, **estimates),
        shape.query("part", shape.estimated, part, **estimates),
    ]
    layouts = {"plain": {}, "ranked": {"kind": "ranked", "keys": shape.group_by or ["code"], "pane": "1 hour"}}
    landing = directory / "landing"
    landing.mkdir(parents=True)
    pq.write_table(world.rows, landing / "rows.parquet")
    places: dict[str, tuple[Settings, Catalog]] = {}
    for name, layout in layouts.items():
        dataset = DATASET | ({"layout": layout} if layout else {})
        settings = small_world(directory / name, [dataset], queries).model_copy(update={"landing": landing})
        catalog = load_catalog(settings.specs)
        assert not catalog.problems, catalog.problems
        report = ingest(spark, settings, catalog, "facts")
        places[name] = settings, catalog
        assert report.kept == world.rows.num_rows, f"seed {seed}: {report}"
    trial = Trial(seed)
    slot = slot_of(world.start)
    _against_duckdb(trial, spark, *places["plain"], world, shape, slot)
    _whole_sums(trial, spark, *places["plain"], world, shape, slot, whole)
    _one_pane_or_many(trial, spark, *places["plain"], shape, slot)
    _budgets_of_all(trial, spark, places, world, shape, slot)
    return trial


def slot_of(start: int) -> int:
    """The third slot that has rows: the first that is not audited; the slots that its windows reach into are there."""
    return start // SLOT * SLOT + 2 * SLOT


def _against_duckdb(
    trial: Trial, spark: SparkSession, settings: Settings, catalog: Catalog, world: Any, shape: Shape, slot: int
) -> None:
    outcome = run_slot(lambda: spark, settings, catalog, "exact", slot, "run")
    truth = answers(world, shape, catalog.query("exact").timeline.windows(slot), shape.exact)
    trial.compare("published", str(outcome).partition(" (")[0], "published")
    if not outcome.published:
        trial.wrong.append(str(outcome))
        return
    found = _by_key(Table(settings.table("published", "exact")).read([("slot", "=", slot_name(slot))]), shape)
    _compare(trial, "exact against DuckDB", found, truth, shape.exact)


def _whole_sums(
    trial: Trial, spark: SparkSession, settings: Settings, catalog: Catalog, world: Any, shape: Shape, slot: int,
    whole: dict[str, Any],
) -> None:  # fmt: skip
    """Sums of whole numbers are exact, or refused where no double is the sum."""
    truth = answers(world, shape, catalog.query("wholes").timeline.windows(slot), [whole])
    sums = [row["sum_n"] for row in truth.values() if row["sum_n"] is not None]
    beyond = [total for total in sums if int(float(total)) != total]
    try:
        aggregate(spark, settings, catalog, "wholes", slot, "run")
    except DataError as error:
        trial.compare("a refused sum", any(str(total) in str(error) for total in beyond), True)
        return
    trial.compare("sums that no double is", beyond, [])
    found = _by_key(_results(settings, "wholes", slot, "exact"), shape)
    _compare(trial, "whole sums", found, truth, [whole])


def _one_pane_or_many(
    trial: Trial, spark: SparkSession, settings: Settings, catalog: Catalog, shape: Shape, slot: int
) -> None:
    aggregate(spark, settings, catalog, "finer", slot, "run")
    many = _by_key(_results(settings, "finer", slot, "exact"), shape)
    one = _by_key(_results(settings, "exact", slot, "exact"), shape)
    starts = {start for start, _ in catalog.query("exact").timeline.windows(slot)}
    shared = {key: row for key, row in many.items() if key[0] in starts}
    _compare(trial, "many panes against one", shared, one, shape.exact)


def _budgets_of_all(
    trial: Trial, spark: SparkSession, places: dict[str, tuple[Settings, Catalog]], world: Any, shape: Shape, slot: int
) -> None:
    rows: dict[tuple[str, str], pa.Table] = {}
    for name, (settings, catalog) in places.items():
        for query in ("full", "part"):
            aggregate(spark, settings, catalog, query, slot, "run")
            leg = catalog.query(query).shed.policy
            rows[name, query] = _results(settings, query, slot, leg)
    settings, catalog = places["plain"]
    truth = answers(world, shape, catalog.query("full").timeline.windows(slot), shape.estimated)
    _compare(trial, "a budget of all rows", _by_key(rows["plain", "full"], shape), truth, shape.estimated)
    exact = _by_key(_results(settings, "exact", slot, "exact"), shape)
    _compare(trial, "a budget of all rows against exact", _by_key(rows["plain", "full"], shape), exact, shape.estimated)
    for query in ("full", "part"):
        both = [rows[name, query].drop_columns(sorted(UNTOLD & set(rows[name, query].column_names))) for name in places]
        trial.compare(f"ranked against plain, {query}", *(table.to_pylist() for table in both[::-1]))


def _compare(trial: Trial, what: str, found: Answer, truth: Answer, measures: Sequence[dict[str, Any]]) -> None:
    trial.compare(f"{what}: keys", sorted(map(repr, found)), sorted(map(repr, truth)))
    for key in sorted(set(found) & set(truth), key=repr):
        for measure in measures:
            name = measure["name"]
            mine, wanted = found[key].get(name), truth[key][name]
            if isinstance(mine, float) and isinstance(wanted, int):
                wanted = float(wanted)
            trial.compare(f"{what}: {name} of {key}", mine, wanted)


def _results(settings: Settings, query: str, slot: int, leg: str) -> pa.Table:
    rows = Table(settings.table("results", query)).read([("slot", "=", slot_name(slot)), ("leg", "=", leg)])
    keys = [name for name in rows.column_names if name.startswith("k_") or name in ("odd", "price", "slight")]
    return rows.take(pc.sort_indices(rows, [(name, "ascending") for name in ["window_start", *keys]]))


def _by_key(rows: pa.Table, shape: Shape) -> Answer:
    return {
        (parse_instant(row["window_start"]), *(plain(row[key]) for key in shape.group_by)): row
        for row in rows.to_pylist()
    }
