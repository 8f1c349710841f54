"""What a leg costs: seconds = start + row x rows read + kept x rows kept + group x groups, by the way it reads."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class CostLine(BaseModel):
    """The seconds of one kind of leg: `start`, and those of a row that is read, a row that is kept and a group."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    start: float = Field(ge=0)
    row: float = Field(ge=0)
    kept: float = Field(ge=0)
    group: float = Field(ge=0)

    def seconds(self, rows_read: float, kept_rows: float, groups: float) -> float:
        """What so much work takes.

        >>> CostLine(start=1.0, row=1e-6, kept=1e-5, group=1e-4).seconds(1e6, 1e5, 1e4)
        4.0
        """
        return self.start + self.row * rows_read + self.kept * kept_rows + self.group * groups


class Costs(BaseModel):
    """The coefficients of every kind of leg: the exact one, and samples of plain and of ranked files.

    Those of rows that ship are rounded from one `make bench ONLY=legs` of 100M rows on two cores (exact 7.65 s, a bare
    scan 6.05 s, a sample of 5 % 7.84 s of plain and 3.12 s of ranked files); `start` and `group` are estimates from
    profiles of the driver. `sluice calibrate` measures all of them on a machine. `worth` are the seconds that the exact
    leg must save by this model before it takes a sample's place: a small slot is sampled as its owner asked.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    exact: CostLine = CostLine(start=1.0, row=7.5e-8, kept=0.0, group=3e-6)
    plain: CostLine = CostLine(start=1.0, row=6.0e-8, kept=2.5e-7, group=7e-6)
    ranked: CostLine = CostLine(start=1.0, row=2.5e-7, kept=2.5e-7, group=7e-6)
    worth: float = Field(default=1.0, ge=0)
