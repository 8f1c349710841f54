"""What a query names of its datasets: they exist, so do the columns, and their types can be what they are used for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shedding.spec.dataset import DatasetSpec
from shedding.spec.expression_types import Types
from shedding.spec.problems import Problem, did_you_mean
from shedding.spec.query import QuerySpec

_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean"})
_NESTED = {"array": "a list", "map": "a map", "struct": "a structure"}


def reference_problems(
    file: Path, query: QuerySpec, datasets: Mapping[str, DatasetSpec], types: Mapping[str, Types]
) -> list[Problem]:
    """What is wrong with a query that only its datasets can tell; `datasets` are the valid ones, with their `types`."""
    sides = [("dataset", query.dataset)] + ([("join.dataset", query.join.dataset)] if query.join else [])
    invalid = [(key, name) for key, name in sides if name not in datasets]
    if invalid:
        there = sorted(datasets)
        return [
            Problem(
                file, key,
                f"is {name!r}, which has no valid datasets/{name}.yaml{did_you_mean(name, there)}; "
                f"there is: {', '.join(there) or 'none'}",
            )
            for key, name in invalid
        ]  # fmt: skip
    left = datasets[query.dataset]
    right = datasets[query.join.dataset] if query.join else None
    known, joined = left.column_names, right.column_names if right else []
    used = [("group_by", column, known) for column in query.group_by]
    used += [("join.on", column, joined) for column in (query.join.on if query.join else [])]
    made: list[str] = []
    for entry in query.enrich:
        used += [(f"enrich.{entry.name}.columns", column, [*known, *made]) for column in entry.columns]
        used += [(f"enrich.{entry.name}.cost_by", column, known) for column in entry.cost_by]
        made.append(entry.name)
    known = [*known, *made]
    for measure in query.measures:
        for key, column in (("column", measure.column), ("over", measure.over)):
            if column is not None:
                used.append((f"measures.{measure.name}.{key}", column, list(dict.fromkeys([*known, *joined]))))
    missing = [
        Problem(
            file, key,
            f"is {column!r}, which its dataset does not have{did_you_mean(column, columns)}; "
            f"it has: {', '.join(columns)}",
        )
        for key, column, columns in used
        if column not in columns
    ]  # fmt: skip
    missing += [
        Problem(file, f"enrich.{name}.name", "is a column of the dataset already; rename it")
        for name in made
        if name in left.column_names
    ]
    both: dict[str, str | None] = {entry.name: entry.type for entry in query.enrich}
    both |= {**(types[right.name] if right else {}), **types[left.name]}
    return missing or misused(file, query, both) + _unlike(file, query, types)


def _unlike(file: Path, query: QuerySpec, types: Mapping[str, Types]) -> list[Problem]:
    """Columns that are joined and have two types, as far as they are known: such values are never equal."""
    if query.join is None:
        return []
    left, right = types[query.dataset], types[query.join.dataset]
    return [
        Problem(
            file, "join.on",
            f"joins {name!r}, a {left[name]} in {query.dataset} and a {right[name]} in {query.join.dataset}; "
            f"declare the same type in both",
        )
        for name in query.join.on
        if None not in (left.get(name), right.get(name)) and left[name] != right[name]
    ]  # fmt: skip


def misused(file: Path, query: QuerySpec, types: Types) -> list[Problem]:
    """Columns of a type that cannot be a key, be summed or be counted, as far as it is known."""
    found = [
        Problem(
            file, "group_by", f"is {key!r}, {nested}, and a key is one value; derive one, e.g. {_part(key, nested)}"
        )
        for key in query.group_by
        if (nested := _nested(types[key])) is not None
    ]
    for measure in query.measures:
        for key, column in (("column", measure.column), ("over", measure.over)):
            kind = types[column] if column is not None else None
            nested = _nested(kind)
            distinct = measure.agg == "count_distinct"
            if kind is None or (distinct and nested is None) or kind.partition("(")[0] in _NUMBERS:
                continue
            what = f"{measure.agg} needs {'one value' if distinct else 'a number'}"
            found.append(
                Problem(
                    file, f"measures.{measure.name}.{key}",
                    f"is {column!r}, {nested or f'a {kind}'}, and {what}; declare or derive one"
                    + (f", e.g. {_number(column, kind)}" if nested is None else ""),
                )
            )  # fmt: skip
    return found


def _nested(kind: str | None) -> str | None:
    """What a type of several values is, in words; None for a type of one, and where it is not known."""
    return None if kind is None else _NESTED.get(kind.partition("<")[0])


def _part(name: str, nested: str) -> str:
    """An expression that gives one value of a column of several."""
    return {"a list": f"{name}[0]", "a map": f"{name}['key']", "a structure": f"{name}.field"}[nested]


def _number(name: str | None, kind: str) -> str:
    """An expression that gives the number in a column of another type."""
    return (
        f"unix_seconds({name})"
        if kind == "timestamp"
        else f"unix_date({name})"
        if kind == "date"
        else (f"CAST({name} AS DOUBLE)")
    )
