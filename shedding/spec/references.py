"""What a query names of its datasets: they exist, so do the columns, and their types can be what they are used for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shedding.spec.dataset import DatasetSpec
from shedding.spec.problems import Problem, did_you_mean
from shedding.spec.query import QuerySpec

_NUMBERS = ("int", "bigint", "double", "boolean")


def reference_problems(file: Path, query: QuerySpec, datasets: Mapping[str, DatasetSpec]) -> list[Problem]:
    """What is wrong with a query that only its datasets can tell; `datasets` are the valid ones."""
    sides = [("dataset", query.dataset)] + ([("join.dataset", query.join.dataset)] if query.join else [])
    lacking = [(key, name) for key, name in sides if name not in datasets]
    if lacking:
        there = sorted(datasets)
        return [
            Problem(
                file, key,
                f"is {name!r}, which has no valid datasets/{name}.yaml{did_you_mean(name, there)}; "
                f"there is: {', '.join(there) or 'none'}",
            )
            for key, name in lacking
        ]  # fmt: skip
    left = datasets[query.dataset]
    right = datasets[query.join.dataset] if query.join else None
    known, joined = left.column_names, right.column_names if right else []
    used = [("group_by", column, known) for column in query.group_by]
    used += [("join.on", column, joined) for column in (query.join.on if query.join else [])]
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
    types = {column.name: column.type for side in (right, left) if side is not None for column in side.columns}
    return missing or _misused(file, query, types) + _unlike(file, query, datasets)


def _unlike(file: Path, query: QuerySpec, datasets: Mapping[str, DatasetSpec]) -> list[Problem]:
    """Columns that are joined and have two types, as far as they are declared: such values are never equal."""
    if query.join is None:
        return []
    left, right = ({c.name: c.type for c in datasets[d].columns} for d in (query.dataset, query.join.dataset))
    return [
        Problem(
            file, "join.on",
            f"joins {name!r}, a {left[name]} in {query.dataset} and a {right[name]} in {query.join.dataset}; "
            f"declare the same type in both",
        )
        for name in query.join.on
        if left.get(name, right.get(name)) != right.get(name, left.get(name))
    ]  # fmt: skip


def _misused(file: Path, query: QuerySpec, types: Mapping[str, str]) -> list[Problem]:
    """Declared columns of a type that cannot be a key or be summed; of derived columns no type is known."""
    found = [
        Problem(file, "group_by", f"is {key!r}, a list, and a key is one value; derive one, e.g. {key}[0]")
        for key in query.group_by
        if types.get(key) == "array<string>"
    ]
    for measure in query.measures:
        if measure.agg in ("count", "count_distinct"):
            continue
        for key, column in (("column", measure.column), ("over", measure.over)):
            kind = types.get(column or "", "double")
            if kind not in _NUMBERS:
                found.append(
                    Problem(
                        file, f"measures.{measure.name}.{key}",
                        f"is {column!r}, a {kind}, and {measure.agg} needs a number; declare or derive one",
                    )
                )  # fmt: skip
    return found
