"""The policies that a query may name, and their options as keys of its `shed:`, both read off the policies themselves.

An option is stated once for the legs of a query: each policy takes those that it has, and has its own defaults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model

from shedding.fields import Spec
from shedding.policies import POLICIES, Policy


def _fields() -> dict[str, Any]:
    """The options of all policies as fields; None: not stated."""
    options = {name: field for policy in POLICIES.values() for name, field in policy.model_fields.items()}
    return {
        name: (Annotated[field.annotation, Field(description=field.description), *field.metadata] | None, None)
        for name, field in sorted(options.items())
    }


if TYPE_CHECKING:
    PolicyName = str
    _Options = Spec
else:
    PolicyName = Literal[tuple(POLICIES)]
    _Options = create_model("_Options", __base__=Spec, **_fields())
OPTIONS = tuple(_fields())


class PolicyOptions(_Options):
    """The stated options of the policies, and the policies that they make."""

    @property
    def stated_options(self) -> dict[str, Any]:
        """The policies' options that the file states."""
        return {name: value for name in OPTIONS if (value := getattr(self, name)) is not None}

    def get_policy(self, name: str) -> Policy:
        """A policy with those of the stated options that it has."""
        policy = POLICIES[name]
        stated = {option: value for option, value in self.stated_options.items() if option in policy.model_fields}
        return policy.model_validate(stated)
