"""What a repair plans on: the answer's rows by key, which keys are chosen, and what fixing a key costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from expectations.evidence import Array, Evidence, judged_errors, numbers, positions
from shedding.keys import align
from shedding.risk import WindowLaws


@dataclass(frozen=True)
class Cell:
    """One window and measure: its rows, all errors of the measure (NaN as 0), missing keys, and what bounds errors."""

    rows: Array
    errors: Array
    missing: int
    laws: WindowLaws | None


class Board:
    """The answer's rows with a number for each key, and which keys are chosen so far."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence, names = evidence, evidence.query.group_by
        self._omitted = evidence.answer.slice(0, 0) if evidence.omitted is None else evidence.omitted
        keys, (self.key, self._omitted_key) = align([evidence.answer, self._omitted], names)
        self.repaired = np.zeros(len(keys), dtype=bool)
        self.missing = evidence.absent.copy()
        if evidence.exact is not None:  # the exact leg has their rows, and they are added first
            self.missing[:] = 0

    @cached_property
    def cost(self) -> Array:
        """The rows that fixing each key reads; 1 where populations are unknown."""
        rows = np.concatenate([numbers(table, "population") for table in (self.evidence.answer, self._omitted)])
        rows = rows if np.isfinite(rows).all() else np.ones(len(rows))
        keys = np.concatenate([self.key, self._omitted_key])
        summed: Array = np.bincount(keys, rows, minlength=len(self.repaired))
        return np.asarray(np.maximum(summed, 1.0))

    @cached_property
    def cells(self) -> list[Cell]:
        """The windows of every measure that have rows."""
        cells = []
        for measure in self.evidence.query.measures:
            errors = np.nan_to_num(numbers(self.evidence.answer, f"{measure.name}_error"), nan=0.0, posinf=np.inf)
            together = zip(self.evidence.rows, self.missing, self.evidence.laws[measure.name], strict=True)
            cells += [Cell(rows, errors, int(missing), laws) for rows, missing, laws in together if len(rows)]
        return cells

    def judged(self, statistic: str, errors: Array, cell: Cell) -> float:
        """A statistic of errors as the gate judges it."""
        risk = self.evidence.query.gate.risk
        if cell.laws is not None:
            return cell.laws.bound(statistic, errors, cell.missing, risk)
        return float(getattr(judged_errors(errors, cell.missing, None, risk), statistic))

    def choose(self, rows: Array) -> None:
        """Choose the keys of some rows."""
        self.repaired[self.key[rows]] = True

    @property
    def added(self) -> Array:
        """Which rows of the omitted keys are of keys that are chosen."""
        return np.asarray(self.repaired[self._omitted_key])

    def add(self, row: int) -> None:
        """Choose the key of a row of the omitted ones: it is then exact in every window, and left out of none."""
        self.repaired[self._omitted_key[row]] = True

    def left(self, rows: Array, values: Array) -> Array:
        """The values of some rows, 0 for rows of chosen keys."""
        return np.where(self.repaired[self.key[rows]], 0.0, values[rows])

    def chosen(self) -> pa.Table:
        """The chosen keys and, where the exact leg names them, the missing ones; each once, sorted."""
        names = self.evidence.query.group_by
        parts = [
            self.evidence.answer.filter(pa.array(self.repaired[self.key])),
            self._omitted.filter(pa.array(self.added)),
        ]
        if self.evidence.exact is not None:
            missing = positions(self.evidence.exact, self.evidence.answer, names) < 0
            missing &= positions(self.evidence.exact, self._omitted, names) < 0
            parts.append(self.evidence.exact.filter(pa.array(missing)))
        keys = pa.concat_tables([part.select(names) for part in parts])
        return keys.group_by(names).aggregate([]).sort_by([(name, "ascending") for name in names])

    def share(self) -> float:
        """The chosen keys' share of the rows; of the keys where populations are unknown."""
        return float(self.cost[self.repaired].sum() / self.cost.sum()) if len(self.cost) else 0.0
