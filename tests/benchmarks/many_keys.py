"""A dataset of very many keys held in memory: what the driver does for each key, without a JVM and without a scan."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from shedding.rates import Rates
from shedding.scan.read import Read
from shedding.scan.row_sums import row_sums
from shedding.spec.dataset import LayoutSpec
from shedding.spec.keyset import keyset_of
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec
from shedding.spec.times import UNITS
from shedding.stretches import Stretches

DAY = UNITS["day"]


def daily_query(policy: str = "posterior", fraction: float = 0.05, **more: Any) -> QuerySpec:
    """The mean of a value by key and day, its first two days audited."""
    return QuerySpec.model_validate({
        "name": "many_keys", "dataset": "many", "window": {"size": "1 day"}, "group_by": ["key"],
        "measures": [{"name": "mean", "agg": "avg", "column": "value"}, {"name": "number", "agg": "count"}],
        "schedule": {"every": "1 day"},
        "shed": {"policy": policy, "budget": {"fraction": fraction}, **more.pop("shed", {})},
        "audit": {"one_in": 1000}, "gate": {"mean_relative_error": 10.0}, **more,
    })  # fmt: skip


def day_of_rows(rows: int, keys: int, day: int) -> pa.Table:
    """A day's rows: half of them spread evenly over the keys, half by Zipf's popularity; values in cents."""
    rng = np.random.default_rng(day)
    even = rng.integers(0, keys, rows - rows // 2)
    key = np.concatenate([even, np.minimum((keys ** rng.random(rows // 2)).astype(np.int64), keys) - 1])
    names = pa.array(np.char.add("key-", np.arange(keys).astype(str)))
    level = 1000 * (1 + np.random.default_rng(0).gamma(2.0, 1.0, keys))
    return pa.table({
        "pane_start": np.full(rows, day * DAY), "key": names.take(pa.array(key)), "u": rng.random(rows),
        "value": np.round(level[key] * rng.lognormal(0, 0.4, rows)) / 100,
    })  # fmt: skip


class ManyKeys:
    """Stands in for `Side`: days of rows, counted when they are made."""

    def __init__(self, query: QuerySpec, days: Sequence[pa.Table]) -> None:
        self.keyset, self.days = keyset_of(query), list(days)
        self.dataset = SimpleNamespace(name=query.dataset, column_names=["key", "value"], layout=LayoutSpec())
        self.arrivals = SimpleNamespace(
            rows=lambda stretches: sum(d.num_rows for d in self._within(stretches)),
            version=None,
            first_event=0,
            last_event=len(self.days) * DAY - 1,
            occupied=tuple(n * DAY for n in range(len(self.days))),
        )
        self._counts = [_counted(day) for day in self.days]
        self.seconds = 0.0

    def _within(self, stretches: Stretches) -> list[pa.Table]:
        return [self.days[day] for day in _days(stretches) if 0 <= day < len(self.days)]

    def known(self, stretches: Stretches) -> bool:
        return True

    def counts(self, stretches: Stretches) -> pa.Table:
        """The rows by key of each day; as a reader of a Delta table hands them over, text as it stands there."""
        there = [day for day in _days(stretches) if 0 <= day < len(self.days)]
        return pa.concat_tables([self._counts[0].slice(0, 0), *(self._counts[day] for day in there)])

    def fingerprint(self, stretches: Stretches) -> str:
        return hashlib.blake2b(stretches.text.encode(), digest_size=8).hexdigest()

    def rows(self, stretches: Stretches) -> float:
        return float(self.arrivals.rows(stretches))

    def bytes(self, stretches: Stretches, deepest: int | None = None) -> int:
        return int(8 * self.rows(stretches))

    def types(self) -> dict[str, pa.DataType]:
        return {field.name: field.type for field in self.days[0].schema}

    def no_keys(self) -> pa.Table:
        return self.days[0].slice(0, 0).select(["key"])


class ManyKeysScans:
    """Stands in for `SlotScan`; `seconds` is what its own work took, which on Spark is the scan's."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def panes(
        self, side: ManyKeys, measures: Sequence[MeasureSpec], stretches: Stretches, legs: Sequence[Rates], exact: bool
    ) -> Read:
        """The rows of a day summed by key and class of legs."""
        begun = time.perf_counter()
        rows = side.days[stretches.start // DAY]
        mask = np.zeros(rows.num_rows, dtype=np.int64)
        u = rows.column("u").to_numpy()
        for bit, leg in enumerate(legs):
            mask |= np.where(u < _rates(leg, rows), 1 << bit, 0)
        rows = rows.append_column("mask", pa.array(mask))
        rows = rows if exact else rows.filter(pa.array(mask != 0))
        columns = {m.name: [m.column] for m in measures if m.column}
        found = row_sums(rows, ["pane_start", "key", "mask"], measures, columns)
        self.seconds += time.perf_counter() - begun
        return Read(found, side.bytes(stretches))


def _days(stretches: Stretches) -> list[int]:
    return [day for start, end in stretches for day in range(start // DAY, -(-end // DAY))]


def _rates(leg: Rates, rows: pa.Table) -> Any:
    if leg.constant is not None:
        return leg.constant
    by_key = pd.Series(leg.values, index=leg.keys.columns[0].to_pandas())
    return by_key.reindex(rows.column("key").to_pandas()).fillna(leg.unseen).to_numpy()


def _counted(day: pa.Table) -> pa.Table:
    counts = day.group_by(["pane_start", "key"]).aggregate([([], "count_all"), ("value", "count"), ("u", "min")])
    return counts.rename_columns(["pane_start", "key", "rows", "rows_value", "least_u"])
