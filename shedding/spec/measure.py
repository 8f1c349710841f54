"""One number of a query: which aggregate of which column."""

from __future__ import annotations

from pydantic import Field, model_validator

from shedding.fields import Column, Name, Number, Spec, Whole
from shedding.spec.aggregates import AGGREGATES, Aggregate, Traits


class MeasureSpec(Spec):
    """One aggregate of one column (count: of the rows; ratio: sum of a column over sum of another)."""

    name: Name
    agg: Aggregate
    column: Column | None = None
    over: Column | None = Field(default=None, description="denominator column of a ratio")
    q: Number | None = Field(default=None, gt=0, lt=1, description="which quantile")
    near_zero: bool = Field(default=False, description="values may be near zero: errors relative to the row spread")
    magnitude: Whole = Field(
        default=40, ge=1, le=62, description="absolute values are below 2**magnitude; sums lose no bit of them"
    )

    @property
    def traits(self) -> Traits:
        """What may be asked of the aggregate without knowing its name."""
        return AGGREGATES[self.agg]

    @model_validator(mode="after")
    def _parts_fit(self) -> MeasureSpec:
        if self.agg == "count" and self.column is not None:
            raise ValueError(f"measure {self.name}: count counts rows and takes no column; remove column")
        if self.agg != "count" and self.column is None:
            raise ValueError(f"measure {self.name}: {self.agg} needs column; write the column that it is of")
        if (self.agg == "quantile") != (self.q is not None):
            raise ValueError(f"measure {self.name}: q goes with agg: quantile and only there, e.g. q: 0.9")
        if (self.agg == "ratio") != (self.over is not None):
            raise ValueError(f"measure {self.name}: over (the denominator) goes with agg: ratio and only there")
        return self
