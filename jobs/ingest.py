"""The ingest application: new files or intervals of a dataset into raw, quarantine and concepts.

    python -m jobs.ingest --dataset taxi --from 2026-11-15 --to 2026-11-16

Order, per batch of sources: the log says `begun`, Spark writes raw rows, broken rows and counts under fresh source
ids, the counts are checked, and one append to the log makes the batch visible and hides what it replaces. A job that
dies anywhere before leaves rows that no reader ever sees; the next run reads the source again.
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import SparkSession

from jobs.catch_up import catch_up
from jobs.cli.arguments import add_interval
from jobs.cli.arguments import interval as interval_of
from jobs.ingest_queue import stored
from shedding import warehouse
from shedding.config import Settings
from shedding.errors import FilesError, SluiceError, SourceError, innermost, refusal, reported
from shedding.ingest.arrivals import Arrivals
from shedding.ingest.arrivals_log import watermark_row, write_log
from shedding.ingest.batch import BatchReport, check_unchanged, store_batch
from shedding.ingest.damaged_files import READ_FAILURES, damaged
from shedding.ingest.landing import LandedFile, inspect, landed_files, readable
from shedding.ingest.source_number import check_numbered
from shedding.ingest.source_plan import Intake, Plan, batches, plan_files, plan_interval
from shedding.spec.catalog import Catalog, load_catalog
from shedding.spec.dataset import DatasetSpec
from shedding.spec.keyset import KeySet, needed_by


@dataclass(frozen=True)
class IngestReport:
    """What a run did: read = kept + excluded + quarantined, over the sources it ingested.

    `problems` are those of queries whose keys could not be counted, each under the query's name.
    """

    dataset: str
    read: int = 0
    kept: int = 0
    excluded: int = 0
    quarantined: int = 0
    late: int = 0
    sources: list[str] = field(default_factory=list)
    skipped: int = 0
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
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

    Idempotent: content that is visible already changes nothing. A file that cannot be taken is refused whole, whatever
    is wrong with it; the others are ingested, then SourceError names it. With an interval, a file dataset's watermark
    moves to its end.
    A query whose keys cannot be counted is told of in the report, and counted once it is fixed; no other waits for it.
    """
    spec = catalog.dataset(dataset)
    session = _session(spark)
    now = dt.datetime.now(dt.UTC)
    arrivals = Arrivals.load(settings, dataset)
    _check_table(settings, dataset)
    refused = _Refused(progress)
    plan = _plan(settings, spec, files, interval, arrivals, progress, refused)
    report = IngestReport(dataset, skipped=len(plan.known), notes=plan.known)
    needed = needed_by(catalog, dataset)
    counted = [needed[identifier][0] for identifier in sorted(needed)]
    for intake in plan.intakes:
        if intake.file is not None and intake.replaces:
            progress(f"{intake.name} takes the place of the rows that came by its name or its content before")

    queue = list(batches(plan.intakes))
    numbers = itertools.count(1)

    def store(batch: list[Intake]) -> BatchReport:
        number = next(numbers)
        place = f"batch {number} of {max(number, len(queue))}"  # one that failed is tried again in parts
        progress(f"{place}: {', '.join(i.name for i in batch[:3])}{' ...' * (len(batch) > 3)}")
        done = _store(session, settings, spec, batch, counted, now)
        progress(f"{place}: read {done.read}, kept {done.kept}, quarantined {done.quarantined}")
        return done

    problems: list[str] = []
    with refused.said():
        uncounted = catch_up(session, settings, spec, counted, arrivals, now)
        for done in stored(queue, store, lambda: _works(session), refused.add):
            report = report.plus(done)
            uncounted |= done.uncounted
        if interval is not None and spec.source.kind != "generator":
            write_log(settings, dataset, [watermark_row(interval)], now)
        problems = [_uncounted(name, uncounted[key]) for key in sorted(uncounted) for name in needed[key][1]]
        for problem in problems:
            progress(problem)
    return replace(report, problems=problems, watermark=Arrivals.load(settings, dataset).watermark)


def _uncounted(query: str, error: Exception) -> str:
    remedy = f"fix it (`sluice check --spark` analyses it) and run ingest again; until then {query} alone is affected"
    return f"queries/{query}.yaml: its keys could not be counted: {innermost(error)}; {remedy}"


@dataclass(frozen=True)
class _Refused:
    """Words on files that cannot be taken: told as they are found, and again by the error that ends the run."""

    tell: Callable[[str], None]
    words: list[str] = field(default_factory=list)

    def add(self, words: str) -> None:
        self.tell(f"refused: {words}")
        self.words.append(words)

    @contextmanager
    def said(self) -> Iterator[None]:
        """SourceError at the end where files were refused; an error that came before it tells of them too."""
        try:
            yield
        except Exception as error:
            if not self.words:
                raise
            kind = type(error) if isinstance(error, SluiceError) and not isinstance(error, FilesError) else SourceError
            raise kind("; ".join([innermost(error), *self.words])) from error
        if self.words:
            raise refusal(self.words)


def _check_table(settings: Settings, dataset: str) -> None:
    schema = warehouse.raw(settings, dataset).schema()
    if schema is not None:
        check_numbered(settings, dataset, str(schema.field("_source").type))


def _plan(
    settings: Settings,
    dataset: DatasetSpec,
    files: list[Path] | None,
    interval: tuple[int, int] | None,
    arrivals: Arrivals,
    progress: Callable[[str], None],
    refused: _Refused,
) -> Plan:
    if dataset.source.kind == "generator":
        if interval is None or files:
            raise SourceError(f"dataset {dataset.name} is a generator: give an interval (--from, --to) and no files")
        return plan_interval(dataset, *interval, arrivals)
    found: list[LandedFile] = []
    for path in files if files is not None else landed_files(settings, dataset):
        progress(f"looking at {readable(Path(path.name))}")
        try:
            found.append(inspect(settings, dataset, path))
        except SourceError as error:
            refused.add(str(error))
    plan = plan_files(dataset, found, arrivals)
    for words in plan.refused:
        refused.add(words)
    return plan


def _store(
    spark: SparkSession,
    settings: Settings,
    dataset: DatasetSpec,
    batch: list[Intake],
    counted: list[KeySet],
    now: dt.datetime,
) -> BatchReport:
    """Store a batch; where that fails, FilesError for those of its files that can be seen to be at fault."""
    try:
        return store_batch(spark, settings, dataset, batch, counted, now, uuid.uuid4().hex)
    except Exception as error:
        check_unchanged(batch)
        if isinstance(error, READ_FAILURES) and dataset.source.kind == "parquet":
            columns = {column.source or column.name for column in dataset.columns}
            bad = damaged(spark, [intake.file.path for intake in batch if intake.file], columns)
            if bad:
                raise FilesError(bad) from error
        raise


def _works(spark: SparkSession) -> bool:
    """Whether Spark still does what has nothing to do with any file."""
    try:
        return int(spark.range(1).count()) == 1
    except Exception:
        return False


def _session(spark: SparkSession) -> SparkSession:
    """A session of ingest's own: a derived column that divides by zero is null there, not the end of the job."""
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")
    session.conf.set("spark.sql.session.timeZone", "UTC")
    # Else every field taken from a parsed line would parse the line again.
    session.conf.set("spark.sql.optimizer.enableCsvExpressionOptimization", "false")
    # Else Catalyst copies each check's constraint to every derived column, and planning explodes.
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
    print(replace(report, problems=[]), *report.problems, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
