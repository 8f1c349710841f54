"""Types of SQL expressions, as far as they are known without Spark: what is used as something that it cannot be.

Guarantee: only what Spark refuses too, or reads as the clock, is a fault; a type that is not known is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shedding.spec.notations import java_regular_expression

Types = Mapping[str, str | None]
"""Columns and what Spark calls their types; None where a type is not known."""
_ROW = "sluice_row"
_CLOCKS = frozenset({"now", "today", "yesterday", "tomorrow"})
_FAMILIES = {
    "number": ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"),
    "text": ("TEXT", "VARCHAR", "CHAR"),
    "time": ("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ", "TIMESTAMPNTZ", "DATE", "DATETIME"),
    "truth": ("BOOLEAN",),
    "list": ("ARRAY", "LIST"),
    "map": ("MAP",),
    "structure": ("STRUCT",),
}
_FAMILY = {kind: family for family, kinds in _FAMILIES.items() for kind in kinds}
_NESTED = frozenset({"list", "map", "structure"})
_SPARK = {"text": "string", "time": "timestamp", "truth": "boolean", "list": "array", "map": "map",
          "structure": "struct"}  # fmt: skip
_READ_TIMES = frozenset({"TsOrDsToDate", "Date", "Timestamp", "StrToTime", "StrToDate", "UnixToTime", "TimestampTrunc"})


def type_of(parsed: Any) -> str | None:
    """What Spark calls the type of the one expression that a typed `SELECT (...)` has; None where it is not known."""
    kind = parsed.expressions[0].unnest().type
    family = _family_of(kind)
    if kind is not None and kind.this.name == "NULL":
        return "void"
    if family is None:
        return None
    if family == "number" or kind.this.name == "DATE":
        return str(kind.this.name).lower()
    return _SPARK[family]


def type_faults(parsed: Any, types: Types) -> list[str]:
    """Give every part of the `SELECT (...)` its type, and say what cannot be what it is used as."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.annotate_types import annotate_types

    known = {name.lower(): kind for name, kind in types.items() if kind is not None}
    for column in parsed.find_all(exp.Column):
        if len(column.parts) == 1 and column.name.lower() in known:
            column.set("table", exp.to_identifier(_ROW))
            column.this.set("this", column.name.lower())
    try:
        annotate_types(parsed.from_(_ROW, copy=False), schema={_ROW: known} if known else None, dialect="spark")
    except SqlglotError:  # what it cannot type has no type that is known
        return []
    return sorted({fault for node in parsed.walk() for fault in _faults_of(node)})


def _faults_of(node: Any) -> Iterator[str]:
    from sqlglot import exp

    if isinstance(node, exp.And | exp.Or | exp.Not):
        for part in node.iter_expressions():
            family = _family(part)
            if family not in (None, "truth", "text"):  # Spark reads texts as true or false
                yield f"{_shown(part)} is a {family}, and AND, OR and NOT take conditions; compare it"
    if isinstance(node, exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE | exp.NullSafeEQ):
        families = {_family(node.left), _family(node.right)} - {None}
        if _never_compared(families):
            what = " with a ".join(sorted(map(str, families)))
            yield f"{_shown(node)} compares a {what}; cast one to the other's type"
    if isinstance(node, exp.RegexpLike | exp.RegexpExtract | exp.RegexpReplace | exp.RegexpSubstr | exp.RegexpCount):
        yield from _pattern_faults(node.expression)
    if isinstance(node, exp.Literal) and _read_as_clock(node):
        yield f"{node.name!r} is another time in every run; write a date"


def _never_compared(families: set[str | None]) -> bool:
    """Whether Spark has no way to make one of the other; texts are read as whatever they meet."""
    if families & _NESTED:
        return len(families) > 1
    return "time" in families and bool(families & {"number", "truth"})


def _pattern_faults(pattern: Any) -> Iterator[str]:
    from sqlglot import exp

    if isinstance(pattern, exp.Literal) and pattern.is_string:
        try:
            java_regular_expression(pattern.name)
        except ValueError as error:
            yield f"{pattern.name!r} is {error}"


def _read_as_clock(literal: Any) -> bool:
    """Whether Spark would read the text as the time of the run: a word for it, cast to a time or beside one."""
    from sqlglot import exp

    if not literal.is_string or literal.name.strip().lower().split(" ")[0] not in _CLOCKS:
        return False
    parent = literal.parent
    if isinstance(parent, exp.Cast):
        return _family_of(parent.to) == "time"
    return type(parent).__name__ in _READ_TIMES or any(_family(one) == "time" for one in parent.iter_expressions())


def _family(node: Any) -> str | None:
    return _family_of(node.unnest().type)


def _family_of(kind: Any) -> str | None:
    return None if kind is None else _FAMILY.get(kind.this.name)


def _shown(node: Any) -> str:
    text: str = node.sql(dialect="spark").replace(f"{_ROW}.", "")
    return text if len(text) <= 80 else text[:80] + "..."
