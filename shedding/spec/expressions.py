"""SQL expressions of the specifications, checked without Spark: one expression on one row, always the same value."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from shedding.spec.dataset import DatasetSpec
from shedding.spec.functions import FOREIGN, MAKE_ROWS, MOVING, OF_A_ROW, OF_MANY_ROWS
from shedding.spec.problems import Problem, did_you_mean
from shedding.spec.query import QuerySpec

_MADE = ("event_time",)
_SYNTAX = frozenset({
    "and", "or", "not", "in", "case", "when", "then", "else", "between", "like", "ilike", "rlike", "regexp", "cast",
    "try_cast", "div", "values", "as", "is", "from", "over", "by", "on", "interval", "distinct", "escape", "select",
    "decimal", "varchar", "char", "struct", "array", "map",
})  # fmt: skip
"""Words before a bracket that are no functions."""
_CLOCKS = frozenset({"now", "today", "yesterday", "tomorrow"})
_WRONG = (
    (OF_MANY_ROWS, "looks at many rows, and an expression sees one; write it as a measure, or leave it out"),
    (MAKE_ROWS, "makes several rows of one; leave it out"),
    (MOVING, "gives another value in a re-run; use the row's own columns, e.g. event_time for the time"),
    (FOREIGN, "ends the job or leaves SQL; leave it out"),
)
_EXAMPLE = "e.g. `fare > 0 AND zone IS NOT NULL`"


def dataset_problems(file: Path, dataset: DatasetSpec) -> list[Problem]:
    """What is wrong with `derived` and `exclude`; a derived column may use those before it."""
    columns = [column.name for column in dataset.columns] + list(_MADE)
    found: list[Problem] = []
    for name, text in dataset.derived.items():
        found += _problems(file, f"derived.{name}", text, columns)
        columns.append(name)
    for reason, text in dataset.exclude.items():
        found += _problems(file, f"exclude.{reason}", text, columns, _truths(dataset))
    return found


def query_problems(file: Path, query: QuerySpec, datasets: dict[str, DatasetSpec]) -> list[Problem]:
    """What is wrong with `where` and `join.where`; the datasets must be there."""
    found: list[Problem] = []
    sides = [("where", query.where, query.dataset)]
    sides += [("join.where", query.join.where, query.join.dataset)] if query.join is not None else []
    for key, text, name in sides:
        if text is not None:
            dataset = datasets[name]
            found += _problems(file, key, text, [*dataset.column_names, *_MADE], _truths(dataset))
    return found


def _problems(
    file: Path, key: str, text: str, columns: list[str], truths: frozenset[str] | None = None
) -> list[Problem]:
    return [Problem(file, key, f"is {text!r}: {what}") for what in faults(text, columns, truths)]


def _truths(dataset: DatasetSpec) -> frozenset[str]:
    """The columns that may be a condition alone, in lower case; of derived ones no type is known."""
    declared = [column.name for column in dataset.columns if column.type == "boolean"]
    return frozenset(name.lower() for name in [*declared, *dataset.derived])


def faults(text: str, columns: list[str], truths: frozenset[str] | None = None) -> list[str]:
    """What is wrong with one expression over `columns`, in words that say how to mend it; none where it is sound.

    Finds what is not one SQL expression, columns that are not there, functions that Spark does not have, and all that
    needs more than the row or is not the same in every run. With `truths`, the columns that may be a condition alone,
    also what is a value and no condition. It does not know other types: Spark may still refuse those.
    """
    try:
        return _faults(text, columns, truths)
    except RecursionError:
        return [f"nested too deeply; write a shorter one, {_EXAMPLE}"]


def _faults(text: str, columns: list[str], truths: frozenset[str] | None) -> list[str]:
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tokens = sqlglot.tokenize(text, dialect="spark")
        parsed = sqlglot.parse_one(f"SELECT (\n{text}\n)", dialect="spark")
    except SqlglotError as error:
        return [f"no SQL expression: {_first_words(error)}; mend it, {_EXAMPLE}"]
    shape = _shape(tokens, parsed)
    if shape is not None:
        return [f"{shape}, {_EXAMPLE}"]
    found = [*_columns_lacking(parsed, columns), *_functions_wrong(tokens, columns)]
    if not found and truths is not None and _is_value(parsed.expressions[0].unnest(), truths):
        return [f"a value, not a condition; compare it, {_EXAMPLE}"]
    return found


def _shape(tokens: list[Any], parsed: Any) -> str | None:
    """Why this is not one plain expression."""
    from sqlglot import exp

    if _closes_too_much(tokens):
        return "no SQL expression: a bracket is closed that was not opened; mend it"
    if any(token.comments for token in tokens):
        return "it has a comment, which may swallow what Sluice adds; remove it"
    if len(list(parsed.find_all(exp.Query))) > 1:
        return "it has a query inside, and an expression sees one row; write a condition on columns"
    inside = parsed.expressions[0]
    if len(parsed.expressions) != 1 or not isinstance(inside, exp.Paren) or isinstance(inside.this, exp.Alias):
        return "more than one SQL expression; write one"
    if parsed.find(exp.Star, exp.Parameter) or any(node.sql("spark").startswith((":", "?")) for node in parsed.walk()):
        return "it has a parameter or a star; write columns and values"
    casts = [cast.this for cast in parsed.find_all(exp.Cast)]
    moving = [one.name for one in casts if isinstance(one, exp.Literal) and one.name.lower() in _CLOCKS]
    return f"{moving[0]!r} is another time in every run; write a date" if moving else None


def _is_value(expression: Any, truths: frozenset[str]) -> bool:
    """Whether this cannot be true or false: a number, a text, a sum, or a column of another type."""
    from sqlglot import exp

    if isinstance(expression, exp.Column):
        return expression.name.lower() not in truths
    return isinstance(expression, exp.Literal | exp.Null | exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod | exp.Neg)


def _closes_too_much(tokens: list[Any]) -> bool:
    from sqlglot import TokenType

    steps = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}
    return min(accumulate(steps.get(token.token_type, 0) for token in tokens), default=0) < 0


def _columns_lacking(parsed: Any, columns: list[str]) -> list[str]:
    from sqlglot import exp

    known = {column.lower() for column in columns}
    used = {column.parts[0].name for column in parsed.find_all(exp.Column)}
    return [
        f"no column {name!r}{did_you_mean(name, columns)}; there is: {', '.join(columns)}"
        for name in sorted(used)
        if name.lower() not in known and name.lower() not in MOVING
    ]


def _functions_wrong(tokens: list[Any], columns: list[str]) -> Iterator[str]:
    from sqlglot import TokenType

    quoted = (TokenType.STRING, TokenType.IDENTIFIER)
    known = {column.lower() for column in columns}
    called: set[str] = set()
    for token, after in pairwise([*tokens, None]):
        word = token.text.lower()
        if token.token_type in quoted or not word.isidentifier():
            continue
        brackets = after is not None and after.token_type == TokenType.L_PAREN
        if brackets or (word in MOVING and word not in known):  # current_date and its like need no brackets
            called.add(word)
    if _clock(tokens):
        called.add("now")
    for name in sorted(called - OF_A_ROW - _SYNTAX):
        wrong = next((words for names, words in _WRONG if name in names), None)
        if wrong is not None:
            yield f"{name} {wrong}"
        else:
            yield f"Spark has no function {name!r}{did_you_mean(name, sorted(OF_A_ROW))}"


def _clock(tokens: list[Any]) -> bool:
    """Whether unix_timestamp stands there without a time, which is the time of the run."""
    texts = [token.text.lower() for token in tokens]
    return any(texts[i : i + 3] == ["unix_timestamp", "(", ")"] for i in range(len(texts)))


def _first_words(error: Exception) -> str:
    details = getattr(error, "errors", None) or [{"description": str(error)}]
    words = str(details[0].get("description") or error).splitlines()[0]
    return "an operand is missing" if words.startswith("Required keyword") else words
