"""A user's function, imported where it is called."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shedding.errors import ConfigError


def load_function(call: str, file: Path | None = None) -> Callable[..., Any]:
    """The function `module:function`; from `file` where it stands beside the queries, else by its module's name.

    Raises ConfigError where the module cannot be imported here: on a cluster, where an executor lacks it.
    """
    name, _, function = call.partition(":")
    try:
        module = _of_file(name, file) if file is not None and file.is_file() else importlib.import_module(name)
        return getattr(module, function)  # type: ignore[no-any-return]
    except Exception as error:
        raise ConfigError(
            f"{call} cannot be imported where its rows are ({type(error).__name__}: {error}); install its package on "
            f"every executor, or correct the module"
        ) from error


def _of_file(name: str, file: Path) -> Any:
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # modules beside it may be imported by it
    found = importlib.util.spec_from_file_location(f"_sluice_functions_{name}", file)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
