"""The ingest application: new files or intervals of a dataset into raw, quarantine and concepts.

    python -m jobs.ingest --dataset taxi --from 2026-11-15 --to 2026-11-16

Order, per batch of sources: the log says `begun`, Spark writes raw rows, broken rows and counts under fresh source
ids, the counts are checked, and one append to the log makes the batch visible and hides what it replaces. A job that
dies anywhere before leaves rows that no reader ever sees; the next run reads the source again.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import SparkSession

from jobs.ingest_batch import BatchReport, catch_up, store_batch
from shedding.arrivals import Arrivals
from shedding.arrivals_log import watermark_row, write_log
from shedding.cli.arguments import add_interval
from shedding.cli.arguments import interval as interval_of
from shedding.config import Settings
from shedding.errors import SluiceError, SourceError, reported
from shedding.intake import Intake, Plan, batches, plan_files, plan_interval
from shedding.landing import LandedFile, inspect, landed_files, readable
from shedding.source_number import check_numbered
from shedding.spark.damage import READ_FAILURES, damaged
from shedding.spec.catalog import Catalog, load_catalog
from shedding.spec.dataset import DatasetSpec
from shedding.spec.keyset import keysets
from shedding.tables import Table


@dataclass(frozen=True)
class IngestReport:
    """What a run did: read = kept + excluded + quarantined, over the sources it ingested."""

    dataset: str
    read: int = 0
    kept: int = 0
    excluded: int = 0
    quarantined: int = 0
    late: int = 0
    sources: list[str] = field(default_factory=list)
    skipped: int = 0
    notes: list[str] = field(default_factory=list)
    watermark: int | None = None

    def plus(self, batch: BatchReport) -> IngestReport:
        """The report with a batch added."""
        return replace(
            self,
            read=self.read + batch.read,
            kept=self.kept + batch.kept,
            excluded=self.excluded + batch.excluded,
            quarantined=self.quarantined + batch.quarantined,
            late=self.late + batch.late,
            sources=self.sources + batch.sources,
        )


def ingest(
    spark: SparkSession,
    settings: Settings,
    catalog: Catalog,
    dataset: str,
    *,
    files: list[Path] | None = None,
    interval: tuple[int, int] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> IngestReport:
    """Ingest what is new: the given files, those the landing directory holds, or a generator's [from, to).

    Idempotent: content that is visible already changes nothing. A file that cannot be read is refused whole; the
    others are ingested, then SourceError names it. With an interval, a file dataset's watermark moves to its end.
    """
    spec = catalog.dataset(dataset)
    session = _session(spark)
    now = dt.datetime.now(dt.UTC)
    arrivals = Arrivals.load(settings, dataset)
    _check_table(settings, dataset)
    plan, refused = _plan(settings, spec, files, interval, arrivals, progress)
    report = IngestReport(dataset, skipped=len(plan.known), notes=plan.known)
    counted = keysets(catalog, dataset)
    catch_up(session, settings, spec, counted, arrivals, now)
    for intake in plan.intakes:
        if intake.file is not None and intake.replaces:
            progress(f"{intake.name} takes the place of the rows that came by its name or its content before")
    queue = list(batches(plan.intakes))
    for number, batch in enumerate(queue, 1):
        progress(f"batch {number} of {len(queue)}: {', '.join(i.name for i in batch[:3])}{' ...' * (len(batch) > 3)}")
        try:
            done = store_batch(session, settings, spec, batch, counted, now, uuid.uuid4().hex)
        except SourceError as error:
            refused.append(str(error))
            continue
        except READ_FAILURES:
            sound = _sound(session, spec, batch, refused)
            if len(sound) == len(batch) == 1:
                raise
            # Each can be read and all cannot: one by one, so that whichever it is takes no other with it.
            queue += [[intake] for intake in sound] if len(sound) == len(batch) else [sound] if sound else []
            continue
        report = report.plus(done)
        progress(f"batch {number} of {len(queue)}: read {done.read}, kept {done.kept}, quarantined {done.quarantined}")
    if interval is not None and spec.source.kind != "generator":
        write_log(settings, dataset, [watermark_row(interval)], now)
    if refused:
        raise SourceError("; ".join(refused))
    return replace(report, watermark=Arrivals.load(settings, dataset).watermark)


def _check_table(settings: Settings, dataset: str) -> None:
    schema = Table(settings.table("raw", dataset)).schema()
    if schema is not None:
        check_numbered(settings, dataset, str(schema.field("_source").type))


def _plan(
    settings: Settings,
    dataset: DatasetSpec,
    files: list[Path] | None,
    interval: tuple[int, int] | None,
    arrivals: Arrivals,
    progress: Callable[[str], None],
) -> tuple[Plan, list[str]]:
    if dataset.source.kind == "generator":
        if interval is None or files:
            raise SourceError(f"dataset {dataset.name} is a generator: give an interval (--from, --to) and no files")
        return plan_interval(dataset, *interval, arrivals), []
    found: list[LandedFile] = []
    refused: list[str] = []
    for path in files if files is not None else landed_files(settings, dataset):
        progress(f"looking at {readable(Path(path.name))}")
        try:
            found.append(inspect(settings, dataset, path))
        except SourceError as error:
            refused.append(str(error))
    return plan_files(dataset, found, arrivals), refused


def _sound(spark: SparkSession, dataset: DatasetSpec, batch: list[Intake], refused: list[str]) -> list[Intake]:
    """The sources of a batch that can be read, after it failed; words on the others are added to `refused`."""
    if dataset.source.kind != "parquet":
        return batch
    bad = damaged(spark, [intake.file.path for intake in batch if intake.file])
    refused += bad.values()
    return [intake for intake in batch if intake.file is None or intake.file.path not in bad]


def _session(spark: SparkSession) -> SparkSession:
    """A session of ingest's own: a derived column that divides by zero is null there, not the end of the job."""
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")
    session.conf.set("spark.sql.session.timeZone", "UTC")
    # Else every field taken from a parsed line would parse the line again.
    session.conf.set("spark.sql.optimizer.enableCsvExpressionOptimization", "false")
    # What a check says of a column would be said again of every column made from it, by the thousand.
    session.conf.set("spark.sql.constraintPropagation.enabled", "false")
    session.conf.set("spark.sql.maxConcurrentOutputFileWriters", "16")
    # Timestamps in nanoseconds, as pandas writes them, come as numbers and are cut to microseconds.
    session.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
    # Bytes that changed since they were written are an error, not other values, where the writer left checksums.
    session.conf.set("parquet.page.verify-checksum.enabled", "true")
    # Every u is another: a dictionary would be begun for each file, and given up.
    session.conf.set("parquet.enable.dictionary#u", "false")
    session.conf.set("parquet.size.statistics.enabled", "false")
    session.conf.set("parquet.column.statistics.enabled#_source", "false")  # one value a file, which Delta notes
    return session


def main(argv: list[str] | None = None) -> int:
    """The Spark application; settings come from the environment."""
    from shedding.spark.session import spark_session

    parser = argparse.ArgumentParser(prog="ingest", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--dataset", required=True)
    add_interval(parser, required=False)
    parser.add_argument("--file", dest="files", action="append", type=Path)
    options = parser.parse_args(argv)
    try:
        span, settings = interval_of(options), Settings.load()
        with spark_session(settings, f"ingest {options.dataset}") as spark:
            report = ingest(
                spark, settings, load_catalog(settings.specs), options.dataset,
                files=options.files, interval=span, progress=lambda text: print(text, flush=True),
            )  # fmt: skip
    except SluiceError as error:
        return reported(error)
    print(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
