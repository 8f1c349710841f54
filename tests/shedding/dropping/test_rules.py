"""Table 2 of WinDrop, corrected, against enumeration, against keep sets and against the paper's own mechanism."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from shedding.dropping.calendar import Calendar
from shedding.dropping.keep import Stage, needed, raw_stretches
from shedding.dropping.rules import (
    Unit,
    batch_advice,
    cycle,
    drop_problem,
    fan_out,
    free_share,
    largest_drop,
    least_freeing_batch,
    needed_drop,
    pipeline,
    window_count,
)
from shedding.stretches import Stretches
from tests.oracles.window_drop import coin_per_batch


def test_the_papers_arrangements() -> None:
    first, second, parent = Unit(3, 2, 6), Unit(3, 3, 6), Unit(4, 1)
    assert pipeline(first, second) == Unit(5, 3, 6)
    common = fan_out([first, second])
    assert (common.size, common.slide) == (7, 6)
    one = pipeline(parent, common)
    other = fan_out([pipeline(parent, first), pipeline(parent, second)])
    assert one == other == Unit(10, 6, 2)


def test_the_tick_is_derived() -> None:
    assert pipeline(Unit(10, 10), Unit(100, 100), tick=1).size == 109
    assert pipeline(Unit(10, 10), Unit(100, 100)).size == 100


def test_a_batch_of_nothing_says_that_no_common_unit_is_legal() -> None:
    assert fan_out([Unit(10, 10, 1), Unit(60, 60, 5)]).batch == 0


def random_unit(dice: random.Random) -> Unit:
    slide = dice.randint(1, 8)
    return Unit(slide + dice.randint(0, 12), slide, dice.randint(1, 12))


@pytest.mark.parametrize("seed", range(20))
def test_a_kept_window_of_a_pipeline_needs_no_more_than_its_unit(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(50):
        up, down = random_unit(dice), random_unit(dice)
        unit, kept = pipeline(up, down), [down.slide * n for n in range(8) if dice.random() < 0.5]
        stages = {"up": Stage(up.size, up.slide), "down": Stage(down.size, down.slide, "up")}
        stretches = raw_stretches(stages, needed(stages, {"down": kept}))
        assert Stage(unit.size, unit.slide).covered(kept).covers(stretches)


@pytest.mark.parametrize("seed", range(20))
def test_siblings_need_no_more_than_their_common_unit(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(50):
        units = [random_unit(dice) for _ in range(dice.randint(2, 3))]
        common = fan_out(units)
        kept = [common.slide * n for n in range(6) if dice.random() < 0.5]
        stages = {str(i): Stage(unit.size, unit.slide) for i, unit in enumerate(units)}
        tiles = Stretches.of(*((start, start + common.slide) for start in kept))
        starts = {name: stage.starts_in(tiles) for name, stage in stages.items()}
        assert Stage(common.size, common.slide).covered(kept).covers(raw_stretches(stages, starts))


@pytest.mark.parametrize("size", range(1, 13))
def test_the_window_count_is_that_of_enumeration(size: int) -> None:
    for slide in range(1, 13):
        for instant in range(4 * size + 4 * slide):
            windows = sum(start <= instant < start + size for start in range(0, instant + 1, slide))
            assert window_count(instant, size, slide) == windows


SETTINGS = [
    (3, 1, 10, 0.3), (30, 10, 5, 0.4), (100, 20, 10, 0.3), (10, 10, 4, 0.5), (6, 2, 3, 0.2), (5, 2, 6, 0.4),
    (12, 4, 8, 0.25), (7, 7, 1, 0.3), (20, 5, 12, 0.5),
]  # fmt: skip


def free_of(kept: list[bool], size: int, slide: int) -> float:
    """The share of instants that lie in dropped windows only, by marking them one by one."""
    length = len(kept) * slide
    needs = np.zeros(length + size, dtype=bool)
    for number in np.flatnonzero(kept):
        needs[number * slide : number * slide + size] = True
    return 1 - float(needs[:length].mean())


@pytest.mark.parametrize(("size", "slide", "batch", "drop"), SETTINGS)
def test_the_free_share_is_that_of_an_enumerated_cycle(size: int, slide: int, batch: int, drop: float) -> None:
    before = size // slide + 1
    kept = Calendar(drop, batch, "free").kept(np.arange(-before, cycle(batch)))
    dropped = ~kept[before:]
    whole = [True] * before + kept[before:].tolist()  # what earlier cycles free is not this one's
    free = free_of(whole, size, slide) * len(whole)
    assert free / cycle(batch) == pytest.approx(free_share(Unit(size, slide, batch), float(dropped.mean())), abs=1e-12)


@pytest.mark.parametrize(("size", "slide", "batch", "drop"), SETTINGS)
def test_the_papers_coin_frees_the_corrected_share(size: int, slide: int, batch: int, drop: float) -> None:
    kept = list(coin_per_batch(400_000, drop, batch, seed=size))
    free = free_of(kept, size, slide)
    assert free == pytest.approx(free_share(Unit(size, slide, batch), drop), abs=0.01)


def test_the_printed_share_is_right_only_for_tumbling_windows() -> None:
    def printed(size: int, slide: int, batch: int, drop: float) -> float:
        return drop * ((batch + 1) * slide - size) / ((batch - 1) * slide + size)

    for size, slide, batch, drop in SETTINGS:
        corrected = free_share(Unit(size, slide, batch), drop)
        assert (printed(size, slide, batch, drop) == pytest.approx(corrected)) == (size == slide)


def test_share_and_batch_of_the_paper_hold_together_only_up_to_a_limit() -> None:
    kept = np.array(list(coin_per_batch(8_000, 0.8, 2, seed=1)))
    assert (~kept).mean() == pytest.approx(2 / 3, abs=0.002)
    assert largest_drop(2) < 2 / 3


def test_gaps_between_windows_are_no_rows_that_a_drop_frees() -> None:
    assert free_share(Unit(3, 5, 2), 0.4) == 0.4


@pytest.mark.parametrize(("excess", "drops"), [(0.25, (0.6, 0.3, 0.2)), (0.5, (1.0, 0.5, 1 / 3))])
def test_the_drops_of_figure_10(excess: float, drops: tuple[float, ...]) -> None:
    behind, middle, first = (
        needed_drop(2, 0, 1, excess),
        needed_drop(1, 1, 1, excess),
        needed_drop(1, 1, 1, excess, 1.0),
    )
    assert (behind, middle, first) == pytest.approx(drops)


def test_the_drops_of_figure_12() -> None:
    early = {slide: free_share(Unit(100, slide, 10), 1.0) for slide in (1, 100)}
    assert needed_drop(1, 0, 1, 0.25, early[100]) == pytest.approx(0.2)
    assert needed_drop(1, 0, 1, 0.25, early[1]) == pytest.approx(0.4)


@pytest.mark.parametrize("excess", [0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 1.0])
@pytest.mark.parametrize("pair", [(10, 10), (10, 20), (20, 30), (50, 100), (100, 100)])
def test_an_early_common_drop_loses_least(excess: float, pair: tuple[int, int]) -> None:
    common = fan_out([Unit(100, pair[0], 12), Unit(100, pair[1], 12)])
    shared = needed_drop(1, 2, 2, excess, free_share(common, 1.0))
    split, behind = needed_drop(1, 2, 2, excess), needed_drop(3, 0, 2, excess)
    assert shared <= split <= behind


def test_the_needed_drop_rises_with_the_slide_and_falls_once_rows_become_free() -> None:
    slides = [1, 2, 5, 10, 20, 25, 50, 100]
    needs = [needed_drop(5, 0, 5 / slide, 0.25, free_share(Unit(100, slide, 10), 1.0)) for slide in slides]
    top = int(np.argmax(needs))
    assert slides[top] <= 100 / 10
    assert needs[: top + 1] == sorted(needs[: top + 1])
    assert needs[top:] == sorted(needs[top:], reverse=True)


def test_nothing_to_save_cannot_be_saved() -> None:
    assert needed_drop(1, 0, 0, 0.5) == math.inf
    assert needed_drop(1, 0, 0, 0.0) == 0


def test_a_batch_says_what_it_buys() -> None:
    minutes = Unit(30, 10, 2)
    assert least_freeing_batch(minutes) == 3
    assert "no row becomes free" in batch_advice(minutes, 0.4)
    assert "batch 3 frees 33% of drop, batch 5 frees 60% of drop" in batch_advice(minutes, 0.4)
    assert batch_advice(Unit(30, 10, 5), 0.4).startswith("24% of the rows")


def test_a_legal_share_has_no_problem() -> None:
    assert drop_problem(1, 0.49) is None
    assert drop_problem(2, 0.9) is not None
