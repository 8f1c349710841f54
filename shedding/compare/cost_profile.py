"""What a query's calls cost, by class of cost, and what budgets of seconds buy: from the sketches of its audits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shedding import warehouse
from shedding.allocation.water_filling import bounded_rates
from shedding.config import Settings
from shedding.enrich.store import Enriched
from shedding.errors import NotReadyError
from shedding.spec.query import QuerySpec
from shedding.spec.times import parse_instant

Floats = npt.NDArray[np.float64]

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Parts of what all calls of a slot take, as budgets."""
_SECOND = 1e9


@dataclass(frozen=True, slots=True)
class CostClass:
    """The calls that took from `least` seconds to less than twice that."""

    least: float
    calls: int
    share_of_calls: float
    share_of_seconds: float


@dataclass(frozen=True, slots=True)
class Purchase:
    """What a budget buys a slot like the measured ones.

    `blind` is the share of rows that one rate for all keeps, `aware` that of rates in proportion to 1 / sqrt(cost); and
    `error` the standard error of a mean by the second over that by the first, where spreads do not go with costs.
    """

    seconds: float
    blind: float
    aware: float
    error: float


@dataclass(frozen=True, slots=True)
class CostProfile:
    """Measured calls of whole slots: how many, what they took, and by class."""

    calls: int
    slots: int
    seconds_a_slot: float
    mean: float
    median: float
    most: float
    failed: int
    classes: tuple[CostClass, ...]
    purchases: tuple[Purchase, ...]


def cost_profile(settings: Settings, query: QuerySpec) -> CostProfile:
    """Of the slots of which every row was called for: the query's audits. NotReadyError where none was computed."""
    calls, slots = _audited_calls(settings, query)
    if not calls.num_rows:
        raise NotReadyError(
            f"{query.name} has measured no calls of a whole slot yet; run its first slot: sluice run {query.name} "
            f"--from ... --to ..."
        )
    seconds = np.maximum(calls["cost_ns"].to_numpy().astype(np.float64), 1.0) / _SECOND
    total = float(seconds.sum()) / slots
    return CostProfile(
        calls=seconds.size,
        slots=slots,
        seconds_a_slot=total,
        mean=float(seconds.mean()),
        median=float(np.median(seconds)),
        most=float(seconds.max()),
        failed=int(pc.sum(pc.is_valid(calls["error"])).as_py() or 0),
        classes=tuple(_classes(seconds)),
        purchases=tuple(_purchase(seconds, share, total) for share in SHARES),
    )


def _audited_calls(settings: Settings, query: QuerySpec) -> tuple[pa.Table, int]:
    table = warehouse.runs(settings, query.name)
    if not table.exists():
        return pa.table({"cost_ns": pa.array([], pa.int64()), "error": pa.array([], pa.string())}), 0
    runs = table.read([("audited", "=", True)], ["slot"])
    slots = sorted({parse_instant(name) for name in runs["slot"].to_pylist()})
    parts = [Enriched(settings, query.name, entry).read(slots) for entry in query.enrich]
    return pa.concat_tables([part.select(["cost_ns", "error"]) for part in parts]), len(slots)


def _classes(seconds: Floats) -> list[CostClass]:
    level = np.floor(np.log2(seconds)).astype(np.int64)
    found = []
    for one in np.unique(level):
        inside = level == one
        found.append(
            CostClass(
                least=2.0 ** float(one),
                calls=int(inside.sum()),
                share_of_calls=float(inside.mean()),
                share_of_seconds=float(seconds[inside].sum() / seconds.sum()),
            )
        )
    return found


def _purchase(seconds: Floats, share: float, total: float) -> Purchase:
    rates = bounded_rates(1 / np.sqrt(seconds), seconds, share * float(seconds.sum()), np.zeros(seconds.size))
    blind = 1 / share - 1
    error = float(np.sqrt(np.mean(1 / rates - 1) / blind)) if blind > 0 else 1.0
    return Purchase(share * total, share, float(rates.mean()), error)
