"""What a scan groups by: pane, key and class; where keys have numbers, all three as one number.

One number is quicker to group by than a time, texts and a class: a fifth to a quarter of a scan's work on 20M rows,
and as much again where no texts of other keys must be kept beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as sf

from shedding.keys import Keys
from shedding.scan.rate_table import NUMBER
from shedding.spec.timeline import Timeline

if TYPE_CHECKING:
    from pyspark.sql import Column

Index = npt.NDArray[np.int64]

_FIRST_INSTANT, _LAST_INSTANT = -(2**56), 2**58  # microseconds; the years 1 to 9999 lie between them
_GROUP = "_group"


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows by pane, key columns and class; `known` are the keys that rows carry numbers of, None where they do not.

    A key without a number keeps its columns, so nothing is lost of keys that nobody knew beforehand; with `only_known`
    it does not, and `lost_keys` tells whether there was one. `number` is the column that has the keys' numbers.
    """

    timeline: Timeline
    keys: Sequence[str]
    legs: int
    known: Keys | None
    only_known: bool
    number: str = NUMBER

    @property
    def names(self) -> list[str]:
        """The columns to group by."""
        return [_GROUP, *self._unknown] if self._numbered else ["pane_start", *self.keys, "mask"]

    def columns(self, mask: Column) -> list[Column]:
        """What these columns are made of."""
        instant, width = "unix_micros(event_time)", self.timeline.pane
        start = f"{instant} - pmod({instant}, {width})"
        if not self._numbered:
            return [sf.expr(start).alias("pane_start"), *[sf.col(f"`{key}`") for key in self.keys], mask.alias("mask")]
        number = sf.coalesce(sf.col(f"`{self.number}`"), sf.lit(self._keys))
        pane = sf.expr(f"({instant} + {self._before * width}) div {width}")  # no instant is negative there
        place = sf.shiftleft(pane, self._bits).bitwiseOR(number)
        unknown = [
            sf.when(sf.col(f"`{self.number}`").isNull(), sf.col(f"`{key}`")).alias(name)
            for key, name in zip(self.keys, self._unknown, strict=False)
        ]
        return [sf.shiftleft(place, self.legs).bitwiseOR(mask).alias(_GROUP), *unknown]

    def restored(self, table: pa.Table) -> pa.Table:
        """The grouped table with pane_start (us), key columns and mask in front, however it was grouped."""
        if not self._numbered or self.known is None:
            return table
        group = table.column(_GROUP).to_numpy()
        pane, number = group >> (self.legs + self._bits), self._number(group)
        columns: dict[str, Any] = {"pane_start": pa.array((pane - self._before) * self.timeline.pane)}
        columns |= self._named(number, table)
        columns["mask"] = pa.array(group & ((1 << self.legs) - 1))
        rest = [name for name in table.column_names if name not in self.names]
        return pa.table(columns | {name: table.column(name) for name in rest})

    def lost_keys(self, table: pa.Table) -> bool:
        """Whether the grouped table has rows whose key it does not tell."""
        if not self._numbered or not self.only_known:
            return False
        return bool((self._number(table.column(_GROUP).to_numpy()) == self._keys).any())

    def _number(self, group: Index) -> Index:
        return (group >> self.legs) & ((1 << self._bits) - 1)

    def _named(self, number: Index, table: pa.Table) -> dict[str, Any]:
        """The key columns: numbers into the known keys, or texts where a row's own may stand among them."""
        assert self.known is not None
        if self.only_known:
            index = pa.array(number.astype(np.int32))
            values = zip(self.known.names, self.known.columns, strict=True)
            return {name: pa.DictionaryArray.from_arrays(index, column) for name, column in values}
        columns = self.known.take(np.minimum(number, self._keys - 1))
        is_known = pa.array(number < self._keys)
        return {
            key: pc.if_else(is_known, columns[key], table.column(name))
            for key, name in zip(self.keys, self._unknown, strict=True)
        }

    @property
    def _unknown(self) -> list[str]:
        return [] if self.only_known else [f"_unknown{place}" for place in range(len(self.keys))]

    @property
    def _keys(self) -> int:
        return 0 if self.known is None else len(self.known)

    @property
    def _bits(self) -> int:
        """Bits of a known key's number, and of the number after the last for all other keys."""
        return self._keys.bit_length()

    @property
    def _before(self) -> int:
        """Panes before 1970 that there is room for."""
        return -_FIRST_INSTANT // self.timeline.pane

    @property
    def _numbered(self) -> bool:
        """Whether the numbers of all groups fit 64 bits."""
        room = (_LAST_INSTANT // self.timeline.pane + 1 + self._before) << (self._bits + self.legs)
        return self.known is not None and room < 2**63
