"""SQL expressions of the specifications, checked without Spark: one expression on one row, always the same value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from shedding.spec.dataset import DatasetSpec
from shedding.spec.expression_types import Types, type_faults, type_of
from shedding.spec.problems import Problem, did_you_mean
from shedding.spec.query import QuerySpec
from shedding.spec.spark_functions import FOREIGN, MAKE_ROWS, MOVING, OF_A_ROW, OF_MANY_ROWS

_MADE = {"event_time": "timestamp"}
SYNTAX = frozenset({
    "and", "or", "not", "in", "case", "when", "then", "else", "between", "like", "ilike", "rlike", "regexp", "cast",
    "try_cast", "div", "values", "as", "is", "from", "over", "by", "on", "interval", "distinct", "escape", "select",
    "decimal", "varchar", "char", "struct", "array", "map",
})  # fmt: skip
"""Words before a bracket that are no functions."""
_LIKE = frozenset({"like", "ilike"})
_ANY = frozenset({"any", "some", "all"})
_WRONG = (
    (OF_MANY_ROWS, "looks at many rows, and an expression sees one; write it as a measure, or leave it out"),
    (MAKE_ROWS, "makes several rows of one; leave it out"),
    (MOVING, "gives another value in a re-run; use the row's own columns, e.g. event_time for the time"),
    (FOREIGN, "ends the job or leaves SQL; leave it out"),
)
_EXAMPLE = "e.g. `fare > 0 AND zone IS NOT NULL`"


@dataclass(frozen=True, slots=True)
class Checked:
    """What is wrong with an expression, in words that say how to fix it, and its type where that is known."""

    faults: list[str]
    type: str | None = None


def dataset_problems(file: Path, dataset: DatasetSpec) -> list[Problem]:
    """What is wrong with `derived` and `exclude`; a derived column may use those before it."""
    found: list[Problem] = []
    types: dict[str, str | None] = _declared(dataset)
    for name, text in dataset.derived.items():
        checked = check(text, types)
        found += _problems(file, f"derived.{name}", text, checked)
        types[name] = checked.type
    for reason, text in dataset.exclude.items():
        found += _problems(file, f"exclude.{reason}", text, check(text, types, condition=True))
    return found


def query_problems(file: Path, query: QuerySpec, types: Mapping[str, Types]) -> list[Problem]:
    """What is wrong with `where` and `join.where`; `types` are the columns of each dataset."""
    found: list[Problem] = []
    sides = [("where", query.where, query.dataset), ("shed.keep", query.shed.keep, query.dataset)]
    sides += [("join.where", query.join.where, query.join.dataset)] if query.join is not None else []
    for key, text, name in sides:
        if text is not None:
            found += _problems(file, key, text, check(text, types[name], condition=True))
    return found


def column_types(dataset: DatasetSpec) -> dict[str, str | None]:
    """The type of every column that an expression on the dataset's rows may use; None where it is not known."""
    types = _declared(dataset)
    for name, text in dataset.derived.items():
        types[name] = check(text, types).type
    return types


def _declared(dataset: DatasetSpec) -> dict[str, str | None]:
    return {**{column.name: column.type for column in dataset.columns}, **_MADE}


def _problems(file: Path, key: str, text: str, checked: Checked) -> list[Problem]:
    return [Problem(file, key, f"is {text!r}: {what}") for what in checked.faults]


def check(text: str, types: Types, *, condition: bool = False) -> Checked:
    """One expression over columns of these types; with `condition` it must be true or false.

    Finds what is not one SQL expression, columns that are not there, every function, quoted or not, that is not one of
    a single row's, all that is not the same in every run, and types that cannot be what they are used for as far as
    they are known without Spark: `sluice check --spark` knows the rest.
    """
    try:
        return _checked(text, types, condition)
    except RecursionError:
        return Checked([f"nested too deeply; write a shorter one, {_EXAMPLE}"])


def _checked(text: str, types: Types, condition: bool) -> Checked:
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tokens = sqlglot.tokenize(text, dialect="spark")
        parsed = sqlglot.parse_one(f"SELECT (\n{text}\n)", dialect="spark")
    except SqlglotError as error:
        return Checked([f"no SQL expression: {_first_words(error)}; fix it, {_EXAMPLE}"])
    shape = _shape(tokens, parsed)
    if shape is not None:
        return Checked([f"{shape}, {_EXAMPLE}"])
    found = [*_columns_lacking(parsed, types), *_functions_wrong(tokens, types)]
    if found:
        return Checked(found)
    found = type_faults(parsed, types)
    kind = type_of(parsed)
    if not found and condition and kind not in (None, "boolean"):
        found = [f"a value, not a condition; compare it, {_EXAMPLE}"]
    return Checked(found, kind)


def _shape(tokens: list[Any], parsed: Any) -> str | None:
    """Why this is not one plain expression."""
    from sqlglot import exp

    if _closes_too_much(tokens):
        return "no SQL expression: a bracket is closed that was not opened; fix it"
    if any(token.comments for token in tokens):
        return "it has a comment, which may swallow what Sluice adds; remove it"
    if len(list(parsed.find_all(exp.Query))) > 1:
        return "it has a query inside, and an expression sees one row; write a condition on columns"
    inside = parsed.expressions[0]
    if len(parsed.expressions) != 1 or not isinstance(inside, exp.Paren) or isinstance(inside.this, exp.Alias):
        return "more than one SQL expression; write one"
    if parsed.find(exp.Star, exp.Parameter) or _has_bound_value(tokens):
        return "it has a parameter or a star; write columns and values"
    return None


def _closes_too_much(tokens: list[Any]) -> bool:
    from sqlglot import TokenType

    steps = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}
    return min(accumulate(steps.get(token.token_type, 0) for token in tokens), default=0) < 0


def _has_bound_value(tokens: list[Any]) -> bool:
    """Whether a value is left to be given later: `?`, or `:name` where no value stands before it."""
    from sqlglot import TokenType

    quoted = (TokenType.STRING, TokenType.IDENTIFIER)
    ends_value = (*quoted, TokenType.VAR, TokenType.R_PAREN, TokenType.R_BRACKET)
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.token_type in quoted:
            continue
        if token.text == "?" or (token.text == ":" and (before is None or before.token_type not in ends_value)):
            return True
    return False


def _columns_lacking(parsed: Any, types: Types) -> list[str]:
    from sqlglot import exp

    columns = list(types)
    known = {column.lower() for column in columns}
    used = {column.parts[0].name for column in parsed.find_all(exp.Column)}
    return [
        f"no column {name!r}{did_you_mean(name, columns)}; there is: {', '.join(columns)}"
        for name in sorted(used)
        if name.lower() not in known and name.lower() not in MOVING
    ]


def _functions_wrong(tokens: list[Any], types: Types) -> Iterator[str]:
    known = {column.lower() for column in types}
    for name in sorted(set(_called(tokens, known))):
        wrong = next((words for names, words in _WRONG if name in names), None)
        if "." in name:
            yield f"{name} is a function by a name of several parts; write one of Spark's own by its bare name"
        elif wrong is not None:
            yield f"{name} {wrong}"
        else:
            yield f"Spark has no function {name!r}{did_you_mean(name, sorted(OF_A_ROW))}"


def _called(tokens: list[Any], columns: set[str]) -> Iterator[str]:
    """The functions, in lower case, that are none of a single row's: a name before a bracket is one, quoted or not."""
    from sqlglot import TokenType

    texts = [token.text.lower() for token in tokens]
    for place, token in enumerate(tokens):
        word, before = texts[place], texts[place - 1] if place else ""
        quoted = token.token_type == TokenType.IDENTIFIER
        if token.token_type in (TokenType.STRING, TokenType.RAW_STRING) or not (quoted or word.isidentifier()):
            continue
        called = place + 1 < len(tokens) and tokens[place + 1].token_type == TokenType.L_PAREN
        if called and before == ".":
            yield f"{texts[place - 2]}.{word}"
        elif called:
            plain = not quoted and (word in SYNTAX or (word in _ANY and before in _LIKE))
            if not plain and word not in OF_A_ROW:
                yield word
        elif word in MOVING and word not in columns and before != ".":  # current_date and its like need no brackets
            yield word
        if texts[place : place + 3] == ["unix_timestamp", "(", ")"]:  # without a time it is the time of the run
            yield "now"


def _first_words(error: Exception) -> str:
    details = getattr(error, "errors", None) or [{"description": str(error)}]
    words = str(details[0].get("description") or error).splitlines()[0]
    return "an operand is missing" if words.startswith("Required keyword") else words
