"""A repair in rounds: the keys that were computed exactly tell how wrong the others are.

Which keys a round takes follows from what they claim, never from what they turn out to be: together they are a check of
the slot itself, of many more keys than its spot check has. Where they were worse than claimed, the bound of the rest
rises, and the next round takes more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from expectations.evidence import Array, Evidence, micros, numbers, positions, silent_rows
from expectations.repair_plan import Repair, plan_repair
from expectations.verdict import Verdict
from shedding.estimates.accuracy import relative_errors
from shedding.keys import align
from shedding.risk import REPAIRED, WindowLaws

ROUNDS = 5
"""Rounds that find more to compute before the whole slot is; nine repairs in ten end with the first or second."""


@dataclass(frozen=True)
class Repaired:
    """The keys of all rounds, and the evidence with their exact rows in place; `repair` may be of the whole slot."""

    repair: Repair
    evidence: Evidence


def repair_in_rounds(
    evidence: Evidence, verdict: Verdict, first: Repair, exact_rows: Callable[[pa.Table], pa.Table]
) -> Repaired:
    """Compute the keys of the `first` plan by `exact_rows`, learn from them, and plan again until nothing is over.

    Guarantee: a function of the judged rows and the exact ones. Where errors are measured one round is all.
    """
    plan, keys = first, list[pa.Table]()
    while plan.keys is not None:
        keys.append(plan.keys)
        exact = exact_rows(plan.keys)
        gone = _rows_without(evidence, plan.keys, exact)  # keys whose rows were not found: the gate will say so
        evidence = with_exact_rows(evidence, plan.keys, exact)
        if gone or evidence.kind == "measured":
            break
        plan = plan_repair(evidence, verdict)
        if plan.keys is not None and not plan.keys.num_rows:
            break
        if len(keys) == ROUNDS:
            plan = Repair(None, f"the whole slot: {ROUNDS} rounds of keys were worse than they claimed")
    if plan.keys is None:
        return Repaired(plan, evidence)
    names = evidence.query.group_by
    chosen = pa.concat_tables(keys).sort_by([(name, "ascending") for name in names])
    why = first.why if len(keys) == 1 else f"{chosen.num_rows} keys in {len(keys)} rounds, first {first.why}"
    return Repaired(Repair(chosen, why), evidence)


def with_exact_rows(evidence: Evidence, keys: pa.Table, exact: pa.Table) -> Evidence:
    """The evidence with exact rows in the place of the keys' own, and laws that know how wrong those were."""
    others = evidence.answer.filter(pa.array(~among(evidence.answer, keys)))
    answer = pa.concat_tables([others, exact], promote_options="permissive")
    omitted = None if evidence.omitted is None else evidence.omitted.filter(pa.array(~among(evidence.omitted, keys)))
    if evidence.kind == "measured":
        return replace(evidence, answer=answer, omitted=omitted)
    runs = _with_column(evidence.runs, "missing_keys", pa.array(_missing(evidence, answer), pa.int64()))
    for measure in evidence.query.measures:
        told = _told(evidence, exact, measure.name)
        before = zip(told, evidence.laws[measure.name], _deciders(runs, measure.name), strict=True)
        moved = [decider if new is old else REPAIRED for new, old, decider in before]
        texts = [None if law is None else law.text() for law in told]
        runs = _with_column(runs, f"{measure.name}_law", pa.array(texts, pa.string()))
        runs = _with_column(runs, f"{measure.name}_decided_by", pa.array(moved, pa.string()))
    return replace(evidence, answer=answer, omitted=omitted, runs=runs)


def among(rows: pa.Table, keys: pa.Table) -> Array:
    """Which rows are of these keys."""
    _, (here, wanted) = align([rows, keys], keys.column_names)
    return np.isin(here, wanted)


def _rows_without(evidence: Evidence, keys: pa.Table, exact: pa.Table) -> bool:
    """Whether a row of the keys has no exact row to take its place."""
    judged = evidence.answer.filter(pa.array(among(evidence.answer, keys)))
    return bool(np.any(positions(judged, exact, evidence.query.group_by) < 0))


def _told(evidence: Evidence, exact: pa.Table, measure: str) -> list[WindowLaws | None]:
    """The laws of each window after its rows of exact keys are known; relative errors as the gate has them."""
    place = positions(exact, evidence.answer, evidence.query.group_by)
    truth, place = numbers(exact, measure)[place >= 0], place[place >= 0]
    claimed, value = (numbers(evidence.answer, name)[place] for name in (f"{measure}_error", measure))
    floor = np.nan_to_num(numbers(evidence.runs, f"{measure}_floor"))
    told = []
    for window, laws in enumerate(evidence.laws[measure]):
        here = evidence.window[place] == window
        errors = relative_errors(truth[here], value[here], float(floor[window]))
        told.append(None if laws is None else laws.checked(claimed[here], errors))
    return told


def _deciders(runs: pa.Table, measure: str) -> list[str | None]:
    name = f"{measure}_decided_by"
    return runs[name].to_pylist() if name in runs.column_names else [None] * runs.num_rows


def _missing(evidence: Evidence, answer: pa.Table) -> Array:
    """The missing keys of each window, once `answer` stands for the judged one: those of no value may have one now."""
    window = np.searchsorted(evidence.starts, micros(answer["window_start"]))
    silent = np.bincount(window[silent_rows(answer, evidence.query)], minlength=len(evidence.starts))
    return np.asarray(evidence.absent + silent)


def _with_column(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    if name not in table.column_names:
        return table.append_column(name, column)
    return table.set_column(table.column_names.index(name), name, column)
