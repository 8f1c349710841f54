"""What a check is: one class that says what it observes, in which words, and whom it blames for a repair."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from expectations.evidence import Array, Evidence
from expectations.repair_board import Board
from shedding.spec.gate import GateSpec
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec

Shape = Literal["column_max", "column_pair", "row_count"]
"""What Great Expectations compares: a column's maximum, one column with another, or the number of rows."""


@dataclass(frozen=True)
class Finding:
    """The extreme value that a check observed, the limit it is held to, and both in words."""

    observed: float
    limit: float
    text: str
    estimate: float | None = None


class GateCheck(ABC):
    """One check of the gate; stateless.

    `key` is its name in `gate:` and in verdicts, `words` what messages call its value, `sentence` what Data Docs show,
    `$limit` in it as the limit in words. `needs_exact`: only an exact leg gives it something to look at. `repair_turn`
    orders the checks that single keys can be blamed for; None where only the whole slot repairs it.
    """

    key: ClassVar[str]
    words: ClassVar[str]
    sentence: ClassVar[str]
    needs_exact: ClassVar[bool] = False
    repair_turn: ClassVar[int | None] = None
    shape: ClassVar[Shape] = "column_max"
    place: ClassVar[int] = 10
    """Where it stands in a verdict, lowest first; those of equal place in the order of `gate:`."""

    @property
    def stated(self) -> bool:
        """Whether its limit is a key of `gate:`; else it always holds."""
        return self.key in GateSpec.model_fields

    def limit(self, gate: GateSpec) -> float | None:
        """Its limit; None where the block does not state it and it is not judged."""
        stated = getattr(gate, self.key)
        return None if stated is None else float(stated)

    def limit_for(self, query: QuerySpec) -> float | None:
        """Its limit for a query; None where it does not judge the query at all."""
        return self.limit(query.gate)

    @abstractmethod
    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """One number for each window of the slot, nan where there is nothing to look at."""

    def columns(self, evidence: Evidence, measure: MeasureSpec) -> dict[str, Array]:
        """What it adds to the batch, one value for each window: the column of its name, and others it compares with."""
        return {self.key: self.observe(evidence, measure)}

    def judges(self, batch: pd.DataFrame) -> bool:
        """Whether the batch has something for it to look at."""
        return len(batch) > 0 and not batch[self.key].isna().all()

    def finding(self, evidence: Evidence, batch: pd.DataFrame, limit: float) -> Finding:
        """The largest value of its column, where that is, and how many windows and measures are over the limit."""
        values = batch[self.key].to_numpy(dtype=float)
        index = int(np.nanargmax(values))
        over = int((values > limit).sum())
        text = f"{self.words} {self.show(values[index])}, limit {self.show(limit)}"
        if over:
            where = f"{batch['measure'].iat[index]}, window from {batch['window_start'].iat[index]}"
            text += f" ({where}; over the limit in {over} of {len(values)} windows and measures)"
        return Finding(float(values[index]), limit, text)

    def arguments(self, limit: float) -> dict[str, Any]:
        """Those of the expectation of its shape."""
        return {"column": self.key, "max_value": limit}

    def kind(self, evidence: Evidence) -> str:
        """Whether what it observes is measured, estimated, or no error at all."""
        return "measured" if self.needs_exact else "structural"

    def show(self, value: float) -> str:
        """A value or limit, for people."""
        return f"{value:.4g}"

    def at_last_audit(self, evidence: Evidence, measure: MeasureSpec, limit: float) -> Array | None:
        """How many times over its limit the last audit was, by window; None where audits record nothing of it."""
        return None

    def blame(self, board: Board, limit: float) -> None:
        """Choose the fewest keys, on top of those chosen before, that must be exact for it to pass."""
        raise TypeError(f"{self.key} blames no key")

    def fixed(self, board: Board, limit: float) -> bool:
        """Whether it passes once the chosen keys are exact."""
        return True


def times_over(values: Array, limit: float) -> Array:
    """Each value over the limit, infinite where the value is unknown or the limit is 0 and it is not."""
    known = np.where(np.isnan(values), np.inf, values)
    return known / limit if limit else np.where(known > 0, np.inf, 0.0)
