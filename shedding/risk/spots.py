"""Spot checks: a few keys of every slot are computed exactly, and tell how wrong the estimates of all keys are.

Which keys is a function of the slot's counts and its name alone, so that any order of backfill checks the same ones.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shedding.risk.claims import effective_keys

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LEAST_WORTH = 0.1
"""Least expected error that a key is chosen by, in median ones."""


@dataclass(frozen=True, slots=True)
class SpotCheck:
    """What the checked keys of a slot showed: their errors are `ratio` times their claims.

    `keys` were checked, worth `effective` equal ones; `error` is their mean error, weighted as all keys of the slot.
    """

    keys: int
    effective: float
    ratio: float
    error: float


def inclusion(cost: Floats, expected: Floats) -> Floats:
    """How likely a key is checked, relative to others: as its expected error over the rows that its check costs.

    So the rows of a check mend almost as much as rows of the sample would, and checked keys count about alike. An error
    that nobody expects (nan) is taken as the median one; no key is out of reach of a check.
    """
    known = np.isfinite(expected) & (expected > 0)
    usual = float(np.median(expected[known])) if known.any() else 1.0
    worth = np.maximum(np.where(known, expected, usual), LEAST_WORTH * usual)
    return np.asarray(worth / np.maximum(cost, 1.0))


def spot_keys(cost: Floats, likely: Floats, budget: float, salt: str) -> Flags:
    """Which keys to check within a budget of rows: by a hash, as `likely` relative to each other.

    `cost` are the rows that each key's check costs, in the order of the keys; what costs nothing is whole already.
    Guarantee: a function of the arguments alone, never more rows than the budget.
    """
    there = np.flatnonzero((cost > 0) & (cost <= budget))
    priority = _uniform(len(cost), salt)[there] / likely[there]
    order = there[np.argsort(priority, kind="stable")]
    taken = order[np.cumsum(cost[order]) <= budget]
    chosen = np.zeros(len(cost), dtype=np.bool_)
    chosen[taken] = True
    return chosen


def spot_check(likely: Floats, expected: Floats, errors: Floats) -> SpotCheck | None:
    """The check's outcome over the checked keys: how likely each was checked, its claimed and measured errors.

    Each key stands for those like it (weight 1 / likely). None where no key had anything to be wrong about.
    """
    usable = np.isfinite(expected) & np.isfinite(errors) & (expected > 0)
    weight = 1 / likely[usable]
    claimed = weight * expected[usable]
    if not claimed.sum() > 0:
        return None
    measured = float((weight * errors[usable]).sum())
    return SpotCheck(
        keys=int(usable.sum()),
        effective=effective_keys(claimed),
        ratio=measured / float(claimed.sum()),
        error=measured / float(weight.sum()),
    )


def _uniform(size: int, salt: str) -> Floats:
    """Numbers in (0, 1), one for each place, by splitmix64 from a seed that is a digest of the salt."""
    seed = int.from_bytes(hashlib.blake2b(salt.encode(), digest_size=8).digest(), "big")
    with np.errstate(over="ignore"):
        x = (np.arange(1, size + 1, dtype=np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return (np.asarray(x >> np.uint64(11), dtype=np.float64) + 0.5) * 2.0**-53
