"""Keep a dataset's tables small and quick: OPTIMIZE, VACUUM, and the removal of rows that nobody may see.

    maintain.py --dataset NAME

No JVM: delta-rs does it all. Rows and answers are not changed by it, and that is checked. A table that a writer is
busy with is left for the next time. Readers can go back as far as the dataset's `retention` says.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shedding import warehouse
from shedding.config import Settings
from shedding.errors import DataError, SluiceError, reported
from shedding.ingest.arrivals import Arrivals
from shedding.ingest.arrivals_log import write_log
from shedding.ingest.source_number import source_number
from shedding.spec import Catalog, DatasetSpec, load_catalog
from shedding.spec.times import UNITS
from shedding.tables import Table


@dataclass(frozen=True, slots=True)
class Maintained:
    """What was done to one table; `busy` where a writer came in between and it was left as it was."""

    table: str
    rows: int = 0
    files_before: int = 0
    files_after: int = 0
    deleted_files: int = 0
    busy: bool = False

    def __str__(self) -> str:
        if self.busy:
            return f"{self.table}: busy, left for the next time"
        files = f"{self.files_before} files became {self.files_after}"
        return f"{self.table}: {self.rows} rows, {files}, {self.deleted_files} old files deleted"


def maintain(settings: Settings, catalog: Catalog, dataset: str, now: dt.datetime | None = None) -> list[Maintained]:
    """Maintain all tables of a dataset and of the queries on it, those on other queries too.

    Files of raw rows are not merged where that would undo the ranks' order, or put rows of kept windows into one file
    with those of dropped ones: with `partition: hour` they are, hour by hour.

    Guarantees: a table's visible rows are the same in number before and after (else DataError), versions younger
    than the dataset's `retention` stay readable, and rows of an ingest that may still be running are not touched.
    """
    spec = catalog.dataset(dataset)
    remove_hidden(settings, spec, now or dt.datetime.now(dt.UTC))
    tables = warehouse.tables_of_dataset(settings, dataset)
    queries = catalog.queries_below(dataset)
    for query in queries:
        tables |= warehouse.tables_of_query(settings, query.name)
    apart = spec.layout.kind == "ranked" or (spec.partition == "date" and any(q.shed.windows for q in queries))
    unmerged = {name for name in tables if apart and name.startswith("raw/")}
    return [_maintain(name, table, spec, merge=name not in unmerged) for name, table in tables.items()]


def remove_hidden(settings: Settings, dataset: DatasetSpec, now: dt.datetime) -> int:
    """Delete the rows of sources that were replaced or never finished, once they are older than the retention.

    Returns how many sources. The log says `removed` last, so a removal that died is simply done again; an ingest
    that wakes up later finds its source gone and takes the file anew.
    """
    table = warehouse.ingests(settings, dataset.name)
    hidden = Arrivals.load(settings, dataset.name).hidden
    if not hidden:
        return 0
    newest: dict[str, dt.datetime] = {}
    for row in table.read(columns=["source_id", "at"]).to_pylist():
        newest[row["source_id"]] = max(row["at"], newest.get(row["source_id"], row["at"]))
    limit = now - dt.timedelta(microseconds=dataset.retention)
    old = sorted(source for source in hidden if newest[source] < limit)
    if not old:
        return 0
    texts = ", ".join("'" + source.replace("'", "''") + "'" for source in old)
    numbers = ", ".join(str(source_number(source)) for source in old)
    sources = {"raw": numbers, "quarantine": texts, "concepts": texts}  # as each kind of table names them
    for name, rows in warehouse.tables_of_dataset(settings, dataset.name).items():
        kind = name.partition("/")[0]
        if kind in sources:
            _open(rows.uri).delete(f"_source IN ({sources[kind]})")
    write_log(settings, dataset.name, [{"state": "removed", "source_id": source} for source in old], now)
    return len(old)


def _maintain(name: str, table: Table, spec: DatasetSpec, *, merge: bool) -> Maintained:
    from deltalake.exceptions import CommitFailedError

    try:
        before = _files(_open(table.uri))
        if merge:
            _compact(name, table.uri)
        hours = -(-spec.retention // UNITS["hour"])
        deleted = _open(table.uri).vacuum(
            retention_hours=hours, dry_run=False, enforce_retention_duration=False, full=True
        )
        after = _files(_open(table.uri))
    except CommitFailedError:
        return Maintained(name, busy=True)
    return Maintained(name, _rows(after), before.num_rows, after.num_rows, len(deleted))


def _compact(name: str, uri: str) -> None:
    """OPTIMIZE in one commit, and see that the version it made has the rows of the version before."""
    from deltalake import CommitProperties

    table = _open(uri)
    note = CommitProperties(custom_metadata={"userMetadata": json.dumps({"maintenance": "optimize"})})
    done = table.optimize.compact(commit_properties=note)
    if not done["numFilesRemoved"]:
        return
    version = table.version()
    rows = [_rows(_files(_open(uri, v))) for v in (version - 1, version)]
    if rows[0] != rows[1]:
        raise DataError(
            f"{name}: OPTIMIZE made {rows[1]} rows of {rows[0]} in version {version}; nothing was deleted yet, "
            f"restore version {version - 1}"
        )


def _files(table: Any) -> pa.Table:
    return pa.table(table.get_add_actions(flatten=True))


def _rows(files: pa.Table) -> int:
    return int(pc.sum(files["num_records"]).as_py() or 0)


def _open(uri: str, version: int | None = None) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(uri, version=version)


def main(argv: Sequence[str] | None = None) -> int:
    """Maintain one dataset; a line a table. An error is one line, and its exit code tells whether to try again."""
    parser = argparse.ArgumentParser(prog="maintain", description=__doc__)
    parser.add_argument("--dataset", required=True)
    arguments = parser.parse_args(argv)
    try:
        settings = Settings.load()
        for done in maintain(settings, load_catalog(settings.specs), arguments.dataset):
            print(done)
    except SluiceError as error:
        return reported(error)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
