"""How much the error of a key counts, and how large it may be: key by key, and by size."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_serializer, model_validator

from shedding.fields import Number, Spec
from shedding.spec.tolerate import ErrorLimit

Weight = Annotated[Number, Field(ge=0)]
OPTIONS = ("weight", "error")
"""What stands beside the values of a key; no column of `group_by` can have these names there."""


class KeyWeight(Spec):
    """The weight of the keys that have these values in columns of `group_by`, e.g. {zone: 132, weight: 10}.

    `error` is the largest planned error that these keys are published with, in place of `tolerate`'s.
    """

    values: dict[str, str | int | float | bool | None] = Field(min_length=1)
    weight: Weight | None = None
    error: ErrorLimit | None = None

    @model_validator(mode="before")
    @classmethod
    def _values_stand_beside_the_weight(cls, given: Any) -> Any:
        if not isinstance(given, dict) or "values" in given:
            return given
        options = {name: given[name] for name in OPTIONS if name in given}
        return {"values": {name: value for name, value in given.items() if name not in OPTIONS}, **options}

    @model_validator(mode="after")
    def _says_something(self) -> KeyWeight:
        if self.weight is None and self.error is None:
            raise ValueError(
                "says nothing of these keys; add weight (e.g. weight: 10), error (e.g. error: 0.1) or both"
            )
        return self

    @model_serializer
    def _as_written(self) -> dict[str, Any]:
        options = {name: getattr(self, name) for name in OPTIONS}
        return {**self.values, **{name: value for name, value in options.items() if value is not None}}


class WeightsSpec(Spec):
    """v_k of the optimum (Eq. 7): the importance that a policy which follows weights spends the budget by.

    A key's weight is its own, else `default`, times its rows in a window to the power `size`: 0 counts every key
    alike, 1 every row.
    """

    default: Weight = 1.0
    keys: list[KeyWeight] = Field(default_factory=list)
    size: Number = Field(default=0.0, ge=0, le=2, description="p of the weight N^p: 0 keys count alike, 1 rows do")
