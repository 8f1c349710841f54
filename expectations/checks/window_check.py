"""What the checks of queries that drop windows have in common: they hold for those queries always, for others never."""

from __future__ import annotations

from expectations.checks.check import GateCheck
from expectations.evidence import Evidence
from expectations.window_evidence import WindowEvidence
from shedding.spec.gate import GateSpec
from shedding.spec.query import QuerySpec


class WindowCheck(GateCheck):
    """A check of the kept windows of a query that drops some, or whose source does; no other query has it."""

    place = 3

    def limit(self, gate: GateSpec) -> float | None:
        """Not a matter of `gate:`: what is kept is exact and whole."""
        return 0.0

    def limit_for(self, query: QuerySpec) -> float | None:
        """None for queries that drop no windows."""
        return self.limit(query.gate) if query.drops_windows else None

    def drops(self, evidence: Evidence) -> WindowEvidence:
        """The plan and the counts that it compares the answer with."""
        assert evidence.drops is not None, f"{self.key} judges queries that drop windows"
        return evidence.drops
