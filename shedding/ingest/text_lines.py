"""Text files as records: fields, true line numbers, and lines that are no record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from shedding.ingest.landing import LandedFile
from shedding.ingest.line_counter import BLOCK
from shedding.ingest.parsing import Check
from shedding.ingest.source_column import source_column

_BLANKS = {"whitespace": r"\s+", "any": r"[\s,]+"}
_ENDS = {"whitespace": " \t\x0b\f", "any": " \t\x0b\f,"}
"""Of delimiters that are several signs: what stands between two fields, and at the ends of a line means nothing."""
_PLACES = ["_file", "_block", "_first", "_source", "_content"]
_MOST_FIELDS = 20_480  # what Spark's CSV parser takes of itself; a line with more would end the job
_PAGE = 4096
_IN_TASK = (1 << 33) - 1  # the part of Spark's increasing ids that counts within a task


@dataclass(frozen=True)
class TextFile:
    """A file to read as lines: the number its rows carry, the content their identity comes from."""

    file: LandedFile
    source: int


def read_lines(spark: SparkSession, files: list[TextFile], header: bool) -> DataFrame:
    """Lines of text files with `_source`, `_content`, `_line` (1 is the file's first) and `_idle`.

    Idle lines are no records: blank ones, and the header. To be executed within `blocks`: then a
    task's lines follow on those that were counted before its block.
    """
    lines = spark.read.text([str(text.file.path) for text in files])
    if len(files) > 1:  # else not even asked for: Spark would copy every line to put it beside the line
        lines = lines.withColumn("_file", fn.col("_metadata.file_path"))
    lines = lines.withColumnRenamed("value", "_record").select(
        "*",
        fn.input_file_block_start().alias("_block"),
        fn.monotonically_increasing_id().bitwiseAND(fn.lit(_IN_TASK)).alias("_place"),
    )
    numbered = _placed_alone(lines, files[0]) if len(files) == 1 else _placed(spark, lines, files)
    line = fn.col("_place") + fn.col("_first")
    # Blanks only: a line of tabs is a record of empty fields. The comparison spares nearly all lines the trimming.
    idle = (fn.col("_record") < "!") & (fn.trim(fn.col("_record")) == "")
    return numbered.select(
        "_record", "_source", "_content", line.alias("_line"), (idle | (line == 1) if header else idle).alias("_idle")
    )


def _placed_alone(lines: DataFrame, text: TextFile) -> DataFrame:
    """Lines of one file with `_source`, `_content` and the number `_first` of their block's first line."""
    starts = fn.array(*[fn.lit(before + 1).cast("bigint") for before in text.file.before])
    return lines.select(
        "*",
        source_column(text.source).alias("_source"),
        fn.lit(text.file.content).alias("_content"),
        fn.get(starts, fn.floor(fn.col("_block") / BLOCK).cast("int")).alias("_first"),
    )


def _placed(spark: SparkSession, lines: DataFrame, files: list[TextFile]) -> DataFrame:
    """The same of several files."""
    places = [
        (file_uri(spark, text.file.path), number * BLOCK, before + 1, text.source, text.file.content)
        for text in files
        for number, before in enumerate(text.file.before)
    ]
    # From Arrow, not from a list: that would start Python workers.
    where = spark.createDataFrame(pa.table(list(map(pa.array, zip(*places, strict=True))), names=_PLACES))
    return lines.join(fn.broadcast(where), ["_file", "_block"])


@contextmanager
def blocks(spark: SparkSession) -> Iterator[None]:
    """While entered, the session gives every task one block of one text file."""
    # A file as costly to open as a whole block is to read never shares a task.
    names = ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes")
    for name in names:
        spark.conf.set(name, str(BLOCK))
    try:
        yield
    finally:
        for name in names:
            spark.conf.unset(name)


def fields(delimiter: str) -> Column:
    """The fields of `_record` as an array of texts; quotes are honoured where the delimiter may be quoted."""
    record = fn.col("_record")
    if delimiter in _BLANKS:
        return fn.split(bare(delimiter), _BLANKS[delimiter])
    mark = mark_of(delimiter)
    plain = fn.split(record, re.escape(mark), -1)
    quoted = fn.transform(_pieces(record, mark), _unquoted)
    return plain if mark == "\t" else fn.when(fn.contains(record, fn.lit('"')), quoted).otherwise(plain)


def bare(delimiter: str) -> Column:
    """`_record` without the signs at its ends that separate no fields."""
    return fn.trim(fn.col("_record"), fn.lit(_ENDS[delimiter]))


def mark_of(delimiter: str) -> str:
    """The one character that stands between the fields of a tidied line."""
    return {"whitespace": " ", "tab": "\t"}.get(delimiter, delimiter)


def tidied(delimiter: str, count: int, ragged: bool) -> Column:
    """`_record` with one mark between fields; a ragged one with as many fields as declared, if it can be."""
    record = fn.col("_record")
    mark = mark_of(delimiter)
    if delimiter in _BLANKS:
        record = fn.regexp_replace(bare(delimiter), _BLANKS[delimiter], mark)
    if not ragged:
        return record
    short = fn.rtrim(record, fn.lit(mark))
    return fn.concat(short, fn.repeat(fn.lit(mark), fn.greatest(fn.lit(count) - _count(short, mark), fn.lit(0))))


def bearable(text: Column, delimiter: str, count: int) -> Column:
    """`text`, or in place of a line with more fields than Spark's parser bears one that has a field too many."""
    most, mark = _most_fields(count), mark_of(delimiter)
    many = (fn.octet_length("_record") > most) & (_count(text, mark) > most)  # hardly a line is that long
    return fn.when(many, fn.lit("x" + mark * count)).otherwise(text)


def _most_fields(count: int) -> int:
    return max(_MOST_FIELDS, count + 1)


def typed_row(text: Column, types: list[str], mark: str) -> Column:
    """A line as a struct c0, c1, ... of the types, and `broken`: not null where it could not be read so.

    Spark's own CSV parser in one expression: splitting first and casting each field is several times slower.
    """
    schema = ", ".join(f"c{index} {kind}" for index, kind in enumerate(types))
    quoted = mark not in " \t"
    trims = str(quoted).lower()  # blanks around a field are not part of it
    options = {
        "sep": mark, "quote": '"' if quoted else "", "escape": '"' if quoted else "\\", "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": "broken", "ignoreLeadingWhiteSpace": trims, "ignoreTrailingWhiteSpace": trims,
        "emptyValue": "", "maxCharsPerColumn": "-1", "maxColumns": str(_most_fields(len(types))),
    }  # fmt: skip
    return fn.from_csv(text, f"{schema}, broken string", options)


def _count(record: Column, mark: str) -> Column:
    """How many fields a line has; a mark in quotes separates none."""
    plain = fn.length(record) - fn.length(fn.replace(record, fn.lit(mark), fn.lit(""))) + 1
    if mark in " \t":
        return plain
    return fn.when(fn.contains(record, fn.lit('"')), fn.size(_pieces(record, mark))).otherwise(plain)


def _pieces(record: Column, mark: str) -> Column:
    """The fields of a line as they stand there; one in quotes may hold the mark.

    What is in quotes is passed over possessively: else Java goes one call deeper a character, and a long text ends it.
    """
    sign = re.escape(mark)
    return fn.regexp_extract_all(fn.concat(fn.lit(mark), record), fn.lit(f'{sign}("(?:[^"]|"")*+"|[^{sign}]*)'), 1)


def _unquoted(field: Column) -> Column:
    """A field without its quotes; doubled ones inside stand for one."""
    inside = fn.substring(field, fn.lit(2), fn.length(field) - 2)
    return fn.when(field.startswith('"'), fn.replace(inside, fn.lit('""'), fn.lit('"'))).otherwise(field)


def sound_text(files: list[TextFile], quotes: bool = False) -> list[Check]:
    """The line is UTF-8, has no zeros and, if `quotes` matter, closes them; checked only where a file may fail."""
    found: list[Check] = []
    if not all(text.file.ascii for text in files):
        found.append(Check(~fn.is_valid_utf8("_record"), fn.lit(""), fn.lit("not UTF-8 text")))
    if any(text.file.nul for text in files):
        found.append(Check(fn.instr("_record", "\0") > 0, fn.lit(""), fn.lit("a byte of value 0 in the text")))
    if quotes and any(text.file.quotes for text in files):
        found.append(_closed_quotes())
    return found


def flawed(checks: list[Check]) -> Column:
    """The number of the first check that a line breaks, counted from 1; 0 for a sound one."""
    flaw = fn.lit(0)
    for number, check in reversed(list(enumerate(checks, 1))):
        flaw = fn.when(check.broken, number).otherwise(flaw)
    return flaw


def shortened() -> Column:
    """`_record`, of a line longer than a page its beginning."""
    start = fn.concat(fn.substring("_record", 1, _PAGE), fn.lit(" ..."))
    return fn.when(fn.octet_length("_record") > _PAGE, start).otherwise(fn.col("_record"))


def _closed_quotes() -> Check:
    quotes = fn.length("_record") - fn.length(fn.replace(fn.col("_record"), fn.lit('"'), fn.lit("")))
    return Check(fn.contains("_record", fn.lit('"')) & (quotes % 2 == 1), fn.lit(""), fn.lit("unclosed quote"))


def right_count(found: Column, count: int) -> Check:
    """The line has as many fields as declared."""
    reason = fn.concat(fn.lit(f"wrong number of fields, {count} expected, found "), fn.size(found).cast("string"))
    return Check(fn.size(found) != count, fn.lit(""), reason)


def file_uri(spark: SparkSession, path: Path) -> str:
    """A path as Spark writes it in file metadata."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    return str(jvm.org.apache.hadoop.fs.Path(f"file:{path}").toUri().toString())
