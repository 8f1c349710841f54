"""The map of the code holds: rooms look only down, mathematics is pure, and the map is the one that is written."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import shedding
from shedding.spec.aggregates import AGGREGATES
from shedding.spec.gate import GateSpec

ROOT = Path(__file__).resolve().parent.parent
ABOVE = ("expectations", "jobs", "infra", "dags")
"""What stands above the library, lowest first."""
TOP = "(top)"
PURE = {
    "dropping": {"numpy"},
    "allocation": {"numpy"},
    "patterns": {"numpy"},
    "policies": {"pydantic"},
    "load": {"numpy"},
    "estimates": {"numpy", "scipy"},
    "risk": {"numpy", "scipy"},
}
"""Rooms of mathematics, and what they may import besides the library below them."""
NAMESAKES = {"shedding/allocation/goal.py": {"variance"}}
"""Where an aggregate's name is the name of something else: what a policy minimises."""
FORMATS = ("pyarrow", "pyspark", "deltalake", "pandas", "great_expectations", "airflow")


@cache
def tree(file: Path) -> ast.Module:
    """What a file says, parsed once."""
    return ast.parse(file.read_text())


@cache
def imports(file: Path) -> frozenset[str]:
    """All modules that a file imports, at its top or inside a function."""
    found = set()
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(found)


def files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def room_of(module: str) -> str | None:
    """The room of a module of ours, None for others'."""
    package, _, rest = module.partition(".")
    if package != "shedding":
        return package if package in ABOVE else None
    first = rest.partition(".")[0]
    return first if (ROOT / "shedding" / first).is_dir() and first else TOP


def edges() -> dict[tuple[str, str], set[str]]:
    """Between rooms: which looks at which, and the files that do."""
    found: dict[tuple[str, str], set[str]] = {}
    for file in files("shedding", *ABOVE):
        place = file.relative_to(ROOT)
        here = room_of(".".join(place.with_suffix("").parts))
        for there in filter(None, map(room_of, imports(file))):
            if here is not None and here != there:
                found.setdefault((here, there), set()).add(str(place))
    return found


def rooms_of_the_map() -> list[str]:
    """The rooms as the package's docstring lists them, lowest first."""
    return re.findall(r"^    (\S+) {2,}", shedding.__doc__ or "", re.MULTILINE)


def test_the_map_names_every_room_and_no_other() -> None:
    there = {path.name for path in (ROOT / "shedding").iterdir() if (path / "__init__.py").exists()}
    assert set(rooms_of_the_map()) == there | {TOP}


def test_a_room_looks_only_at_rooms_below_it() -> None:
    order = [*rooms_of_the_map(), *ABOVE]
    upwards = {edge: by for edge, by in edges().items() if order.index(edge[0]) < order.index(edge[1])}
    assert upwards == {}


@pytest.mark.parametrize("room", PURE)
def test_mathematics_is_free_of_formats_and_of_spark(room: str) -> None:
    outside = {
        str(file.relative_to(ROOT)): sorted(found)
        for file in files(f"shedding/{room}")
        if (
            found := {name.partition(".")[0] for name in imports(file)}
            - sys.stdlib_module_names
            - PURE[room]
            - {"shedding"}
        )
    }
    assert outside == {}


def test_a_specification_is_read_without_the_heavy_packages() -> None:
    heavy = {
        str(file.relative_to(ROOT)): sorted(found)
        for file in files("shedding/spec")
        if (found := {name for name in imports(file) if name.startswith((*FORMATS, "scipy", "numpy"))})
    }
    assert heavy == {}


def test_spark_is_imported_where_rows_are_read_and_nowhere_else() -> None:
    rooms = {room_of(".".join(f.relative_to(ROOT).with_suffix("").parts)) for f in files("shedding")
             if any(name.startswith("pyspark") for name in imports(f))}  # fmt: skip
    assert rooms <= {"spark", "ingest", "scan"}


def test_an_aggregate_is_known_by_its_name_in_its_own_file_and_in_the_specification_only() -> None:
    told = {
        str(file.relative_to(ROOT)): sorted(found)
        for file in files("shedding", "expectations", "jobs", "dags", "infra")
        if room_of(".".join(file.relative_to(ROOT).with_suffix("").parts)) not in ("spec", "measures")
        and (found := compared_words(file) & set(AGGREGATES) - NAMESAKES.get(file.relative_to(ROOT).as_posix(), set()))
    }
    assert told == {}


def test_what_panes_keep_of_a_measure_is_known_in_its_own_file_and_in_the_specification_only() -> None:
    names = {traits.state.name for traits in AGGREGATES.values() if traits.state is not None}
    constants = {name.upper() for name in names}
    known = {
        str(file.relative_to(ROOT)): sorted(words)
        for file in files("shedding", "expectations", "jobs", "dags", "infra")
        if "panes/states" not in file.as_posix()
        and room_of(".".join(file.relative_to(ROOT).with_suffix("").parts)) != "spec"
        and (
            words := (compared_words(file) & names) | (compared_attributes(file) & {"state"}) | (uses(file) & constants)
        )
    }
    assert known == {}


def uses(file: Path) -> set[str]:
    """The names that a file reads."""
    return {node.id for node in ast.walk(tree(file)) if isinstance(node, ast.Name)}


def compared_attributes(file: Path) -> set[str]:
    """The attributes that a file compares with anything but None."""
    compared = set()
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Compare) and not any(
            isinstance(part, ast.Constant) and part.value is None for part in node.comparators
        ):
            compared |= {part.attr for part in (node.left, *node.comparators) if isinstance(part, ast.Attribute)}
    return compared


CHECK_FREE = [
    "expectations/gate.py", "expectations/observations.py", "expectations/repair_board.py",
    "expectations/repair_plan.py", "expectations/suite.py", "jobs/repair.py",
]  # fmt: skip


@pytest.mark.parametrize("file", CHECK_FREE)
def test_a_check_is_known_in_its_own_file_and_in_the_specification_only(file: str) -> None:
    from expectations.checks import all_checks

    keys, classes = {check.key for check in all_checks()}, {type(check).__name__ for check in all_checks()}
    nodes = list(ast.walk(tree(ROOT / file)))
    fields = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    words = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    modules = {name for name in imports(ROOT / file) if name.startswith("expectations.checks.")}
    columns = {"missing_keys", "omitted_keys", "omitted_rows"}  # of runs
    recorded = columns if file == "jobs/repair.py" else set()
    assert (fields & (keys & set(GateSpec.model_fields)), names & classes, modules) == (set(), set(), set())
    assert words & keys <= recorded


def compared_words(file: Path) -> set[str]:
    """The words that a file compares anything with."""
    found = set()
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Compare):
            for part in (node.left, *node.comparators):
                words = part.elts if isinstance(part, ast.Tuple | ast.List | ast.Set) else [part]
                found |= {
                    word.value for word in words if isinstance(word, ast.Constant) and isinstance(word.value, str)
                }
    return found
