"""What a review's text says, in plain Python: an example of a function that costs what its row is long."""

from __future__ import annotations

import re

_PRAISE = "good|great|lovely|solid|fast|perfect"
_BLAME = "bad|poor|broken|slow|cheap|awful"
# "not very good": a negation up to three words before turns the word round. The lazy repetition is tried at every
# word, which is what makes this expression slow on long texts.
_SAID = re.compile(rf"\b(?P<turned>(?:not|never|no)\s+(?:[\w.]+\s+){{0,3}}?)?(?:(?P<praise>{_PRAISE})|{_BLAME})\b")


def score(text: str) -> float | None:
    """The tone of a text in -1 .. 1: praise less blame over what is said of either; None where neither is said.

    >>> score("a great box, not very good")
    0.0
    """
    tones = [(1 if said["praise"] else -1) * (-1 if said["turned"] else 1) for said in _SAID.finditer(text)]
    return sum(tones) / len(tones) if tones else None
