"""Text files as records: fields, true line numbers, and lines that are no record."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from shedding.spark.parse import Check

_PLACES = ["_file", "_split", "_shift", "_source", "_content"]


@dataclass(frozen=True)
class TextFile:
    """A file to read as lines: the id its rows carry, the content their identity comes from."""

    path: Path
    source_id: str
    content: str


def read_lines(spark: SparkSession, files: list[TextFile], header: bool) -> tuple[DataFrame, dict[str, int]]:
    """Records of text files with `_source`, `_content` and `_line` (1 is the file's first line), and records a file.

    Blank lines are no records. Files stay splittable: a counting pass tells every split where its lines begin.
    """
    names = {file_uri(spark, file.path): file for file in files}
    lines = spark.read.text([str(file.path) for file in files]).select(
        fn.col("value").alias("_record"),
        fn.col("_metadata.file_path").alias("_file"),
        fn.col("_metadata.file_block_start").alias("_split"),
        fn.monotonically_increasing_id().alias("_id"),
    )
    splits = (
        lines.groupBy("_file", "_split")
        .agg(fn.min("_id").alias("first"), fn.count("*").alias("lines"), fn.count_if(_is_blank()).alias("blank"))
        .collect()
    )
    places: list[tuple[str, int, int, str, str]] = []
    records: dict[str, int] = dict.fromkeys((file.source_id for file in files), 0)
    before: dict[str, int] = {}
    for split in sorted(splits, key=lambda s: (s["_file"], s["_split"])):
        file = names[split["_file"]]
        passed = before.get(split["_file"], 0)
        places.append((split["_file"], split["_split"], passed + 1 - split["first"], file.source_id, file.content))
        before[split["_file"]] = passed + split["lines"]
        records[file.source_id] += split["lines"] - split["blank"]
    if header:
        records = {source: max(0, count - 1) for source, count in records.items()}
    # From Arrow, not from a list: that would start Python workers.
    columns = zip(*places, strict=True)
    where = spark.createDataFrame(pa.table(list(map(pa.array, columns)), names=_PLACES))
    numbered = lines.join(fn.broadcast(where), ["_file", "_split"]).withColumn(
        "_line", fn.col("_id") + fn.col("_shift")
    )
    numbered = numbered.where(~_is_blank())
    if header:
        numbered = numbered.where(fn.col("_line") > 1)
    return numbered.select("_record", "_source", "_content", "_line"), records


def _is_blank() -> Column:
    # Blanks only: a line of tabs is a record of empty fields.
    return fn.trim(fn.col("_record")) == ""


def fields(delimiter: str, count: int) -> Column:
    """The fields of `_record`; quotes are honoured where the delimiter is one character."""
    record = fn.col("_record")
    if delimiter == "whitespace":
        return fn.split(fn.trim(record), r"\s+")
    if delimiter == "any":
        return fn.split(fn.trim(record), r"[\s,]+")
    mark = "\t" if delimiter == "tab" else delimiter
    plain = fn.split(record, re.escape(mark) if mark in r".$|()[{^?*+\ " else mark, -1)
    return fn.when(fn.instr(record, '"') == 0, plain).otherwise(_quoted(mark, count))


def _quoted(mark: str, count: int) -> Column:
    """Fields of a line with quotes; more than declared are kept as one more, so that they are noticed."""
    names = [f"c{index}" for index in range(count + 1)]
    options = {"sep": mark, "quote": '"', "escape": '"', "mode": "PERMISSIVE"}
    row = fn.from_csv(fn.col("_record"), ", ".join(f"{name} string" for name in names), options)
    present = fn.size(fn.split(_outside_quotes(), re.escape(mark), -1))
    values = fn.array(*[fn.coalesce(row[name], fn.lit("")) for name in names])
    return fn.slice(values, 1, fn.least(present, fn.lit(count + 1)))


def _outside_quotes() -> Column:
    """The record without its quoted parts, to count its fields by."""
    return fn.regexp_replace("_record", '"(?:[^"]|"")*"', "")


def line_checks(delimiter: str, count: int, ragged: bool) -> list[Check]:
    """Whether the line itself is sound: its encoding, its quotes and the number of its fields (in `_fields`)."""
    found = fn.size("_fields")
    if ragged:
        beyond = fn.slice(fn.col("_fields"), count + 1, fn.greatest(found - count, fn.lit(0)))
        wrong = fn.when(found > count, fn.array_max(beyond) != "").otherwise(fn.lit(False))
        words = f"more than {count} fields"
    else:
        wrong, words = found != count, f"wrong number of fields, {count} expected, found"
    checks = [Check(~fn.is_valid_utf8("_record"), "", fn.lit("not UTF-8 text"))]
    if delimiter not in ("whitespace", "any"):
        quotes = fn.length("_record") - fn.length(fn.replace(fn.col("_record"), fn.lit('"'), fn.lit("")))
        unclosed = (fn.instr("_record", '"') > 0) & (quotes % 2 == 1)
        checks.append(Check(unclosed, "", fn.lit("unclosed quote")))
    reason = fn.lit(words) if ragged else fn.concat(fn.lit(f"{words} "), found.cast("string"))
    return [*checks, Check(wrong, "", reason)]


def file_uri(spark: SparkSession, path: Path) -> str:
    """A path as Spark writes it in file metadata."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    return str(jvm.org.apache.hadoop.fs.Path(f"file:{path}").toUri().toString())
