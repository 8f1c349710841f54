"""All specifications of a directory, read so that one bad file never hides another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import ValidationError

from shedding.errors import SpecError
from shedding.spec.dataset import DatasetSpec
from shedding.spec.model import Spec
from shedding.spec.query import QuerySpec

S = TypeVar("S", bound=Spec)


class _Loader(yaml.SafeLoader):
    """YAML 1.2's booleans only: a join's key `on` is a word, not the value true."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one file: where, what, and what to write instead."""

    file: Path
    key: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file.parent.name}/{self.file.name}"
        return f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"


@dataclass(frozen=True, slots=True)
class Catalog:
    """The valid specifications by name, and the problems of the others."""

    datasets: Mapping[str, DatasetSpec]
    queries: Mapping[str, QuerySpec]
    problems: tuple[Problem, ...]

    def dataset(self, name: str) -> DatasetSpec:
        """The dataset, or a SpecError that lists its problems or what there is."""
        return self._get(self.datasets, "datasets", name)

    def query(self, name: str) -> QuerySpec:
        """The query, or a SpecError that lists its problems or what there is."""
        return self._get(self.queries, "queries", name)

    def queries_of(self, dataset: str) -> list[QuerySpec]:
        """The queries that read a dataset, on either side of a join, by name."""
        return [
            q for _, q in sorted(self.queries.items())
            if q.dataset == dataset or (q.join is not None and q.join.dataset == dataset)
        ]  # fmt: skip

    def _get(self, specs: Mapping[str, S], kind: str, name: str) -> S:
        if name in specs:
            return specs[name]
        own = [p for p in self.problems if p.file.parent.name == kind and p.file.stem == name]
        if own:
            raise SpecError("; ".join(str(problem) for problem in own))
        raise SpecError(f"no {kind}/{name}.yaml; there is: {', '.join(sorted(specs)) or 'nothing'}")


def load_catalog(directory: Path) -> Catalog:
    """Every `datasets/*.yaml` and `queries/*.yaml` below `directory`.

    Guarantee: a file that is wrong becomes problems, never an exception, and takes no other with it.
    """
    problems: list[Problem] = []
    if not directory.is_dir():
        raise SpecError(f"the specs directory {directory} does not exist; name another with --specs or SLUICE_SPECS")
    datasets = _load_kind(directory / "datasets", DatasetSpec, problems)
    queries = _load_kind(directory / "queries", QuerySpec, problems)
    taken = {file.stem for file in _files(directory / "datasets")}
    for name, (file, query) in list(queries.items()):
        found = _check_against_datasets(file, query, {n: d for n, (_, d) in datasets.items()})
        if name in taken:
            why = f"a dataset has that name too, and quarantine/{name} would be both's; rename the query and its file"
            found.append(Problem(file, "name", f"is {name!r}: {why}"))
        if found:
            problems.extend(found)
            del queries[name]
    return Catalog(
        datasets={name: spec for name, (_, spec) in datasets.items()},
        queries={name: spec for name, (_, spec) in queries.items()},
        problems=tuple(problems),
    )


def _files(directory: Path) -> list[Path]:
    return sorted([*directory.glob("*.yaml"), *directory.glob("*.yml")])


def _load_kind(directory: Path, model: type[S], problems: list[Problem]) -> dict[str, tuple[Path, S]]:
    loaded: dict[str, tuple[Path, S]] = {}
    for file in _files(directory):
        try:
            spec = _parse(file, model)
        except SpecError as error:
            problems.extend(error.args[1])
            continue
        name = str(spec.name)  # type: ignore[attr-defined]
        if name != file.stem:
            remedy = f"write name: {file.stem}, or rename the file to {name}.yaml"
            problems.append(Problem(file, "name", f"is {name!r}; {remedy}"))
        elif name in loaded:
            problems.append(Problem(file, "name", f"{name!r} is taken by {loaded[name][0].name}; rename one of them"))
        else:
            loaded[name] = (file, spec)
    return loaded


def _parse(file: Path, model: type[S]) -> S:
    try:
        content = yaml.load(file.read_text(encoding="utf-8"), Loader=_Loader)
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        first_line = " ".join(str(error).split())
        raise SpecError(str(error), [Problem(file, "", f"cannot be read as YAML: {first_line}")]) from error
    if not isinstance(content, dict):
        raise SpecError("no mapping", [Problem(file, "", "holds no mapping; write `name: ...` and the other keys")])
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise SpecError(str(error), [_problem(file, model, detail) for detail in error.errors()]) from error


def _problem(file: Path, model: type[Spec], detail: Mapping[str, object]) -> Problem:
    """One pydantic error in the owner's words."""
    loc = detail["loc"]
    assert isinstance(loc, tuple)
    key = ".".join(str(part) for part in loc)
    kind = detail["type"]
    if kind == "extra_forbidden":
        message = "is no known key; remove it or mend its spelling"
        if len(loc) == 1:
            message += f"; known: {', '.join(model.model_fields)}"
    elif kind == "missing":
        message = "is missing; add it"
    else:
        text = str(detail["msg"]).removeprefix("Value error, ")
        message = text if not loc else f"is {detail['input']!r}: {text}"
    return Problem(file, key, message)


def _check_against_datasets(file: Path, query: QuerySpec, datasets: Mapping[str, DatasetSpec]) -> list[Problem]:
    """What only the dataset can tell: it exists, and so do the columns."""
    found: list[Problem] = []
    sides = [("dataset", query.dataset)] + ([("join.dataset", query.join.dataset)] if query.join else [])
    for key, name in sides:
        if name not in datasets:
            there = ", ".join(sorted(datasets)) or "none"
            found.append(Problem(file, key, f"is {name!r}, which has no valid datasets/{name}.yaml; there is: {there}"))
    if found:
        return found
    known = datasets[query.dataset].column_names
    joined = datasets[query.join.dataset].column_names if query.join else []
    used = [("group_by", column, known) for column in query.group_by]
    used += [("join.on", column, joined) for column in (query.join.on if query.join else [])]
    for measure in query.measures:
        for key, column in (("column", measure.column), ("over", measure.over)):
            if column is not None:
                used.append((f"measures.{measure.name}.{key}", column, list(dict.fromkeys([*known, *joined]))))
    missing = [
        Problem(file, key, f"is {column!r}, which its dataset does not have; it has: {', '.join(columns)}")
        for key, column, columns in used
        if column not in columns
    ]
    return missing or _check_join(file, query, datasets)


def _check_join(file: Path, query: QuerySpec, datasets: Mapping[str, DatasetSpec]) -> list[Problem]:
    """Columns that are joined have one type, as far as it is declared: values of two types are never equal."""
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
