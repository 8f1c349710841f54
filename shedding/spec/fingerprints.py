"""Which keys of a specification decide what: the one list, and the fingerprints that are made by it.

What was computed under a specification is used again only while its fingerprint is the one of now. A key that is in
no class here fails a test, so a new one cannot be forgotten.
"""

from __future__ import annotations

import hashlib
import json
from enum import Enum
from typing import Any

from shedding.spec.keyset import KeySet
from shedding.spec.pool import Pooled
from shedding.spec.query import QuerySpec
from shedding.spec.shed import EXACT

FIRST = ("fraction", "rows")
"""The keys of a budget that every fingerprint has, stated or not."""
FORMAT = 7
"""Raise it when the meaning of a pane's columns or of a policy's rates changes."""


class Decides(Enum):
    """What a key of the specification has a say in."""

    PANES = "the panes of every leg, and so all answers"
    ROWS = "which rows there are: of panes the key set says it, of answers the key"
    SAMPLES = "the panes and answers of legs that shed"
    ANSWERS = "the answers of every leg, but no pane"
    ESTIMATES = "the answers of legs that shed, but no pane"
    NOTHING = "no number: names, texts, what is published and when"


DECIDES = {
    "name": Decides.NOTHING,  # panes and answers are kept by the query's name
    "description": Decides.NOTHING,
    "owner": Decides.NOTHING,
    "tags": Decides.NOTHING,
    "dataset": Decides.ROWS,
    "source": Decides.NOTHING,  # its name is the dataset's
    "where": Decides.PANES,
    "join": Decides.PANES,
    "window": Decides.PANES,
    "group_by": Decides.PANES,
    "measures": Decides.PANES,
    "enrich": Decides.PANES,
    "top": Decides.ANSWERS,
    "schedule": Decides.PANES,
    "shed": Decides.SAMPLES,
    "estimates": Decides.ESTIMATES,
    "audit": Decides.SAMPLES,
    "publish": Decides.NOTHING,
    "gate": Decides.NOTHING,
    "objective": Decides.NOTHING,
    "notify": Decides.NOTHING,
}
"""Every key of a query's specification."""


def panes_fingerprint(query: QuerySpec, keyset: KeySet, leg: str) -> str:
    """Of what the specification says about a leg's panes of one side; for the exact leg that is not its shedding."""
    shed = () if leg == EXACT else (Decides.SAMPLES,)
    rows = [keyset.dataset, keyset.keys, keyset.where, *([keyset.keep] if keyset.keep else [])]
    return digest([FORMAT, *rows, _content(query, leg, Decides.PANES, *shed)])


def spec_fingerprint(query: QuerySpec, leg: str) -> str:
    """Of what the specification says about a leg's answer; for the exact leg that is not its shedding."""
    shed = () if leg == EXACT else (Decides.SAMPLES, Decides.ESTIMATES)
    return digest([FORMAT, _content(query, leg, Decides.PANES, Decides.ROWS, Decides.ANSWERS, *shed)])


def digest(content: Any) -> str:
    """A short name of some JSON content: equal for equal content, stable for ever."""
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=12).hexdigest()


def _budget(budget: dict[str, Any]) -> dict[str, Any]:
    """Without the kinds that came later and are not stated: fingerprints from before them hold on."""
    return {kind: value for kind, value in budget.items() if value is not None or kind in ("fraction", "rows")}


def _content(query: QuerySpec, leg: str, *classes: Decides) -> dict[str, Any]:
    """What the specification says under the keys of these classes, as it would be written for the leg alone."""
    spec = query.model_dump(mode="json")
    spec["enrich"] = query.functions.get("enrich")  # what the functions are, not only what they are called
    content = {key: spec[key] for key, decides in DECIDES.items() if decides in classes}
    if not query.enrich:
        content.pop("enrich", None)  # fingerprints from before there were functions hold on
    if "shed" in content:
        content["shed"] = {**spec["shed"], "policy": leg, "compare": []}
        budget = {name: value for name, value in spec["shed"]["budget"].items() if value is not None or name in FIRST}
        content["shed"]["budget"] = budget  # fingerprints from before there were error limits hold on
        if query.shed.tolerate is None:
            del content["shed"]["tolerate"]
        if query.shed.keep is None:
            del content["shed"]["keep"]
        if query.pool is not None:
            content["pool"] = _pool_content(query.pool, leg)
    return content


def _pool_content(pool: Pooled, leg: str) -> list[Any]:
    """What the rates of a pool's members are a function of: how it is shared, and what each member asks for."""
    parts = (Decides.PANES, Decides.ROWS, Decides.SAMPLES)
    members = [[one.name, pool.weight(one), _content(one, leg, *parts)] for one in pool.members]
    return [pool.spec.name, pool.spec.fairness.model_dump(), members]
