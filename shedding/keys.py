"""Group-by keys on the driver: sorted, unique, null a key like any other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Index = npt.NDArray[np.int64]
_ROOMY = 8  # how many codes a row may have room for before sorting is quicker


@dataclass(frozen=True, slots=True)
class Keys:
    """The distinct keys of a query, in the order of their values (nulls last); without columns, one key."""

    names: tuple[str, ...]
    columns: tuple[Any, ...]
    size: int

    def __len__(self) -> int:
        return self.size

    def take(self, index: Index) -> dict[str, Any]:
        """Key columns for rows that hold these key numbers."""
        chosen = pa.array(index, pa.int64())
        return {name: column.take(chosen) for name, column in zip(self.names, self.columns, strict=True)}

    def only(self, chosen: npt.NDArray[np.bool_]) -> Keys:
        """Some of the keys, in the same order; without columns the one key stays."""
        index = np.flatnonzero(chosen)
        return Keys(self.names, tuple(self.take(index).values()), len(index)) if self.names else self

    @property
    def has_null(self) -> npt.NDArray[np.bool_]:
        """Which keys are null in some column: a key like any other in a group by, but equal to nothing in a join."""
        found = np.zeros(self.size, dtype=np.bool_)
        for column in self.columns:
            found |= column.is_null().to_numpy(zero_copy_only=False)
        return found

    def table(self) -> pa.Table:
        """The keys as a table, one row a key; only for queries that have key columns."""
        return pa.table(dict(zip(self.names, self.columns, strict=True)))


def align(tables: Sequence[pa.Table], names: Sequence[str]) -> tuple[Keys, list[Index]]:
    """The union of the tables' keys, and for each table the key number of each of its rows.

    The numbers depend on the set of keys only, never on the order of rows or tables. Without names
    there is one key, number 0, even where the tables are empty.
    """
    lengths = [table.num_rows for table in tables]
    cuts = np.cumsum([0, *lengths])
    total = int(cuts[-1])
    code: Index = np.zeros(total, dtype=np.int64)
    found = min(1, total)
    merged = [_merged([table.column(name) for table in tables]) for name in names]
    for column in merged:
        rank, size = _ranks(column)
        code, found = (rank, size) if found == 1 else _renumbered(code * np.int64(size) + rank, found * size)
    if names:
        first = np.empty(found, dtype=np.int64)
        first[code[::-1]] = np.arange(total)[::-1]
        columns = tuple(column.take(pa.array(first, pa.int64())) for column in merged)
        keys = Keys(tuple(names), columns, len(first))
    else:
        keys = Keys((), (), 1)
    return keys, [code[a:b] for a, b in itertools.pairwise(cuts)]


def _renumbered(code: Index, bound: int) -> tuple[Index, int]:
    """Codes below `bound` as numbers without gaps, in the same order, and how many there are."""
    if bound > _ROOMY * len(code):
        distinct, numbers = np.unique(code, return_inverse=True)
        return numbers.astype(np.int64), len(distinct)
    there = np.zeros(bound, dtype=np.int64)  # a table of all codes, where it is not much larger than the rows: no sort
    there[code] = 1
    number = np.cumsum(there)
    return number[code] - 1, int(number[-1]) if bound else 0


def _merged(columns: Sequence[Any]) -> Any:
    chunks = [chunk for column in columns for chunk in column.chunks if len(chunk)]
    if not chunks:
        return columns[0].combine_chunks()
    wanted = next((_plain(chunk.type) for chunk in chunks if not pa.types.is_null(chunk.type)), pa.null())
    return pa.concat_arrays([chunk if chunk.type == wanted else chunk.cast(wanted) for chunk in chunks])


def _plain(kind: Any) -> Any:
    """The one Arrow type for all ways in which readers hand over text."""
    text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_dictionary(kind)
    return pa.string() if text else kind


def _ranks(column: Any) -> tuple[Index, int]:
    """Each row's place among the sorted distinct values, nulls last, and how many these are (1 if none)."""
    if pa.types.is_signed_integer(column.type) and len(column) and not column.null_count:
        numbers = column.to_numpy().astype(np.int64)
        room = int(numbers.max()) - int(numbers.min()) + 1
        if room <= _ROOMY * len(numbers):
            return _renumbered(numbers - numbers.min(), room)
    encoded = column.dictionary_encode(null_encoding="encode")
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(max(len(order), 1), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)], max(len(order), 1)
