"""All specifications of a directory, read so that one bad file never hides another."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from shedding.errors import SpecError
from shedding.fields import NAME, Spec
from shedding.spec.dataset import DatasetSpec
from shedding.spec.derived import depth, derived_dataset, source_problems
from shedding.spec.expressions import column_types, dataset_problems, query_problems
from shedding.spec.pool import Pooled, PoolSpec, pool_problems, resolved
from shedding.spec.problems import Problem, did_you_mean, problem_of
from shedding.spec.query import QuerySpec
from shedding.spec.references import reference_problems
from shedding.spec.yaml_file import read_mapping

S = TypeVar("S", bound=Spec)
T = TypeVar("T")
Resolve = Callable[[Path, dict[str, Any]], dict[str, Any] | list[Problem]]
"""A file's content with what other files decide put in, or what is wrong with that."""
_ENDINGS = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Catalog:
    """The valid specifications by name, and the problems of the others."""

    datasets: Mapping[str, DatasetSpec]
    queries: Mapping[str, QuerySpec]
    problems: tuple[Problem, ...]
    derived: Mapping[str, DatasetSpec] = field(default_factory=dict)
    """The published rows of queries, as datasets; nothing is ingested of them."""
    pools: Mapping[str, Pooled] = field(default_factory=dict)

    def dataset(self, name: str) -> DatasetSpec:
        """The dataset, or that of a query's published rows; else a SpecError that lists problems or what there is."""
        return self.derived[name] if name in self.derived else self._get(self.datasets, "datasets", name)

    def query(self, name: str) -> QuerySpec:
        """The query, or a SpecError that lists its problems or what there is."""
        return self._get(self.queries, "queries", name)

    def pool(self, name: str) -> Pooled:
        """The pool with its members, or a SpecError that lists its problems or what there is."""
        return self._get(self.pools, "pools", name)

    def queries_of(self, dataset: str) -> list[QuerySpec]:
        """The queries that read a dataset, on either side of a join, by name."""
        return [
            q for _, q in sorted(self.queries.items())
            if q.dataset == dataset or (q.join is not None and q.join.dataset == dataset)
        ]  # fmt: skip

    def queries_below(self, dataset: str) -> list[QuerySpec]:
        """The queries that read a dataset, those that read these, and so on; each once."""
        found = {query.name: query for query in self.queries_of(dataset)}
        for name in list(found):
            found |= {query.name: query for query in self.queries_below(name)}
        return list(found.values())

    def _get(self, specs: Mapping[str, T], kind: str, name: str) -> T:
        if name in specs:
            return specs[name]
        own = [p for p in self.problems if p.file.parent.name == kind and p.file.stem == name]
        if own:
            raise SpecError("; ".join(str(problem) for problem in own))
        there = sorted(specs)
        raise SpecError(f"no {kind}/{name}.yaml{did_you_mean(name, there)}; there is: {', '.join(there) or 'nothing'}")


def load_catalog(directory: Path) -> Catalog:
    """Every `datasets/*.yaml`, `pools/*.yaml` and `queries/*.yaml` below `directory`.

    Guarantee: a file that is wrong becomes problems, never an exception, and takes no other with it.
    """
    problems: list[Problem] = []
    if not directory.is_dir():
        raise SpecError(f"the specs directory {directory} does not exist; name another with --specs or SLUICE_SPECS")
    datasets = _load_kind(directory / "datasets", DatasetSpec, problems)
    _drop(datasets, problems, dataset_problems)
    valid = {name: spec for name, (_, spec) in datasets.items()}
    pools = _load_kind(directory / "pools", PoolSpec, problems)
    _drop(pools, problems, lambda file, pool: pool_problems(file, pool, valid))
    queries = _load_kind(directory / "queries", QuerySpec, problems, _resolver(directory / "pools", pools))
    taken = {file.stem for file in _files(directory / "datasets")}
    _drop(queries, problems, lambda file, query: _name_problems(file, query, taken))
    types = {name: column_types(spec) for name, spec in valid.items()}
    named = {name: spec for name, (_, spec) in queries.items()}
    checked: dict[str, QuerySpec] = {}
    derived: dict[str, DatasetSpec] = {}
    for name in sorted(queries, key=lambda name: (depth(name, named), name)):
        file, query = queries[name]
        found = source_problems(file, query, named, checked)
        there = valid if query.source is None else derived
        found = found or reference_problems(file, query, there, types)
        found = found or query_problems(file, query, types) or _function_problems(file, query, directory)
        problems.extend(found)
        if not found:
            checked[name] = query
            derived[name] = derived_dataset(query, types[query.dataset])
            types[name] = column_types(derived[name])
    _tell_followers(checked)
    pooled = {name: _pooled(spec, checked) for name, (_, spec) in pools.items()}
    members = {name: query.in_pool(pooled.get(query.shed.pool or "")) for name, query in sorted(checked.items())}
    return Catalog(datasets=valid, queries=members, problems=tuple(problems), derived=derived, pools=pooled)


def _tell_followers(queries: Mapping[str, QuerySpec]) -> None:
    """Queries that follow their readers know them from now on."""
    for name, query in queries.items():
        if query.shed.windows is not None and query.shed.windows.follow:
            query.shed.windows.followed_by([one for one in queries.values() if one.source and one.dataset == name])


def _resolver(directory: Path, pools: Mapping[str, tuple[Path, PoolSpec]]) -> Resolve:
    """What puts into a query's file what its pool decides."""
    valid = {name: spec for name, (_, spec) in pools.items()}
    broken = {file.stem: file for file in _files(directory) if file.stem not in valid}
    return lambda file, given: resolved(file, given, valid, broken)


def _pooled(pool: PoolSpec, queries: Mapping[str, QuerySpec]) -> Pooled:
    """The pool with the valid queries that joined it: one that is wrong leaves it to the others."""
    return Pooled(pool, tuple(query for _, query in sorted(queries.items()) if query.shed.pool == pool.name))


def _files(directory: Path) -> list[Path]:
    """What is meant as a specification: by its ending, in whatever letters, unless its name says that it is hidden."""
    found = directory.iterdir() if directory.is_dir() else []
    return sorted(file for file in found if file.suffix.lower() in _ENDINGS and not file.name.startswith("."))


def _load_kind(
    directory: Path, model: type[S], problems: list[Problem], resolve: Resolve = lambda _, given: given
) -> dict[str, tuple[Path, S]]:
    loaded: dict[str, tuple[Path, S]] = {}
    for file in _files(directory):
        if file.suffix not in _ENDINGS:
            problems.append(Problem(file, "", f"ends in {file.suffix}; rename it to {file.stem}{file.suffix.lower()}"))
            continue
        spec = _parse(file, model, resolve)
        if isinstance(spec, list):
            problems.extend(spec)
            continue
        name = str(spec.name)  # type: ignore[attr-defined]
        if name != file.stem:
            own = f"write name: {file.stem}, or " if re.fullmatch(NAME, file.stem) else ""
            problems.append(Problem(file, "name", f"is {name!r}; {own}rename the file to {name}.yaml"))
        elif name in loaded:
            problems.append(Problem(file, "name", f"{name!r} is taken by {loaded[name][0].name}; rename one of them"))
        else:
            loaded[name] = (file, spec)
    return loaded


def _drop(
    loaded: dict[str, tuple[Path, S]], problems: list[Problem], check: Callable[[Path, S], list[Problem]]
) -> None:
    """Take out what the check finds fault with."""
    for name, (file, spec) in list(loaded.items()):
        found = check(file, spec)
        if found:
            problems.extend(found)
            del loaded[name]


def _name_problems(file: Path, query: QuerySpec, datasets: Collection[str]) -> list[Problem]:
    """A query has a name that no dataset has: refused rows of both live in `quarantine/`."""
    if query.name not in datasets:
        return []
    why = f"a dataset has that name too, and quarantine/{query.name} would be both's; rename the query and its file"
    return [Problem(file, "name", f"is {query.name!r}: {why}")]


def _function_problems(file: Path, query: QuerySpec, directory: Path) -> list[Problem]:
    """Functions that are nowhere to be found; the others know from now on where they stand."""
    found = []
    for entry in query.enrich:
        entry.found_in(directory)
        try:
            entry.source.digest  # noqa: B018
        except (SpecError, OSError) as error:
            found.append(Problem(file, f"enrich.{entry.name}.call", f"is {entry.call!r}: {error}"))
    return found


def _parse(file: Path, model: type[S], resolve: Resolve) -> S | list[Problem]:
    try:
        given = resolve(file, read_mapping(file))
        return given if isinstance(given, list) else model.model_validate(given)
    except SpecError as error:
        return [Problem(file, "", str(error))]
    except ValidationError as error:
        return [problem_of(file, model, detail) for detail in error.errors()]
