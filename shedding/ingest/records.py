"""The records of a batch, whatever their source: one frame that the rest of ingest treats alike."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.errors import AnalysisException, ArithmeticException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from shedding.errors import SourceError
from shedding.ingest.generators.registry import generate
from shedding.ingest.landing import BETWEEN, LandedFile
from shedding.ingest.parsing import Check, micros_of, parsed, raw_name, unreadable
from shedding.ingest.source_column import by_source, source_column
from shedding.ingest.text_lines import (
    TextFile,
    bare,
    bearable,
    fields,
    file_uri,
    flawed,
    mark_of,
    read_lines,
    right_count,
    shortened,
    sound_text,
    tidied,
    typed_row,
)
from shedding.spec.dataset import (
    ColumnSpec,
    DatasetSpec,
    DelimitedSource,
    GeneratorSource,
    ParquetSource,
    TransactionSource,
)

_READABLE = ("string", "int", "bigint", "smallint", "tinyint", "double", "float", "boolean", "timestamp",
             "timestamp_ntz", "date", "void", "decimal", "array<string>")  # fmt: skip
_MOMENTS = ("string", "timestamp", "timestamp_ntz", "date", "void")
_SOURCES = {
    "string": _READABLE,
    "timestamp": _MOMENTS,
    "date": _MOMENTS,
    "array<string>": ("array<string>", "void"),
}  # what may be read as these; numbers are refused for timestamps: their unit is unknown
_NUMBERS = tuple(kind for kind in _READABLE if kind not in (*_MOMENTS[1:-1], "array<string>"))  # read as any other
_NATIVE = ("int", "bigint", "boolean")  # what Spark's CSV parser reads as strictly as declared


@dataclass(frozen=True)
class Part:
    """What a source's number stands for in a batch: a file, or an interval of a generator."""

    source: int
    name: str
    file: LandedFile | None = None
    interval: tuple[int, int] | None = None


@dataclass(frozen=True)
class Records:
    """Records with `_source`, `_line`, `_record` (their text), `_identity` and what was given for each column.

    `kinds` are Spark's names of the types given, `checks` what can be wrong with a record as a whole. `_idle` marks
    what is no record. `total` is how many rows the frame has, where that was counted apart from reading them; `most`
    how many of them can be records.
    """

    frame: DataFrame
    kinds: dict[str, str]
    checks: list[Check] = field(default_factory=list)
    total: int | None = None
    most: int | None = None


def read_records(spark: SparkSession, dataset: DatasetSpec, parts: list[Part]) -> Records:
    """The records of a batch; its files must share one layout."""
    source = dataset.source
    if isinstance(source, GeneratorSource):
        return _generated(spark, dataset, source, parts)
    if isinstance(source, ParquetSource):
        return _parquet(spark, dataset, parts)
    if isinstance(source, TransactionSource):
        return _transactions(spark, dataset, source, parts)
    return _delimited(spark, dataset, source, parts)


def _delimited(spark: SparkSession, dataset: DatasetSpec, source: DelimitedSource, parts: list[Part]) -> Records:
    layout = _files(parts)[0].layout or tuple(column.source or column.name for column in dataset.columns)
    places = [layout.index(column.source or column.name) for column in dataset.columns]
    native = {place: c.type for place, c in zip(places, dataset.columns, strict=True) if c.type in _NATIVE}
    types: list[str] = [native.get(place, "string") for place in range(len(layout))]
    mark = mark_of(source.delimiter)
    lines = read_lines(spark, _text_files(parts), source.header)
    text = bearable(tidied(source.delimiter, len(layout), source.ragged), source.delimiter, len(layout))
    row = typed_row(text, types, mark)
    given = [fn.col(f"_row.c{place}").alias(raw_name(index)) for index, place in enumerate(places)]
    frame = lines.withColumn("_row", row).select("*", *given, fn.xxhash64("_content", "_line").alias("_identity"))
    kinds = {column.name: types[place] for place, column in zip(places, dataset.columns, strict=True)}
    why = malformed(dataset, places, fields(source.delimiter), len(layout), mark)
    checks = sound_text(_text_files(parts), quotes=mark not in " \t")
    checks.append(Check(fn.col("_row.broken").isNotNull(), *why))
    total = sum(file.lines for file in _files(parts))
    return Records(frame, kinds, checks, total, total - len(parts) * source.header)


def malformed(dataset: DatasetSpec, places: list[int], found: Column, count: int, mark: str) -> tuple[Column, Column]:
    """Column and reason of a line that cannot be read as declared: its fields looked at one by one, as texts."""
    texts = [fn.get(found, fn.lit(place)) for place in places]
    checks = [right_count(found, count)]
    for column, text in zip(dataset.columns, texts, strict=True):
        if column.type in _NATIVE:
            checks.append(
                unreadable(column, _as_strictly(column, text, dataset.event_time.zone, mark), text, "any text")
            )
    name, reason = fn.when(checks[0].broken, checks[0].column), fn.when(checks[0].broken, checks[0].reason)
    for check in checks[1:]:
        name, reason = name.when(check.broken, check.column), reason.when(check.broken, check.reason)
    return name.otherwise(""), reason.otherwise("cannot be read as declared")


def _as_strictly(column: ColumnSpec, text: Column, zone: str, mark: str) -> Column:
    """The value that Spark's CSV parser reads; of booleans only true and false. Not null where the field is empty."""
    value = parsed(column, text, "string", zone)
    if column.type == "boolean":
        value = fn.when(fn.lower(fn.trim(text)).isin("true", "false"), value)
    if mark in " \t":  # there blanks are part of a field
        value = fn.when(fn.trim(text) == text, value)
    return fn.when(text == "", fn.lit(0).cast(column.type)).otherwise(value)


def _transactions(spark: SparkSession, dataset: DatasetSpec, source: TransactionSource, parts: list[Part]) -> Records:
    lines = read_lines(spark, _text_files(parts), header=False)
    delimiter = "," if source.delimiter == "comma" else source.delimiter
    names = {part.source: part.name.rsplit("/", 1)[-1] for part in parts}
    # A line without any item is no basket; of a declared comma every empty field is an item that is missing.
    idle = fn.col("_idle") | (bare("any") == "")
    lines = lines.withColumn("_idle", idle).withColumn("_fields", fields(delimiter))
    lines = lines.withColumn("_file", by_source(names))
    checks = sound_text(_text_files(parts))
    if source.items == "exploded":
        lines, checks = _itemised(lines, checks)
        available = {"item": (fn.col("_item"), "string"), "position": (fn.col("_position"), "int")}
        identity = fn.xxhash64("_content", "_line", "_position")
    else:
        available = {"items": (fn.col("_fields"), "array<string>"), "size": (fn.size("_fields"), "int")}
        identity = fn.xxhash64("_content", "_line")
    available |= {"transaction": (fn.col("_line"), "bigint"), "file": (fn.col("_file"), "string")}
    given = _given(dataset, {name: column for name, (column, _) in available.items()})
    kinds = {column.name: available[column.source or column.name][1] for column in dataset.columns}
    return Records(lines.select("*", *given, identity.alias("_identity")), kinds, checks)


def _itemised(lines: DataFrame, checks: list[Check]) -> tuple[DataFrame, list[Check]]:
    """One row an item, and the checks of its line; a line that is no text is one record as a whole.

    What is said of a line is said before its items stand side by side, and beside none of them stands a long line: the
    cost of a line grows with its length, not with its square.
    """
    lines = lines.withColumn("_flaw", flawed(checks))
    lines = lines.withColumn(
        "_fields", fn.when(fn.col("_flaw") == 0, fn.col("_fields")).otherwise(fn.array(fn.lit("")))
    )
    lines = lines.withColumn("_record", shortened())
    items = lines.select("*", fn.posexplode("_fields").alias("_position", "_item")).drop("_fields")
    return items, [Check(fn.col("_flaw") == n, check.column, check.reason) for n, check in enumerate(checks, 1)]


def _parquet(spark: SparkSession, dataset: DatasetSpec, parts: list[Part]) -> Records:
    import pyarrow.parquet as pq

    files = _files(parts)
    # Columns of Arrow's null type have no Parquet type that Spark knows; they hold nothing to read.
    stored = {name: kind for name, _, kind in (entry.rpartition(BETWEEN) for entry in files[0].layout)}
    nulls = {name for name, kind in stored.items() if kind == "null"}
    try:
        rows = spark.read.parquet(*[str(file.path) for file in files])
    except (AnalysisException, ArithmeticException) as error:
        first = str(error).splitlines()[0]
        raise SourceError(
            f"{_named(files)} has a column that Spark cannot read ({first}); write the file again"
        ) from error
    types = {name: kind for name, kind in rows.dtypes if name not in nulls}
    kinds: dict[str, str] = {}
    given: list[Column] = []
    for index, column in enumerate(dataset.columns):
        name = column.source or column.name
        kinds[column.name] = types.get(name, "void")
        quoted = name.replace("`", "``")
        value = fn.col(f"`{quoted}`") if name in types else fn.lit(None)
        if "[ns" in stored[name] and kinds[column.name] == "bigint":  # Spark has no such timestamps and reads numbers
            value = fn.timestamp_micros(micros_of(value))
            kinds[column.name] = "timestamp" if "tz=" in stored[name] else "timestamp_ntz"
        if kinds[column.name].split("(")[0] not in _SOURCES.get(column.type, _NUMBERS):
            raise SourceError(
                f"{_named(files)}: column {name} is {kinds[column.name]}, which cannot be read as the declared "
                f"{column.type}; declare another type in datasets/{dataset.name}.yaml, or fix the file"
            )
        given.append(value.alias(raw_name(index)))
    # Only what is declared goes on, by names of our own: whatever else a file calls its columns clashes with nothing.
    place = rows.metadataColumn("_metadata")
    rows = rows.select(*given, place["file_path"].alias("_file"), (place["row_index"] + 1).alias("_line"))
    places = {
        "_file": [file_uri(spark, file.path) for file in files],
        "_source": [part.source for part in parts],
        "_content": [file.content for file in files],
    }
    frame = rows.join(fn.broadcast(spark.createDataFrame(pa.table(places))), "_file").select(
        "_source",
        "_line",
        fn.xxhash64("_content", "_line").alias("_identity"),
        fn.lit(False).alias("_idle"),
        fn.to_json(fn.struct(*_as_stored(dataset))).alias("_record"),
        *[raw_name(index) for index in range(len(dataset.columns))],
    )
    total = sum(pq.read_metadata(file.path).num_rows for file in files)
    return Records(frame, kinds, _sound_texts(dataset, kinds), total, total)


def _as_stored(dataset: DatasetSpec) -> list[Column]:
    """What the file gave, each by the name it has there, and once."""
    first: dict[str, int] = {}
    for index, column in enumerate(dataset.columns):
        first.setdefault(column.source or column.name, index)
    return [fn.col(raw_name(index)).alias(name) for name, index in first.items()]


def _sound_texts(dataset: DatasetSpec, kinds: dict[str, str]) -> list[Check]:
    """Every text is UTF-8: Parquet promises that, and nobody but Spark can read a table of other bytes."""
    found: list[Check] = []
    for index, column in enumerate(dataset.columns):
        text, kind = fn.col(raw_name(index)), kinds[column.name]
        if kind == "string":
            broken = ~fn.is_valid_utf8(text)
        elif kind == "array<string>":
            broken = fn.exists(text, lambda item: ~fn.is_valid_utf8(item))
        else:
            continue
        found.append(Check(broken, fn.lit(column.name), fn.lit("not UTF-8 text")))
    return found


def _generated(spark: SparkSession, dataset: DatasetSpec, source: GeneratorSource, parts: list[Part]) -> Records:
    intervals = sorted((part.interval, part.source) for part in parts if part.interval is not None)
    stretches: list[list[tuple[tuple[int, int], int]]] = []
    for interval, identifier in intervals:
        if not stretches or stretches[-1][-1][0][1] != interval[0]:
            stretches.append([])
        stretches[-1].append((interval, identifier))
    frames = []
    for stretch in stretches:
        rows = generate(spark, source, stretch[0][0][0], stretch[-1][0][1])
        # Every row is before the end of the last; one flat chain, since Spark is slow with nested ones.
        owner = fn.when(fn.lit(False), fn.lit(None).cast("bigint"))
        for (_, end), identifier in stretch:
            owner = owner.when(fn.col("_minute") < end // 60_000_000, source_column(identifier))
        frames.append(rows.withColumn("_source", owner))
    rows = frames[0]
    for frame in frames[1:]:
        rows = rows.unionAll(frame)
    types = dict(rows.dtypes)
    available = {name: fn.col(name) for name in types if not name.startswith("_")}
    record = fn.to_json(fn.struct(*available)).alias("_record")
    given = _given(dataset, available)
    kinds = {column.name: types[column.source or column.name] for column in dataset.columns}
    idle = fn.lit(False).alias("_idle")
    return Records(rows.select("_source", "_line", idle, "_identity", record, *given), kinds)


def _given(dataset: DatasetSpec, available: dict[str, Column]) -> list[Column]:
    missing = [c.source or c.name for c in dataset.columns if (c.source or c.name) not in available]
    if missing:
        raise SourceError(
            f"the source of dataset {dataset.name} has no column {', '.join(missing)}; it has {', '.join(available)}"
        )
    return [available[c.source or c.name].alias(raw_name(index)) for index, c in enumerate(dataset.columns)]


def _named(files: list[LandedFile]) -> str:
    """The files of a batch, in words; they share one layout, and what is wrong with it."""
    others = f" (and {', '.join(file.name for file in files[1:])}, of the same columns)" if files[1:] else ""
    return f"{files[0].path}{others[:1000]}"


def _files(parts: list[Part]) -> list[LandedFile]:
    return [part.file for part in parts if part.file is not None]


def _text_files(parts: list[Part]) -> list[TextFile]:
    return [TextFile(part.file, part.source) for part in parts if part.file is not None]
