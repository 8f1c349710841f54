"""What every specification model shares: unknown keys refused, values frozen, names plain, numbers finite."""

from __future__ import annotations

from typing import Annotated

from pydantic import AllowInfNan, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

NAME = r"^[a-z][a-z0-9_]{0,62}$"
_COLUMN = r"^[A-Za-z_][A-Za-z0-9_]{0,126}$"
CALL = r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$"
PATTERNS = {
    CALL: "module:function, e.g. reviews:score; the code itself stands in a file",
    NAME: "lower-case letters a-z, digits and _, a letter first, at most 63",
    _COLUMN: "letters A-Z and a-z, digits and _, no digit first, at most 127",
}
"""What the patterns of names ask for, in words."""


def _no_truth(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("write a number, not true or false")
    return value


Name = Annotated[str, StringConstraints(pattern=NAME)]
Column = Annotated[str, StringConstraints(pattern=_COLUMN)]
Expression = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Whole = Annotated[int, BeforeValidator(_no_truth), Field(ge=-(2**62), le=2**62)]
Number = Annotated[float, BeforeValidator(_no_truth), AllowInfNan(False)]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Words = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class Spec(BaseModel):
    """A part of a specification."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
