"""Every specification of a kind as a DAG, so that a bad one takes no other down."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from airflow.sdk import DAG

from factories.invalid import invalid_dag
from shedding.config import Settings
from shedding.spec import Catalog, DatasetSpec, Pooled, Problem, QuerySpec

S = TypeVar("S", DatasetSpec, QuerySpec, Pooled)


def build_all(
    kind: str,
    prefix: str,
    specs: Mapping[str, S],
    catalog: Catalog,
    settings: Settings,
    factory: Callable[[S, Catalog, Settings], DAG],
) -> dict[str, DAG]:
    """DAGs by id: one from `factory` per valid specification, a marked one per invalid file of `kind`."""
    dags: dict[str, DAG] = {}
    for name, spec in sorted(specs.items()):
        dag_id = f"{prefix}_{name}"
        try:
            dags[dag_id] = factory(spec, catalog, settings)
        except Exception as error:
            # Whatever one specification provokes, the others' DAGs must appear.
            file = Path(settings.specs) / kind / f"{name}.yaml"
            dags[dag_id] = invalid_dag(dag_id, [Problem(file, "", f"{type(error).__name__}: {error}")])
    broken: dict[str, list[Problem]] = {}
    for problem in catalog.problems:
        if problem.file.parent.name == kind:
            # A file may have a name that Airflow refuses for a DAG.
            broken.setdefault(f"{prefix}_{re.sub(r'[^A-Za-z0-9_.-]', '_', problem.file.stem)}", []).append(problem)
    for dag_id, problems in broken.items():
        if dag_id not in dags:
            dags[dag_id] = invalid_dag(dag_id, problems)
    return dags
