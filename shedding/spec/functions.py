"""Where a user's function stands, and what its source is; told without running a line of it."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

from shedding.errors import SpecError

FOLDER = "functions"
"""Beside `datasets` and `queries`: modules of functions that are no installed package."""


@dataclass(frozen=True, slots=True)
class Source:
    """The file of a function, and whether it is in the folder of functions (else it is an installed package's)."""

    file: Path
    shipped: bool

    @property
    def digest(self) -> str:
        """Changes with every byte of the file."""
        return hashlib.blake2b(self.file.read_bytes(), digest_size=12).hexdigest()


def locate(call: str, specs: Path | None) -> Source:
    """The source of `module:function`: in the folder of functions, else an installed package.

    Raises SpecError where there is no such module, or none of its top-level names is the function.
    """
    module, _, function = call.partition(":")
    own = specs / FOLDER / f"{module}.py" if specs is not None else None
    file = own if own is not None and own.is_file() else _installed(module)
    if file is None:
        raise SpecError(f"there is no module {module}; put {module}.py into {FOLDER}/, or install the package")
    source = Source(file, shipped=file == own)
    if function not in _names(source.file):
        raise SpecError(f"{source.file.name} has no function {function}; write module:function of one that it has")
    return source


def _installed(module: str) -> Path | None:
    """The file of an importable module, found from package to package without importing one."""
    path: list[str] | None = None
    for end in range(1, module.count(".") + 2):
        found = PathFinder.find_spec(".".join(module.split(".")[:end]), path)
        if found is None:
            return None
        path = list(found.submodule_search_locations or [])
    return Path(found.origin) if found and found.origin and found.origin.endswith(".py") else None


def _names(file: Path) -> set[str]:
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError as error:
        raise SpecError(f"{file.name} is no Python (line {error.lineno}: {error.msg}); correct it") from None
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name) for alias in node.names}
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found
