"""The small Delta tables (everything but raw rows), read and written without a JVM.

Every write is one atomic commit that replaces exactly the rows it names, so a re-run yields the same table
whatever ran before. Concurrent writers of different rows do not disturb each other; writers of the same ones
are serialised by retrying, the later winning.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from shedding.errors import ConflictError, DataError, SchemaError
from shedding.full_disk import told_if_full
from shedding.stores import read_bytes

ATTEMPTS = 8
Where = Mapping[str, str | int | tuple[str, str]]
"""Which rows a write replaces: by column the value they have, or a pair (after, until] that it lies in."""
_log = logging.getLogger(__name__)


class _SettledError(Exception):
    """Another writer was first."""


@dataclass(frozen=True, slots=True)
class Table:
    """A Delta table at `uri`, partitioned by string columns."""

    uri: str
    partition_by: tuple[str, ...] = ()

    def exists(self) -> bool:
        """Whether anything was ever committed here."""
        from deltalake import DeltaTable

        return bool(DeltaTable.is_deltatable(self.uri))

    def version(self) -> int | None:
        """The newest version, or None where there is no table."""
        return int(self._open().version()) if self.exists() else None

    def schema(self) -> pa.Schema | None:
        """The Arrow schema, or None where there is no table."""
        return pa.schema(self._open().schema().to_arrow()) if self.exists() else None

    def read(
        self,
        where: Sequence[tuple[str, str, Any]] = (),
        columns: Sequence[str] | None = None,
        version: int | None = None,
    ) -> pa.Table:
        """The rows that meet every condition `(column, operator, value)`, at a pinned version if one is given.

        Raises DataError where there is no table, and where maintenance has deleted files of the pinned version.
        """
        if not self.exists():
            raise DataError(f"there is no table at {self.uri} yet; run what fills it first")
        try:
            return self._open(version).to_pyarrow_table(
                filters=list(where) or None,
                columns=list(columns) if columns is not None else None,
                filesystem=self._filesystem(),
            )
        except FileNotFoundError as error:
            if version is None:
                raise
            raise DataError(
                f"version {version} of {self.uri} is older than the dataset's retention, and files of it were deleted; "
                f"run what wrote it again, and let maintenance keep more with a longer retention"
            ) from error

    def replace(self, rows: pa.Table, where: Where, metadata: Mapping[str, Any]) -> int:
        """Atomically put `rows` in the place of all those that `where` names, as it names them too; the new version.

        Columns that the table lacks are added (older rows read null). No rows: what `where` names ends empty.
        """
        return self._commit(lambda _: (rows, None), metadata, mode="overwrite", predicate=_predicate(where))

    def revise(
        self,
        build: Callable[[int], pa.Table],
        where: Where,
        counter: str,
        metadata: Mapping[str, Any],
    ) -> tuple[int, int]:
        """Like `replace`, for rows that carry how often they were written: the new version and that number.

        `build(n)` makes the rows of the n-th write under the name `counter`. The count is Delta's own transaction
        identifier, committed with the rows: two writers never get the same number, and no number is left out.
        """
        counted = 0

        def prepare(table: Any) -> tuple[pa.Table, Any]:
            nonlocal counted
            from deltalake import Transaction

            counted = (0 if table is None else table.transaction_version(counter) or 0) + 1
            return build(counted), Transaction(counter, counted)

        version = self._commit(prepare, metadata, mode="overwrite", predicate=_predicate(where))
        return version, counted

    def settle(self, rows: pa.Table, where: Where, counter: str, number: int, metadata: Mapping[str, Any]) -> pa.Table:
        """Write the rows as the `number`-th under the name `counter`, unless another writer was first.

        Returns the rows that stand: these, or those of the first writer. Numbers count from 1, none is left out;
        Delta's own transaction identifier is the lock, so never do two writers of one number both stand.
        """

        def prepare(table: Any) -> tuple[pa.Table, Any]:
            from deltalake import Transaction

            if (0 if table is None else table.transaction_version(counter) or 0) >= number:
                raise _SettledError
            return rows, Transaction(counter, number)

        try:
            self._commit(prepare, metadata, mode="overwrite", predicate=_predicate(where))
        except _SettledError:
            return self.read([(column, "=", value) for column, value in where.items()])
        return rows

    def append(self, rows: pa.Table, metadata: Mapping[str, Any]) -> int:
        """Atomically add rows; the new version."""
        return self._commit(lambda _: (rows, None), metadata, mode="append")

    def adopt(self, folder: str, metadata: Mapping[str, Any], properties: Mapping[str, str] | None = None) -> None:
        """Atomically add the rows of a table that one commit made in `folder` below this one.

        For what another engine wrote, without a copy of its files. However often the store is asked, the rows are
        there once: a file is in a table or is not. `properties` are for a table that is made by this. Raises
        SchemaError where the rows do not fit the table.
        """
        from deltalake import CommitProperties

        staged = Table(f"{self.uri}/{folder}", self.partition_by)._open()
        added = _added(staged.table_uri, folder)
        note = CommitProperties(custom_metadata=_user_metadata(metadata))

        def write(table: Any) -> None:
            self._refuse_retyped(pa.schema(table.schema().to_arrow()), pa.schema(staged.schema().to_arrow()))
            self._refuse_divided(table.metadata().partition_columns, staged.metadata().partition_columns)
            known = {field.name for field in table.schema().fields}
            fresh = [field for field in staged.schema().fields if field.name not in known]
            if fresh:  # a commit of its own: to readers they are columns without values
                table.alter.add_columns(fresh)
            if added:
                by = list(self.partition_by)
                table.create_write_transaction(added, "append", table.schema(), by, commit_properties=note)

        self._retried(staged.schema, write, properties)

    def _refuse_divided(self, old: Sequence[str], new: Sequence[str]) -> None:
        if list(old) != list(new):
            raise SchemaError(
                f"{self.uri} is partitioned by {', '.join(old)} and the rows by {', '.join(new)}; change that back, or "
                "give the dataset a new name and so a table of its own"
            )

    def _fitted(self, rows: pa.Table, old: pa.Schema) -> pa.Table:
        """The rows in the table's own types, where that changes no value.

        Raises SchemaError where a column's type has changed: delta-rs would cast its values, 1.5 to 1, and not tell.
        """
        for place, field in enumerate(rows.schema):
            kind = old.field(field.name).type if field.name in old.names else field.type
            if same_type(kind, field.type):
                continue
            try:
                if not holds(kind, field.type):
                    raise pa.ArrowInvalid
                rows = rows.set_column(place, pa.field(field.name, kind), rows.column(place).cast(kind))
            except pa.ArrowInvalid:
                raise self._retyped(field, kind) from None
        return rows

    def _refuse_retyped(self, old: pa.Schema, new: pa.Schema) -> None:
        for field in new:
            if field.name in old.names and not same_type(old.field(field.name).type, field.type):
                raise self._retyped(field, old.field(field.name).type)

    def _retyped(self, field: pa.Field, kind: pa.DataType) -> SchemaError:
        return SchemaError(
            f"{self.uri}: column {field.name} is {kind} and would become {field.type}; "
            f"change it back, or give the dataset or query a new name and so a table of its own"
        )

    def _filesystem(self) -> Any:
        """Arrow's own file system for a local table; None (delta-rs's) elsewhere.

        delta-rs's calls back into Python from Arrow's threads: a process that ends while one is still reading
        ahead aborts (seen in 1 of 25 processes on a busy machine).
        """
        if "://" in self.uri:
            return None
        from pyarrow import fs

        return fs.SubTreeFileSystem(self.uri, fs.LocalFileSystem())

    def _open(self, version: int | None = None) -> Any:
        from deltalake import DeltaTable

        return DeltaTable(self.uri, version=version)

    def _commit(self, prepare: Callable[[Any], tuple[pa.Table, Any]], metadata: Mapping[str, Any], **how: Any) -> int:
        """Commit what `prepare` makes of the table as it stands; on a conflict, of the table as it then stands."""
        from deltalake import CommitProperties, write_deltalake

        def write(table: Any) -> None:
            rows, transaction = prepare(table)  # of the very snapshot that the commit is checked against
            rows = self._fitted(rows, pa.schema(table.schema().to_arrow()))
            transactions = [transaction] if transaction is not None else None
            note = CommitProperties(custom_metadata=_user_metadata(metadata), app_transactions=transactions)
            write_deltalake(table, rows, schema_mode="merge", commit_properties=note, **how)

        return self._retried(lambda: prepare(None)[0].schema, write)

    def _retried(
        self, schema: Callable[[], Any], write: Callable[[Any], None], properties: Mapping[str, str] | None = None
    ) -> int:
        """Let `write` commit to the table, which is made where there is none, until no other writer came before it."""
        from deltalake import DeltaTable
        from deltalake.exceptions import CommitFailedError

        for attempt in range(ATTEMPTS):
            try:
                if not self.exists():
                    # Two first writers would both try version 0; "ignore" lets one of them create it.
                    by, how = list(self.partition_by), dict(properties or {})
                    with told_if_full(self.uri):
                        DeltaTable.create(self.uri, schema(), mode="ignore", partition_by=by, configuration=how)
                table = self._open()
                with told_if_full(self.uri):
                    write(table)
                return int(table.version())
            except CommitFailedError:
                _log.warning(
                    "a commit to %s collided with another writer's (try %d of %d)", self.uri, attempt + 1, ATTEMPTS
                )
                time.sleep(0.05 * 2**attempt)
        raise ConflictError(f"{ATTEMPTS} concurrent commits to {self.uri} collided; run again when it is quieter")


def _user_metadata(metadata: Mapping[str, Any]) -> dict[str, str]:
    return {"userMetadata": json.dumps(dict(metadata), sort_keys=True)}


def _added(uri: str, folder: str) -> list[Any]:
    """The files of a table's first commit, by their path from above its folder, with the statistics it has of them."""
    from deltalake.transaction import AddAction

    commit = read_bytes(uri, f"_delta_log/{0:020}.json").decode()
    files = [entry["add"] for entry in map(json.loads, commit.splitlines()) if "add" in entry]
    return [
        AddAction(
            path=f"{folder}/{unquote(file['path'])}",
            size=file["size"],
            partition_values=file["partitionValues"],
            modification_time=file["modificationTime"],
            data_change=True,
            stats=file["stats"],
        )
        for file in files
    ]


def same_type(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether two Arrow types are the same in Delta: readers and writers vary how they hold text, never values."""
    return bool(_plain(one) == _plain(other) or pa.types.is_null(one) or pa.types.is_null(other))


def holds(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether a column of the old type takes values of the new one, or, of BIGINT in DOUBLE, those that it can."""
    return same_type(old, new) or bool(pa.types.is_float64(old) and pa.types.is_int64(new))


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type without what Arrow varies: large and viewed text, names and nullability of a list's items."""
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_plain(kind.value_type))
    return kind


def _predicate(where: Where) -> str:
    """The conditions of all columns, as SQL."""
    return " AND ".join(_condition(column, value) for column, value in where.items())


def _condition(column: str, value: str | int | tuple[str, str]) -> str:
    if isinstance(value, tuple):
        return f"{column} > {_literal(value[0])} AND {column} <= {_literal(value[1])}"
    return f"{column} = {_literal(value)}"


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
