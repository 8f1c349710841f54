"""Where things are and how Spark is reached: the one configuration model.

Nothing else in the project reads environment variables. Every field has a variable of its own,
`SLUICE_` followed by the field's name in capitals.

By hand and not by pydantic-settings: importing it made the import of the DAG factories, after Airflow's own, 0.27 s of
CPU instead of 0.20 s (medians of 5), and its models read the environment wherever one is constructed.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from shedding.costs import Costs
from shedding.errors import ConfigError
from shedding.stores import SCHEMES, local_path, scheme_of

_PROJECT = Path(__file__).resolve().parent.parent
_UNSAFE = {"AWS_S3_ALLOW_UNSAFE_RENAME": ("true", "1"), "AWS_CONDITIONAL_PUT": ("disabled",)}


class Settings(BaseModel):
    """The deployment's settings; `Settings.load()` reads them from the environment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    warehouse: str = Field(default=str(_PROJECT / "warehouse"), description="root of all Delta tables")
    specs: Path = Field(default=_PROJECT / "jobs", description="directory of datasets/ and queries/")
    landing: Path = Field(default=_PROJECT / "landing", description="where files to ingest are dropped")
    jars: Path = Field(default=_PROJECT / ".jars", description="Delta's jars")
    master: str = Field(default="local[*]", description="Spark master")
    spark: Literal["connect", "submit"] = Field(
        default="connect", description="connect: slots use the server at connect_url, if any; submit: a JVM each"
    )
    connect_url: str = Field(default="", description="a running Spark Connect server, e.g. sc://localhost:15002")
    driver_memory: str = Field(default="3g", description="memory of the Spark driver")
    java_options: str = Field(default="", description="options of the Spark driver's Java")
    job_variables: str = Field(default="", description="further variables of the environment that jobs get, by commas")
    shuffle_partitions: int = Field(default=4, gt=0, description="spark.sql.shuffle.partitions")
    most_groups: int = Field(
        default=6_000_000, gt=0, description="pairs of pane and key of a slot that one driver takes, some 1.5 kB each"
    )
    costs: Costs = Field(
        default=Costs(), description="what legs cost, as JSON; `sluice calibrate` writes costs.json beside queries/"
    )
    docs: Path = Field(default=_PROJECT / "build" / "docs", description="Great Expectations' Data Docs")
    metrics_token: str = Field(
        default="", exclude=True, repr=False, description="what Prometheus must bring for /sluice/metrics; none: closed"
    )

    @field_validator("costs", mode="before")
    @classmethod
    def _of_json(cls, value: object) -> object:
        return json.loads(value) if isinstance(value, str) else value

    @classmethod
    def load(cls, **overrides: object) -> Settings:
        """Settings from the environment; `overrides` that are not None win (command-line flags)."""
        values: dict[str, object] = {}
        for field in cls.model_fields:
            variable = os.environ.get(f"SLUICE_{field.upper()}")
            if variable:
                values[field] = variable
        empty = [name for name, value in overrides.items() if value == ""]
        if empty:  # as a path it would mean the root, or wherever the process happens to run
            raise ConfigError(f"--{empty[0]} is empty; name a directory, or leave the option out")
        values.update({name: value for name, value in overrides.items() if value is not None})
        measured = costs_file(Path(str(values.get("specs", cls.model_fields["specs"].default))))
        if "costs" not in values and measured.is_file():
            values["costs"] = measured.read_text()
        try:
            settings = cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0]) if first["loc"] else "settings"
            raise ConfigError(
                f"setting {name} (variable SLUICE_{name.upper()}) is {first['input']!r}: {first['msg']}"
            ) from error
        _check_warehouse(settings.warehouse)
        return settings

    @property
    def connected(self) -> bool:
        """Whether slots are computed by a Spark that is up already, instead of one that each starts for itself."""
        return self.spark == "connect" and bool(self.connect_url)

    @property
    def cores(self) -> int:
        """How many calls run at once: the master's own cores, on a cluster one for each partition of a shuffle."""
        local = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", self.master)
        if local is None:
            return self.shuffle_partitions
        return (os.cpu_count() or 1) if local[1] == "*" else int(local[1] or 1)

    def require_warehouse(self) -> None:
        """Raise ConfigError where the warehouse is a directory that does not exist: it would look empty."""
        path = local_path(self.warehouse)
        if path is not None and not path.is_dir():
            raise ConfigError(
                f"the warehouse {self.warehouse} does not exist; name another with --warehouse or SLUICE_WAREHOUSE, "
                f"or fill it first: sluice ingest DATASET"
            )

    def table(self, *parts: str) -> str:
        """The location of a table, e.g. `table("raw", "taxi")`."""
        return "/".join([self.warehouse.rstrip("/"), *parts])

    def environment(self) -> dict[str, str]:
        """The variables that give a child process these same settings."""
        values = self.model_dump() | {"costs": self.costs.model_dump_json()}
        return {f"SLUICE_{name.upper()}": str(value) for name, value in values.items()}


def costs_file(specs: Path) -> Path:
    """Where `sluice calibrate` writes what it measured: with the queries, so that every machine decides alike."""
    return specs / "costs.json"


def _check_warehouse(uri: str) -> None:
    """ConfigError for a warehouse that is none, or where two writers could both believe that they made a version."""
    path, scheme = local_path(uri), scheme_of(uri)
    if path is not None and path.is_file():
        raise ConfigError(f"the warehouse {uri} is a file; name a directory (SLUICE_WAREHOUSE)")
    if scheme not in SCHEMES:
        raise ConfigError(
            f"the warehouse {uri} lies on {scheme}://, where commits cannot be made safe against other writers; "
            f"name a directory or a URL of {', '.join(SCHEMES)} (SLUICE_WAREHOUSE)"
        )
    unsafe = [name for name, off in _UNSAFE.items() if os.environ.get(name, "").lower() in off]
    if scheme in ("s3", "s3a") and unsafe:
        raise ConfigError(
            f"{unsafe[0]}={os.environ[unsafe[0]]} switches off conditional commits, and two writers to {uri} would "
            "lose each other's rows; unset it"
        )
