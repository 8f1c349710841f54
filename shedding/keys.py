"""Group-by keys on the driver: sorted, unique, null a key like any other."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Index = npt.NDArray[np.int64]
_ROOMY = 8  # how many codes a row may have room for before sorting is quicker


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Keys:
    """The distinct keys of a query, in the order of their values (nulls last); without columns, one key.

    A list of keys is compared by what it is, not by what it holds: `same` tells the latter.
    """

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

    def same(self, other: Keys) -> bool:
        """Whether both hold the same keys of the same types; told by comparing memory, not values."""
        if self is other:
            return True
        pairs = zip(self.columns, other.columns, strict=False)
        return self.names == other.names and len(self) == len(other) and all(a.equals(b) for a, b in pairs)


_PLACES: weakref.WeakKeyDictionary[Keys, list[tuple[Keys, Index]]] = weakref.WeakKeyDictionary()
"""For a list of keys those lists that lie in it, and where: what was aligned once is not aligned again."""


def unite(parts: Sequence[Keys], names: Sequence[str]) -> tuple[Keys, list[Index]]:
    """The union of lists of keys by the named columns, and for each list the place of its keys in the union.

    As `align` of their tables, and made once: a list that has all the others' keys is itself the union, and where a
    list lies in another is remembered as long as the other is.
    """
    if not names:
        return Keys((), (), 1), [np.zeros(len(part), dtype=np.int64) for part in parts]
    if any(part.names != tuple(names) for part in parts):  # strata: keys that have further columns
        return align([part.table() for part in parts], names)
    whole = max(parts, key=len)
    known = [_place(whole, part) for part in parts]
    found = [place for place in known if place is not None]
    if len(found) == len(parts):
        return whole, found
    distinct: list[Keys] = []
    which = [_number(distinct, part) for part in parts]
    union, places = align([keys.table() for keys in distinct], whole.names)
    types = [column.type for column in union.columns]
    if len(union) == len(whole) and types == [column.type for column in whole.columns]:
        union = whole
    _PLACES.setdefault(union, []).extend(zip(distinct, places, strict=True))
    return union, [places[number] for number in which]


def _place(whole: Keys, part: Keys) -> Index | None:
    """Where the keys of a list lie in another, if that is known."""
    if part is whole:
        return np.arange(len(whole))
    return next((place for keys, place in _PLACES.get(whole, ()) if keys.same(part)), None)


def _number(distinct: list[Keys], keys: Keys) -> int:
    """The place of a list among the different ones, where it is put if it is new."""
    for number, other in enumerate(distinct):
        if other.same(keys):
            return number
    distinct.append(keys)
    return len(distinct) - 1


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
    lists = [values for _, values in pieces]
    longest = max(lists, key=len)
    ranks, pool = _merged(lists, longest) if _ascending(longest) else _sorted(lists)
    code = np.concatenate(
        [rank if index is None else rank[index] for (index, _), rank in zip(pieces, ranks, strict=True)]
    )
    number, distinct = _numbered(code, len(pool))
    return number, pool if len(distinct) == len(pool) else pool.take(pa.array(distinct))


def _pieces(column: Any, wanted: Any) -> list[tuple[Index | None, Any]]:
    """The column in pieces: each row's place among some values in the wanted type, not all of which need be there.

    None where the rows are these values, one after another.
    """
    chunks = [chunk for chunk in column.chunks if len(chunk)]
    if chunks and all(_is_told(chunk) for chunk in chunks):
        return [(chunk.indices.to_numpy(), chunk.dictionary.cast(wanted)) for chunk in chunks]
    if not chunks:
        return []
    values = pa.concat_arrays([chunk.cast(wanted) for chunk in chunks])
    if _ascending(values):
        return [(None, values)]
    made = values.dictionary_encode(null_encoding="encode")
    return [(made.indices.to_numpy(), made.dictionary)]


def _ascending(values: Any) -> bool:
    """Whether every value is above the one before, a null possibly last: distinct, and sorted already."""
    kind = values.type
    if not (pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_temporal(kind)) or not len(values):
        return False
    if values.null_count:
        if values.null_count > 1 or values[-1].is_valid:
            return False
        values = values.slice(0, len(values) - 1)
    return len(values) < 2 or bool(pc.all(pc.less(values.slice(0, len(values) - 1), values.slice(1))).as_py())


def _merged(lists: Sequence[Any], longest: Any) -> tuple[list[Index], Any]:
    """Of each list the places of its values among all, sorted, and these; the longest is ascending.

    What the longest has is looked up in it; only what it lacks is sorted in.
    """
    places = [None if values.equals(longest) else pc.index_in(values, value_set=longest) for values in lists]
    lacking = [v.filter(place.is_null()) for v, place in zip(lists, places, strict=True) if place is not None]
    more = pa.concat_arrays([longest.slice(0, 0), *lacking]).unique()
    pool = pa.concat_arrays([longest, more])
    order = pc.sort_indices(pool).to_numpy().astype(np.int64) if len(more) else np.arange(len(pool))
    rank = np.empty(len(pool), dtype=np.int64)
    rank[order] = np.arange(len(pool))
    found = []
    for values, place in zip(lists, places, strict=True):
        at = np.arange(len(longest)) if place is None else place.fill_null(0).to_numpy().astype(np.int64)
        if place is not None and place.null_count:
            new = place.is_null()
            at[new.to_numpy(zero_copy_only=False)] = len(longest) + pc.index_in(values.filter(new), more).to_numpy()
        found.append(rank[at] if len(more) else at)
    return found, pool.take(pa.array(order)) if len(more) else pool


def _sorted(lists: Sequence[Any]) -> tuple[list[Index], Any]:
    """The same for lists in any order, values possibly more than once."""
    pool = _normal(pa.concat_arrays(list(lists))).dictionary_encode(null_encoding="encode")
    order = pc.sort_indices(pool.dictionary).to_numpy().astype(np.int64)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    of_pool = rank[pool.indices.to_numpy()]
    ends = np.cumsum([len(values) for values in lists])
    return np.split(of_pool, ends[:-1]), pool.dictionary.take(pa.array(order))


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
