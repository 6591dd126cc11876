"""Every record has one answer: one fact, or one dead letter for what cannot be decoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.e2e.logged import Entry


def check(
    records: Sequence[Entry], causes: Sequence[str], dead: Sequence[Entry], withdraws: bool
) -> Iterator[str]:
    """records: of one topic.  causes: of the facts about them.  withdraws: by a null value."""
    answers = Counter(causes)
    letters = Counter(entry.cause for entry in dead)
    for entry in records:
        verdicts, buried = answers.pop(entry.place, 0), letters.pop(entry.place, 0)
        withdrawn = withdraws and not entry.is_broken
        expected = (0, 1) if entry.json is None and not withdrawn else (1, 0)
        if (verdicts, buried) != expected:
            yield f"{entry.place} has {verdicts} verdicts and {buried} dead letters"
    yield from (f"a dead letter about {place}, which is not there" for place in letters)
    yield from (f"a verdict on {place}, which is not there" for place in answers)
