"""How wrong a published number may be planned to be: keys that cannot be that good within the budget are left out."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shedding.fields import Name, Number, Spec

ErrorLimit = Annotated[Number, Field(ge=0, description="half-width of the 95 % interval over the value; 0: exact")]


class TolerateSpec(Spec):
    """The largest planned error of a row that is published: one number, or one for each measure that has a limit."""

    error: ErrorLimit | dict[Name, ErrorLimit]

    def of(self, measure: str) -> float | None:
        """The limit of a measure; None where it has none."""
        return self.error.get(measure) if isinstance(self.error, dict) else self.error
