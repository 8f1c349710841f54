"""A column that a user's function makes, as a query's owner writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, StringConstraints

from shedding.fields import CALL, Column, Spec, Whole
from shedding.spec.functions import Source, locate
from shedding.spec.times import Duration

ValueType = Literal["double", "bigint", "string", "boolean"]


def _null_word(value: object) -> object:
    return "null" if value is None else value  # YAML's bare null is meant as the word


OnError = Annotated[Literal["null", "quarantine", "fail"], BeforeValidator(_null_word)]


class EnrichSpec(Spec):
    """A column computed by a function, only for the rows that a leg keeps and once for each of them.

    `on_error` says what becomes of a row that the function fails on, takes longer than `limit` for, or gives a wrong
    value for: no value; no value and the row's inputs kept beside the error; or the end of the job.
    """

    name: Column
    call: Annotated[str, StringConstraints(pattern=CALL)]
    columns: list[Column] = Field(min_length=1, description="the function's arguments, in order")
    type: ValueType = "double"
    version: Whole = Field(default=1, ge=1, description="raise it when the function's values change")
    batch: bool = Field(default=False, description="the function takes and returns lists, one item a row")
    on_error: OnError = "null"
    limit: Duration = Field(default=10_000_000, ge=1000, description="how long one call may take")
    cost_by: list[Column] = Field(
        default_factory=list,
        description="columns that a call's cost depends on, e.g. a length class; left out: the keys",
    )
    _specs: Path | None = PrivateAttr(default=None)

    def found_in(self, specs: Path) -> None:
        """Where the folder of functions is."""
        self._specs = specs

    @property
    def source(self) -> Source:
        """The function's file; SpecError where there is none."""
        return locate(self.call, self._specs)

    def fingerprint(self) -> dict[str, Any]:
        """What the column's values are a function of, besides the rows: the entry and its function's source."""
        content = self.model_dump(mode="json")
        if not self.cost_by:
            del content["cost_by"]  # fingerprints from before there was such a key hold on
        return {**content, "source": self.source.digest}
