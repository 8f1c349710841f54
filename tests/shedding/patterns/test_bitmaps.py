"""Bitmaps find every frequent item set, count it exactly, and count a nested sample at any rate."""

from __future__ import annotations

import gzip
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from shedding.patterns.bitmaps import Bitmaps


def bitmaps_of(baskets: list[list[int]], u: np.ndarray, least: int = 1) -> Bitmaps:
    transaction = np.repeat(np.arange(len(baskets)), [len(basket) for basket in baskets])
    return Bitmaps.of(transaction, np.array([item for basket in baskets for item in basket]), u, least)


def random_baskets(seed: int, size: int = 203) -> tuple[list[list[int]], np.ndarray]:
    rng = np.random.default_rng(seed)
    baskets = [rng.integers(0, 9, rng.integers(1, 8)).tolist() for _ in range(size)]
    return baskets, rng.random(size)


def counted(baskets: list[list[int]], longest: int) -> Counter[tuple[int, ...]]:
    found = Counter[tuple[int, ...]]()
    for basket in baskets:
        for length in range(1, longest + 1):
            found.update(combinations(sorted(set(basket)), length))
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("least", [1, 12, 60])
def test_every_frequent_set_is_found_and_counted_as_by_hand(seed: int, least: int) -> None:
    baskets, u = random_baskets(seed)
    wanted = {pattern: count for pattern, count in counted(baskets, 4).items() if count >= least}
    assert bitmaps_of(baskets, u, least).frequent(least, 4) == wanted


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.3, 0.5, 0.97, 1.0])
def test_a_rate_counts_the_transactions_of_least_u_and_no_other(rate: float) -> None:
    baskets, u = random_baskets(7)
    patterns = [(1,), (2, 5), (0, 3, 8), (1, 99)]
    held, looked = bitmaps_of(baskets, u).counts(patterns, np.full(len(patterns), rate))
    first = [baskets[at] for at in np.argsort(u)[: looked[0]]]
    assert held.tolist() == [counted(first, 3)[pattern] for pattern in patterns]
    assert (looked == np.ceil(rate * len(baskets))).all()


def test_neither_the_order_of_the_pairs_nor_the_other_rates_change_a_count() -> None:
    baskets, u = random_baskets(3)
    transaction = np.repeat(np.arange(len(baskets)), [len(basket) for basket in baskets])
    item = np.array([one for basket in baskets for one in basket])
    order = np.random.default_rng(1).permutation(len(item))
    patterns = sorted(counted(baskets, 2))
    rates = np.random.default_rng(2).random(len(patterns))
    together = Bitmaps.of(transaction, item, u).counts(patterns, rates)[0]
    mixed = Bitmaps.of(transaction[order], item[order], u)
    alone = [int(mixed.counts([one], np.array([rate]))[0][0]) for one, rate in zip(patterns, rates, strict=True)]
    assert together.tolist() == alone


@pytest.mark.data
@pytest.mark.parametrize(("window", "patterns"), [(0, 392), (1, 421)])
def test_kosaraks_windows_have_the_papers_number_of_patterns(data_dir: Path, window: int, patterns: int) -> None:
    """10,000 transactions at a support of 1 %; Mozafari and Zaniolo, Sec. VIII: "almost 400"."""
    with gzip.open(data_dir / "kosarak_tx000001-024000.dat.gz", "rt") as lines:
        baskets = [[int(item) for item in line.split()] for line in lines][window * 10_000 : (window + 1) * 10_000]
    u = np.random.default_rng(window).random(len(baskets))
    assert len(bitmaps_of(baskets, u, 100).frequent(100, longest=20)) == patterns
