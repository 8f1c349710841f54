"""Keep sets of queries on queries: the same windows as Table 3's marks, whole always, circles refused."""

from __future__ import annotations

import math
import random

import pytest

from shedding.dropping.keep import Stage, complete, in_order, needed, raw_stretches
from shedding.dropping.rules import Unit, pipeline
from shedding.errors import SpecError
from shedding.stretches import Stretches
from tests.oracles.window_drop import Aggregate, marked

LENGTH = 600


def random_pipeline(dice: random.Random, aligned: bool) -> list[Unit]:
    """Depth 1 to 3; aligned: windows of a stage begin and end where windows of its source begin."""
    units, step = [], 1
    for _ in range(dice.randint(1, 3)):
        slide = step * dice.randint(1, 3) if aligned else dice.randint(1, 5)
        units.append(Unit(slide + (step if aligned else 1) * dice.randint(0, 4), slide))
        step = slide
    return units


def chain(units: list[Unit]) -> dict[str, Stage]:
    return {str(i): Stage(unit.size, unit.slide, str(i - 1) if i else None) for i, unit in enumerate(units)}


def run_table_3(units: list[Unit], kept: list[int], printed: bool = False) -> tuple[list[Aggregate], set[int]]:
    """The aggregates after a stream that a WinDrop marked, and the raw tuples that it let through."""
    ticks, behind = [], units[-1]
    for unit in reversed(units[:-1]):
        ticks.append(math.gcd(unit.slide, behind.slide, behind.size))
        behind = pipeline(unit, behind)
    marks, retained = marked(LENGTH, behind.size, behind.slide, kept)
    aggregates = [Aggregate(u.size, u.slide, t, printed) for u, t in zip(units, [*reversed(ticks), 1], strict=True)]
    for aggregate in aggregates:
        marks = aggregate.run(marks, LENGTH)
    return aggregates, retained


def kept_of(dice: random.Random, unit: Unit) -> list[int]:
    return [n * unit.slide for n in range(1, 10) if dice.random() < 0.4]


@pytest.mark.parametrize("seed", range(25))
def test_the_marks_of_the_corrected_table_3_open_the_windows_of_the_keep_sets(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(20):
        units = random_pipeline(dice, aligned=True)
        kept = kept_of(dice, units[-1])
        wanted = needed(chain(units), {str(len(units) - 1): kept})
        aggregates, retained = run_table_3(units, kept)
        assert [aggregate.opened for aggregate in aggregates] == [wanted[str(i)] for i in range(len(units))]
        assert {t for start, end in raw_stretches(chain(units), wanted) for t in range(start, end)} <= retained


@pytest.mark.parametrize("seed", range(25))
def test_keep_sets_are_never_wider_than_the_marks(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(20):
        units = random_pipeline(dice, aligned=False)
        kept = kept_of(dice, units[-1])
        wanted = needed(chain(units), {str(len(units) - 1): kept})
        aggregates, retained = run_table_3(units, kept)
        assert all(set(wanted[str(i)]) <= set(aggregate.opened) for i, aggregate in enumerate(aggregates))
        assert {t for start, end in raw_stretches(chain(units), wanted) for t in range(start, end)} <= retained


def test_table_3_as_printed_opens_windows_that_lack_rows() -> None:
    dice, units = random.Random(1), [Unit(3, 2), Unit(3, 3)]
    kept = [3 * n for n in range(1, 50) if dice.random() < 0.35]
    for printed in (False, True):
        (first, last), retained = run_table_3(units, kept, printed)
        partial = [start for start in first.opened if not retained.issuperset(range(start, start + 3))]
        assert bool(partial) == printed
        assert (first.opened == needed(chain(units), {"1": kept})["0"]) != printed
        assert set(kept) <= set(last.opened)


def test_a_stage_computes_what_its_readers_and_its_own_consumers_need() -> None:
    stages = {"half": Stage(30, 30), "day": Stage(120, 120, "half"), "peak": Stage(60, 60, "half")}
    wanted = needed(stages, {"day": [120], "peak": [300], "half": [0]})
    assert wanted["half"] == [0, 120, 150, 180, 210, 300, 330]
    assert raw_stretches(stages, wanted) == Stretches.of((0, 30), (120, 240), (300, 360))


def test_a_window_never_stands_on_part_of_its_source() -> None:
    half, day = Stage(30, 30), Stage(60, 60, "half")
    assert complete(day, half, [0, 60, 120], [0, 30, 60, 120, 150]) == {0: None, 60: 90, 120: None}


def test_every_stage_comes_after_what_it_reads() -> None:
    stages = {"c": Stage(1, 1, "b"), "b": Stage(1, 1, "z"), "z": Stage(1, 1), "a": Stage(1, 1, "z")}
    order = in_order(stages)
    assert sorted(order) == ["a", "b", "c", "z"]
    assert order.index("z") < order.index("b") < order.index("c")


def test_a_circle_is_refused_with_its_path() -> None:
    with pytest.raises(SpecError, match="a -> b -> c -> a"):
        in_order({"a": Stage(1, 1, "b"), "b": Stage(1, 1, "c"), "c": Stage(1, 1, "a")})


def test_a_source_that_does_not_exist_is_named() -> None:
    with pytest.raises(SpecError, match="reads the query nobody"):
        in_order({"a": Stage(1, 1, "nobody")})
