"""Which slots are audited, and from which of them a slot may learn.

Both are functions of event time and the specification alone, never of what happened to run before:
that is why a re-run, a retry and a backfill in any order give the same rows.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

PRIOR_SLOTS = 3
"""J: how many audited slots a prior merges (`shedding/estimates/README.md`)."""
RECORD_SLOTS = 8
"""How many audited slots a slot's error bounds rest on: fewer give wider bounds, more cost a lone slot more."""
SEASONS = 7
"""How many seasons back a slot looks for audits of its phase: a week of days."""


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """One slot in `one_in` is audited, and always the `first` that has rows and the one after; `extra` adds drift's.

    The first has no history, so its errors tell little of the slots that learn from it; those of the second do.
    `length` is the slot's length in microseconds, `salt` the query's name. With a `season` (microseconds) a slot learns
    from the newest audit and from those of the last `SEASONS` seasons whose phase is nearest to its own.
    """

    length: int
    one_in: int
    salt: str
    first: int | None = None
    extra: frozenset[int] = frozenset()
    season: int | None = None

    def is_audited(self, slot: int) -> bool:
        """Whether the slot gets the exact leg: exactly one in each block of `one_in`, chosen by hash."""
        if slot in self.extra or (self.first is not None and slot in (self.first, self.first + self.length)):
            return True
        block, place = divmod(slot // self.length, self.one_in)
        digest = hashlib.blake2b(f"{self.salt}/{block}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.one_in == place

    def priors(self, slot: int, count: int = PRIOR_SLOTS) -> list[int]:
        """The `count` audited slots before `slot` that it learns from, newest first: the last ones, or of its season.

        Never one before `first`. Where no first slot is known, `count` + 1 blocks back always suffice, or all seasons.
        """
        reach = max((count + 1) * self.one_in * self.length, SEASONS * (self.season or 0))
        floor = self.first if self.first is not None else slot - reach
        before = range(slot - self.length, floor - 1, -self.length)
        return self.chosen(slot, (candidate for candidate in before if self.is_audited(candidate)), count)

    def chosen(self, slot: int, audits: Iterator[int], count: int) -> list[int]:
        """Those of the audits before `slot`, given newest first, that it learns from.

        The newest is always among them: it knows what the others do not. Older ones than `SEASONS` seasons only where
        there are too few. Of equal phase the newer one counts.
        """
        if self.season is None or count < 2:
            return list(itertools.islice(audits, count))
        found: list[int] = []
        for audit in audits:
            if audit < slot - SEASONS * self.season and len(found) >= count:
                break
            found.append(audit)
        alike = sorted(found[1:], key=lambda audit: (self._apart(slot, audit), -audit))
        return sorted([*found[:1], *alike[: count - 1]], reverse=True)

    def _apart(self, slot: int, audit: int) -> int:
        """How far the phases of two slots are apart, the shorter way round."""
        assert self.season is not None
        phase = (slot - audit) % self.season
        return min(phase, self.season - phase)
