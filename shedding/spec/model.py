"""What every specification model shares: unknown keys refused, values frozen, names plain."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
Column = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,126}$")]
Expression = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class Spec(BaseModel):
    """A part of a specification."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
