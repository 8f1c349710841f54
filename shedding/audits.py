"""Which slots are audited, and from which of them a slot may learn.

Both are functions of event time and the specification alone, never of what happened to run before:
that is why a re-run, a retry and a backfill in any order give the same rows.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

PRIOR_SLOTS = 3
"""J: how many audited slots a prior merges (estimates.md: J = 1 costs up to 9 % of accuracy)."""


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """One slot in `one_in` is audited, and always the `first` that has rows and the one after; `extra` adds drift's.

    The first has no history, so its errors tell little of the slots that learn from it; those of the second do.
    `length` is the slot's length in microseconds, `salt` the query's name.
    """

    length: int
    one_in: int
    salt: str
    first: int | None = None
    extra: frozenset[int] = frozenset()

    def is_audited(self, slot: int) -> bool:
        """Whether the slot gets the exact leg: exactly one in each block of `one_in`, chosen by hash."""
        if slot in self.extra or (self.first is not None and slot in (self.first, self.first + self.length)):
            return True
        block, place = divmod(slot // self.length, self.one_in)
        digest = hashlib.blake2b(f"{self.salt}/{block}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.one_in == place

    def priors(self, slot: int, count: int = PRIOR_SLOTS) -> list[int]:
        """The last `count` audited slots before `slot` by event time, newest first.

        Never one before `first`. Where no first slot is known, `count` + 1 blocks back always suffice.
        """
        floor = self.first if self.first is not None else slot - (count + 1) * self.one_in * self.length
        found: list[int] = []
        candidate = slot - self.length
        while candidate >= floor and len(found) < count:
            if self.is_audited(candidate):
                found.append(candidate)
            candidate -= self.length
        return found
