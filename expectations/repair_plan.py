"""Which keys to compute exactly so that a refused slot passes, chosen greedily.

A key is repaired in every window and measure of the slot at once, so the worst offenders of one check often fix the
others; each check in its turn blames keys for what those chosen before leave over.

Errors that were not measured are brought down until their bound at the gate's risk is within the limit, not their
estimate: a repaired slot may be over as rarely as any other.
A check that no key is to blame for takes the whole slot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from expectations.checks import GateCheck, all_checks
from expectations.evidence import Evidence
from expectations.repair_board import Board
from expectations.verdict import Verdict

WIDEN_AT = 0.5
"""Share of the slot's rows above which a repair costs about as much as the exact leg, and becomes it."""


@dataclass(frozen=True)
class Repair:
    """The keys to compute exactly, one row a key; None means the whole slot. `why` is for the run's record."""

    keys: pa.Table | None
    why: str


def plan_repair(evidence: Evidence, verdict: Verdict) -> Repair:
    """What to compute exactly so that the checks that failed pass; a function of the judged rows alone."""
    failed = {check.name for check in verdict.failed}
    checks = [check for check in repairable() if check.key in failed]
    beyond = sorted(failed - {check.key for check in checks})
    if beyond or not evidence.query.group_by:
        return Repair(None, f"the whole slot: {', '.join(beyond) or 'the query has no keys'}")
    order = [("window_start", "ascending"), *((key, "ascending") for key in evidence.query.group_by)]
    board = Board(replace(evidence, answer=evidence.answer.sort_by(order)))
    limits = {check: _limit(check, evidence) for check in checks}
    for check, limit in limits.items():
        check.blame(board, limit)
    if not all(check.fixed(board, limit) for check, limit in limits.items()):
        return Repair(None, "the whole slot: keys are missing and only its rows know which")
    keys, share = board.chosen(), board.share()
    if share > WIDEN_AT:
        return Repair(None, f"the whole slot: {keys.num_rows} failing keys hold {share:.0%} of its rows")
    return Repair(keys, f"{keys.num_rows} failing keys, {share:.2%} of the slot's rows: {', '.join(sorted(failed))}")


def repairable() -> list[GateCheck]:
    """The checks that keys can be blamed for, in their turn."""
    turns = {check: check.repair_turn for check in all_checks()}
    return sorted((check for check, turn in turns.items() if turn is not None), key=lambda check: turns[check] or 0)


def _limit(check: GateCheck, evidence: Evidence) -> float:
    limit = check.limit_for(evidence.query)
    assert limit is not None, f"{check.key} failed and has no limit"
    return limit
