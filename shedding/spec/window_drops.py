"""`shed.windows`: how many windows may be left out, and how many in a row; the rest are exact."""

from __future__ import annotations

from pydantic import Field, model_validator

from shedding.dropping.rules import Unit, batch_advice, drop_problem
from shedding.fields import Number, Spec, Whole


class WindowDrops(Spec):
    """Whole windows are left out instead of rows: what is published is exact, what is not can be filled later."""

    drop: Number = Field(ge=0, lt=1, description="share of the windows that is left out")
    batch: Whole = Field(default=1, ge=1, le=1000, description="most windows in a row that may be missing")

    @model_validator(mode="after")
    def _share_and_batch_fit(self) -> WindowDrops:
        problem = drop_problem(self.batch, self.drop)
        if problem is not None:
            raise ValueError(problem)
        return self

    def advice(self, size: int, slide: int) -> str:
        """What the batch buys for windows of a size and slide."""
        return batch_advice(Unit(size, slide, self.batch), self.drop)
