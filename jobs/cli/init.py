"""`sluice init`: a dataset and a query, written from a sample file, with the choices in comments."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from shedding.config import Settings
from shedding.errors import SpecError
from shedding.fields import NAME
from shedding.spec import load_catalog


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("init", help="write a dataset and a query from a sample file (CSV or Parquet)")
    parser.add_argument("name", metavar="NAME", help="of the dataset")
    parser.add_argument("file", metavar="FILE", type=Path, help="a sample: its first rows are looked at")
    parser.add_argument("--time", metavar="COLUMN", help="the event time; left out: the first timestamp")
    parser.add_argument("--by", metavar="COLUMN", help="the key; left out: the column with the most values that repeat")
    parser.add_argument("--measure", metavar="COLUMN", help="what is averaged; left out: the first number")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 once both files are written and valid; a file that is there already is never touched."""
    from jobs.first_specs import Choices, Sample, first_specs

    if not re.fullmatch(NAME, arguments.name):
        raise SpecError(f"{arguments.name!r} is no name; write lower-case letters, digits and _, a letter first")
    texts = first_specs(
        arguments.name, Sample.of(arguments.file), Choices(arguments.time, arguments.by, arguments.measure)
    )
    files = {settings.specs / path: text for path, text in texts.items()}
    there = [file for file in files if file.exists()]
    if there:
        raise SpecError(f"{there[0]} is there already; choose another name, or remove it first")
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        print(f"wrote {file}")
    problems = [problem for problem in load_catalog(settings.specs).problems if problem.file in files]
    print(*problems, sep="\n", end="\n" if problems else "")
    query = next(file.stem for file in files if file.parent.name == "queries")
    print(
        f"next: sluice ingest {arguments.name} {arguments.file}; sluice profile {arguments.name}; "
        f"sluice run {query} --from T --to T"
    )
    return 1 if problems else 0
