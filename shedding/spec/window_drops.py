"""`shed.windows`: how many windows may be left out, and how many in a row; the rest are exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from shedding.dropping.rules import Unit, batch_advice, drop_problem
from shedding.fields import Number, Spec, Whole


class WindowDrops(Spec):
    """Whole windows are left out instead of rows: what is published is exact, what is not can be filled later."""

    drop: Number | None = Field(default=None, ge=0, lt=1, description="share of the windows that is left out")
    batch: Whole = Field(default=1, ge=1, le=1000, description="most windows in a row that may be missing")

    follow: Literal["readers"] | None = Field(
        default=None, description="compute what the kept windows of the queries that read this one need, no more"
    )
    _readers: tuple[Any, ...] = PrivateAttr(default=())

    @property
    def readers(self) -> tuple[Any, ...]:
        """The queries that read the one that follows them; the catalog knows them."""
        return self._readers

    def followed_by(self, readers: Sequence[Any]) -> None:
        """Say who reads the query."""
        self._readers = tuple(readers)

    @model_validator(mode="after")
    def _share_and_batch_fit(self) -> WindowDrops:
        if (self.drop is None) == (self.follow is None):
            raise ValueError("windows needs exactly one of drop (a share, e.g. 0.4) and follow (readers)")
        problem = None if self.drop is None else drop_problem(self.batch, self.drop)
        if problem is not None:
            raise ValueError(problem)
        return self

    def advice(self, size: int, slide: int) -> str:
        """What the batch buys for windows of a size and slide."""
        return "" if self.drop is None else batch_advice(Unit(size, slide, self.batch), self.drop)
