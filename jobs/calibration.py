"""What legs cost on this machine: days of made rows are computed, exactly and as samples, and the seconds fitted."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shedding.config import Settings
from shedding.costs import CostLine, Costs
from shedding.spec.shed import EXACT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from shedding.ingest.made_days import MadeDays

AUDITS = 2
"""Days that a sample learns from; the days after them are timed, and the quickest counts."""
SAMPLES = (0.05, 0.2)


@dataclass(frozen=True, slots=True)
class Timed:
    """A slot's work, rows read and kept and groups, and the seconds that it took."""

    work: tuple[float, float, float]
    seconds: float


def calibrate(
    spark: SparkSession, settings: Settings, rows: int, keys: int, tell: Callable[[str], None] = lambda _: None
) -> Costs:
    """The coefficients of this machine, from slots of up to so many rows and keys; the warehouse is not touched."""
    from shedding.planning.cost_model import fitted

    found: dict[str, CostLine] = {}
    exact: list[Timed] = []
    for layout in ("plain", "ranked"):
        sampled: list[Timed] = []
        for made in _sizes(rows, keys, layout):
            tell(f"{layout} files, {made.rows} rows a day of {made.keys} keys")
            for policy, timed in _slots(spark, settings, made):
                (exact if policy == EXACT else sampled).append(timed)
        found[layout] = fitted([(one.work, one.seconds) for one in sampled])
    found[EXACT] = fitted([(one.work, one.seconds) for one in exact])
    return Costs(**found, worth=settings.costs.worth)


def _sizes(rows: int, keys: int, layout: str) -> Iterator[MadeDays]:
    from shedding.ingest.made_days import MadeDays

    base = MadeDays(rows=rows // 10, keys=1000, days=AUDITS + 2, layout=layout)
    return iter([base, replace(base, rows=rows), replace(base, rows=rows, keys=keys)])


def _slots(spark: SparkSession, settings: Settings, made: MadeDays) -> Iterator[tuple[str, Timed]]:
    """The timed slots of some days: exactly, where files are plain, and at each sample's budget."""
    with tempfile.TemporaryDirectory() as directory:
        own = settings.model_copy(update={"warehouse": f"{directory}/warehouse"})
        made.write(spark, own)
        if made.layout == "plain":
            yield EXACT, _timed(spark, own, made, EXACT, 1.0)
        for fraction in SAMPLES:
            yield "posterior", _timed(spark, own, made, "posterior", fraction)


def _timed(spark: SparkSession, settings: Settings, made: MadeDays, policy: str, fraction: float) -> Timed:
    from shedding.answers.slot import answer_sides
    from shedding.ingest.made_days import DAY
    from shedding.ingest.side import sides_of
    from shedding.planning.cost_model import predicted
    from shedding.scan.spark_scans import SlotScan
    from shedding.stretches import Stretches

    query = made.query(f"{policy}_{round(100 * fraction)}", policy, fraction)
    seconds = []
    for day in range(0 if policy != EXACT else AUDITS, made.days):
        sides = sides_of(settings, made.catalog(query), query)
        answer = answer_sides(settings, query, day * DAY, sides, SlotScan(spark, settings, query))
        answer.write(settings, "calibration", 0.0)
        seconds.append(sum(answer.watch.seconds.values()))
    counts = sides[0].counts(Stretches.of((day * DAY, (day + 1) * DAY)))
    assert counts is not None
    groups = predicted(query, sides[0], made.rows, counts.num_rows, settings.costs).groups
    kept = made.rows * fraction
    read = made.rows if made.layout == "plain" else kept
    return Timed((read, 0.0 if policy == EXACT else kept, groups), min(seconds[-2:]))
