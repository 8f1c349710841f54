"""`sluice ingest`: rows into `raw/<dataset>`, broken ones into `quarantine/<dataset>`."""

from __future__ import annotations

import argparse
from pathlib import Path

from jobs.cli.arguments import add_interval, instant, interval
from jobs.cli.progress import Progress
from shedding.config import Settings
from shedding.errors import SluiceError, SourceError
from shedding.spec import load_catalog
from shedding.spec.dataset import DatasetSpec
from shedding.spec.times import format_instant


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("ingest", help="ingest files, the landing directory, or a generator's interval")
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("files", metavar="FILE", nargs="*", type=Path, help="left out: what waits in the landing")
    add_interval(parser, required=False)
    parser.add_argument(
        "--complete-to", type=instant, metavar="T", help="say that all rows before T have come; reads no file"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 once everything readable is in; rows that broke a rule are quarantined and counted."""
    catalog = load_catalog(settings.specs)
    dataset = catalog.dataset(arguments.dataset)
    span = interval(arguments)
    if arguments.complete_to is not None:
        return _complete(settings, dataset, arguments, span)
    _refuse_what_makes_no_sense(dataset, arguments.files, span)
    from jobs.ingest import ingest
    from shedding.spark.session import spark_session

    with (
        Progress(f"ingest {dataset.name}") as progress,
        spark_session(settings, f"sluice ingest {dataset.name}") as spark,
    ):
        report = ingest(
            spark, settings, catalog, dataset.name,
            files=arguments.files or None, interval=span, progress=progress.step,
        )  # fmt: skip
    until = format_instant(report.watermark) if report.watermark is not None else "no rows yet"
    print(
        f"{dataset.name}: read {report.read}, kept {report.kept}, excluded {report.excluded}, "
        f"quarantined {report.quarantined}; {len(report.sources)} sources, {report.skipped} known already; "
        f"watermark {until}"
    )
    for problem in report.problems:
        print(problem)
    if report.quarantined:
        print(f"broken rows and their reasons: sluice show quarantine/{dataset.name}")
    return 0


def _complete(
    settings: Settings, dataset: DatasetSpec, arguments: argparse.Namespace, span: tuple[int, int] | None
) -> int:
    """The owner's word that nothing before an instant is still to come: slots that end by then need not wait."""
    import datetime as dt

    from shedding.ingest.arrivals import Arrivals
    from shedding.ingest.arrivals_log import watermark_row, write_log

    if dataset.source.kind == "generator":
        raise SluiceError(f"{dataset.name} comes from a generator, which knows what it has made; give --from and --to")
    if arguments.files or span is not None:
        raise SluiceError("--complete-to goes alone: ingest the files first, then say that they were all")
    arrivals = Arrivals.load(settings, dataset.name)
    first = arrivals.first_event
    if first is None or arguments.complete_to <= first:
        raise SluiceError(
            f"{dataset.name} has no row before {format_instant(arguments.complete_to)}; ingest its files first"
        )
    write_log(settings, dataset.name, [watermark_row((first, arguments.complete_to))], dt.datetime.now(dt.UTC))
    until = Arrivals.load(settings, dataset.name).watermark
    assert until is not None
    print(f"{dataset.name}: watermark {format_instant(until)}")
    return 0


def _refuse_what_makes_no_sense(dataset: DatasetSpec, files: list[Path], span: tuple[int, int] | None) -> None:
    if dataset.source.kind == "generator":
        if files:
            raise SluiceError(f"{dataset.name} comes from a generator and takes no files; give --from and --to")
        if span is None:
            raise SluiceError(f"{dataset.name} comes from a generator; say which rows to make with --from and --to")
    missing = [str(file) for file in files if not file.is_file()]
    if missing:
        raise SourceError(f"no file {missing[0]}; nothing was ingested")
