"""How much the error of a key counts: key by key, and by size."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_serializer, model_validator

from shedding.fields import Number, Spec

Weight = Annotated[Number, Field(ge=0)]


class KeyWeight(Spec):
    """The weight of the keys that have these values in columns of `group_by`, e.g. {zone: 132, weight: 10}."""

    values: dict[str, str | int | float | bool | None] = Field(min_length=1)
    weight: Weight

    @model_validator(mode="before")
    @classmethod
    def _values_stand_beside_the_weight(cls, given: Any) -> Any:
        if not isinstance(given, dict) or "values" in given:
            return given
        return {
            "values": {name: value for name, value in given.items() if name != "weight"},
            **({"weight": given["weight"]} if "weight" in given else {}),
        }

    @model_serializer
    def _as_written(self) -> dict[str, Any]:
        return {**self.values, "weight": self.weight}


class WeightsSpec(Spec):
    """v_k of the optimum (Eq. 7): the importance that a policy which follows weights spends the budget by.

    A key's weight is its own, else `default`, times its rows in a window to the power `size`: 0 counts every key
    alike, 1 every row.
    """

    default: Weight = 1.0
    keys: list[KeyWeight] = Field(default_factory=list)
    size: Number = Field(default=0.0, ge=0, le=2, description="p of the weight N^p: 0 keys count alike, 1 rows do")
