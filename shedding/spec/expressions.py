"""SQL expressions of the specifications, checked without Spark: syntax, columns and functions."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from shedding.spec.catalog import Catalog, Problem
from shedding.spec.dataset import DatasetSpec
from shedding.spec.query import QuerySpec

_MADE = ("event_time",)
_SQL_ONLY = frozenset({
    "bigint", "binary", "boolean", "date", "decimal", "double", "float", "int", "smallint", "string", "timestamp",
    "tinyint", "cast", "try_cast", "extract", "if", "mod", "div", "in", "case", "approx_percentile", "date_part",
    "named_struct", "position", "timestampadd", "timestampdiff", "trim", "substring", "overlay", "exists", "filter",
    "values", "std", "any", "some", "every", "len", "luhn_check", "space", "time", "array_binary_search",
    "map", "struct", "array", "nvl", "nvl2", "now", "char_length",
})  # fmt: skip
"""Functions of Spark's SQL that its Python names leave out."""


def expression_problems(catalog: Catalog, directory: Path) -> Iterator[Problem]:
    """What is wrong with `derived`, `exclude` and `where` of the valid specifications below `directory`.

    Finds what cannot be parsed, columns that are not there, and functions that Spark does not have. It does not know
    types: an expression that passes may still fail in Spark on those.
    """
    for name, dataset in sorted(catalog.datasets.items()):
        file = directory / "datasets" / f"{name}.yaml"
        for key, text, columns in _of_dataset(dataset):
            yield from (Problem(file, key, f"is {text!r}: {what}") for what in faults(text, columns))
    for name, query in sorted(catalog.queries.items()):
        file = directory / "queries" / f"{name}.yaml"
        for key, text, columns in _of_query(query, catalog):
            yield from (Problem(file, key, f"is {text!r}: {what}") for what in faults(text, columns))


def faults(text: str, columns: list[str]) -> list[str]:
    """What is wrong with one expression over `columns`, in words that say how to mend it; none where it is sound."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        parsed = sqlglot.parse_one(f"SELECT ({text})", dialect="spark")
    except SqlglotError as error:
        return [f"no SQL expression: {_first_words(error)}; mend it, e.g. `fare > 0 AND zone IS NOT NULL`"]
    inside = parsed.find(exp.Paren, exp.Tuple)
    if inside is None or isinstance(inside, exp.Tuple) or isinstance(inside.this, exp.Alias):
        return ["more than one SQL expression; write one, e.g. `fare > 0 AND zone IS NOT NULL`"]
    known = {column.lower() for column in columns}
    used = [column.parts[0].name for column in parsed.find_all(exp.Column)]
    lacking = sorted({name for name in used if name.lower() not in known})
    found = [f"no column {name!r}{_meant(name, columns)}; there is: {', '.join(columns)}" for name in lacking]
    return found + [f"Spark has no function {name!r}{_meant(name, sorted(functions()))}" for name in _unknown(text)]


def functions() -> frozenset[str]:
    """The names of Spark's SQL functions, in lower case."""
    from pyspark.sql import functions as spark

    return frozenset(name.lower() for name in dir(spark) if not name.startswith("_")) | _SQL_ONLY


def _unknown(text: str) -> list[str]:
    import sqlglot
    from sqlglot import TokenType

    tokens = sqlglot.tokenize(text, dialect="spark")
    called = {
        token.text.lower()
        for token, after in pairwise(tokens)
        if token.token_type == TokenType.VAR and after.token_type == TokenType.L_PAREN
    }
    return sorted(called - functions()) if called else []


def _of_dataset(dataset: DatasetSpec) -> Iterator[tuple[str, str, list[str]]]:
    columns = [column.name for column in dataset.columns] + list(_MADE)
    for name, text in dataset.derived.items():
        yield f"derived.{name}", text, list(columns)
        columns.append(name)
    for reason, text in dataset.exclude.items():
        yield f"exclude.{reason}", text, columns


def _of_query(query: QuerySpec, catalog: Catalog) -> Iterator[tuple[str, str, list[str]]]:
    if query.where is not None:
        yield "where", query.where, [*catalog.dataset(query.dataset).column_names, *_MADE]
    if query.join is not None and query.join.where is not None:
        yield "join.where", query.join.where, [*catalog.dataset(query.join.dataset).column_names, *_MADE]


def _meant(name: str, there: list[str]) -> str:
    near = difflib.get_close_matches(name.lower(), there, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def _first_words(error: Exception) -> str:
    details = getattr(error, "errors", None) or [{"description": str(error)}]
    words = str(details[0].get("description") or error).splitlines()[0]
    return "an operand is missing" if words.startswith("Required keyword") else words
