"""Key sets: what ingest counts per pane, so that a query knows its keys and populations without reading a row."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from shedding.spec.catalog import Catalog
from shedding.spec.query import QuerySpec


@dataclass(frozen=True, slots=True)
class KeySet:
    """The rows of `dataset` that meet `where`, counted per pane of `pane` microseconds and `keys`.

    No keys is legal: one count a pane. `counted` are the columns whose non-null values are counted too.
    `keep` is the condition behind the key `KEPT`, where that is one.
    """

    dataset: str
    keys: tuple[str, ...]
    where: str | None
    pane: int
    counted: tuple[str, ...]
    keep: str | None = None

    @property
    def id(self) -> str:
        """A name that is equal for equal key sets and stable for ever, fit for a path."""
        content = json.dumps([self.keys, self.where, self.pane, self.counted, *([self.keep] if self.keep else [])])
        digest = hashlib.blake2b(content.encode(), digest_size=6).hexdigest()
        return f"{'_'.join(self.keys)[:40] or 'all'}-{digest}"


def keyset_of(
    query: QuerySpec, side: Literal["left", "right"] = "left", left_columns: Collection[str] | None = None
) -> KeySet:
    """The key set a query needs of its dataset, or of the joined one (`side` right).

    A join's measures may live on either side; `left_columns`, the columns of the query's own dataset, tell which: a
    column that both have is the left one's. Without a join they are not needed. Both sides have their keys in the order
    of `group_by`, however `join.on` lists them: rates of one list of keys reach the rows of both. Where seconds are
    spent, the columns that costs go by are keys too: rows of a key that cost alike are sampled alike.
    """
    counted = query.counted
    if query.join is not None:
        assert left_columns is not None, "a join's sides count different columns; say which ones the left side has"
        counted = [c for c in counted if (c in left_columns) == (side == "left")]
    if side == "right":
        assert query.join is not None, "only a join has a right side"
        dataset, where = query.join.dataset, query.join.where
    else:
        dataset, where = query.dataset, query.where
    keys = (*query.group_by, *query.strata_columns)
    return KeySet(dataset, keys, where, query.timeline.pane, tuple(counted), query.shed.keep)


def keysets(catalog: Catalog, dataset: str) -> list[KeySet]:
    """Every distinct key set that the catalog's queries need of a dataset, by id."""
    needed = needed_by(catalog, dataset)
    return [needed[identifier][0] for identifier in sorted(needed)]


def needed_by(catalog: Catalog, dataset: str) -> dict[str, tuple[KeySet, list[str]]]:
    """The key sets of a dataset by id, each with the names of the queries that need it."""
    found: dict[str, tuple[KeySet, list[str]]] = {}
    for query in catalog.queries_of(dataset):
        sides: list[Literal["left", "right"]] = ["left"] if query.join is None else ["left", "right"]
        for side in sides:
            keyset = keyset_of(query, side, catalog.dataset(query.dataset).column_names if query.join else None)
            if keyset.dataset == dataset:
                names = found.setdefault(keyset.id, (keyset, []))[1]
                names += [query.name] if query.name not in names else []
    return found
