"""Group-by keys on the driver: sorted, unique, null a key like any other."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
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
            found |= _nulls(column)
        return found

    def having(self, values: Mapping[str, Any]) -> npt.NDArray[np.bool_]:
        """Which keys have these values, null among them, in the named columns; values are compared as text is."""
        found = np.ones(self.size, dtype=np.bool_)
        for name, value in values.items():
            column = self.columns[self.names.index(name)]
            if value is None:
                found &= _nulls(column)
            else:
                found &= np.array([_text(v) == _text(value) for v in column.to_pylist()], dtype=np.bool_)
        return found

    def table(self) -> pa.Table:
        """The keys as a table, one row a key; only for queries that have key columns."""
        return pa.table(dict(zip(self.names, self.columns, strict=True)))


def align(tables: Sequence[pa.Table], names: Sequence[str]) -> tuple[Keys, list[Index]]:
    """The union of the tables' keys, and for each table the key number of each of its rows.

    The numbers depend on the set of keys only, never on the order of rows or tables. Without names
    there is one key, number 0, even where the tables are empty.
    """
    cuts = np.cumsum([0, *(table.num_rows for table in tables)])
    code: Index = np.zeros(int(cuts[-1]), dtype=np.int64)
    places: list[Index] = []  # for each column, the place of each key's value among the column's values
    columns = [_ranked([table.column(name) for table in tables]) for name in names]
    for rank, values in columns:
        if not places:
            code, places = rank, [np.arange(len(values))]
            continue
        code, distinct = _numbered(code * np.int64(len(values)) + rank, len(places[0]) * len(values))
        before, own = np.divmod(distinct, max(1, len(values)))
        places = [*(place[before] for place in places), own]
    taken = tuple(values.take(pa.array(place)) for (_, values), place in zip(columns, places, strict=True))
    keys = Keys(tuple(names), taken, len(places[0])) if names else Keys((), (), 1)
    return keys, [code[a:b] for a, b in itertools.pairwise(cuts)]


def _text(value: Any) -> str:
    """A value as YAML's reader and a table's column both show it: 132, 132.0 and "132" are one key."""
    number = value.is_integer() if isinstance(value, float) else False
    return str(int(value) if number else value)


def _numbered(code: Index, bound: int) -> tuple[Index, Index]:
    """Codes below `bound` as numbers without gaps, in the same order, and the distinct codes."""
    if bound > _ROOMY * len(code):
        distinct, number = np.unique(code, return_inverse=True)
        return number.astype(np.int64), distinct
    there = np.zeros(bound, dtype=bool)  # a table of all codes, where it is not much larger than the rows: no sort
    there[code] = True
    distinct = np.flatnonzero(there)
    return code if len(distinct) == bound else (np.cumsum(there) - 1)[code], distinct


def _ranked(columns: Sequence[Any]) -> tuple[Index, Any]:
    """Each row's place among the sorted distinct values, nulls last, and these values."""
    kinds = [column.type for column in columns if len(column) and not pa.types.is_null(column.type)]
    wanted = _plain(kinds[0] if kinds else columns[0].type)
    if pa.types.is_signed_integer(wanted) and kinds and not any(column.null_count for column in columns):
        numbers = np.concatenate([column.cast(wanted).to_numpy().astype(np.int64, copy=False) for column in columns])
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < _ROOMY * len(numbers):
            rank, distinct = _numbered(numbers - low, high - low + 1)
            return rank, pa.array(distinct + low, wanted)
    pieces = [piece for column in columns for piece in _pieces(column, wanted)]
    if not pieces:
        return np.zeros(0, dtype=np.int64), pa.array([], wanted)
    pool = _normal(pa.concat_arrays([values for _, values in pieces])).dictionary_encode(null_encoding="encode")
    order = pc.sort_indices(pool.dictionary).to_numpy().astype(np.int64)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    of_pool = rank[pool.indices.to_numpy()]
    starts = np.cumsum([0, *(len(values) for _, values in pieces)])
    code = np.concatenate([of_pool[start:][index] for (index, _), start in zip(pieces, starts, strict=False)])
    number, distinct = _numbered(code, len(order))
    return number, pool.dictionary.take(pa.array(order[distinct]))


def _pieces(column: Any, wanted: Any) -> list[tuple[Any, Any]]:
    """The column in pieces: each row's place among some values in the wanted type, not all of which need be there."""
    chunks = [chunk for chunk in column.chunks if len(chunk)]
    if chunks and all(_is_told(chunk) for chunk in chunks):
        return [(chunk.indices.to_numpy(), chunk.dictionary.cast(wanted)) for chunk in chunks]
    if not chunks:
        return []
    made = pa.concat_arrays([chunk.cast(wanted) for chunk in chunks]).dictionary_encode(null_encoding="encode")
    return [(made.indices.to_numpy(), made.dictionary)]


def _normal(values: Any) -> Any:
    """Values in the form in which Spark groups them: a negative zero is zero, and every NaN the same one."""
    if not pa.types.is_floating(values.type):
        return values
    numbers = values.to_numpy(zero_copy_only=False)
    return pa.array(np.where(np.isnan(numbers), np.nan, numbers + 0.0), values.type, mask=_nulls(values))


def _nulls(values: Any) -> npt.NDArray[np.bool_]:
    return np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)


def _is_told(chunk: Any) -> bool:
    """Whether the chunk is dictionary-encoded, without nulls, with at most as many entries as rows."""
    if not pa.types.is_dictionary(chunk.type):
        return False
    return not chunk.indices.null_count and len(chunk.dictionary) <= len(chunk)


def _plain(kind: Any) -> Any:
    """The one Arrow type for all ways in which readers hand over text."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind
