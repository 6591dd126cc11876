"""Every record has one answer: one fact, or one dead letter for what cannot be decoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.e2e.asap_history import AsapHistory
from tests.e2e.findings import repeated
from topology.topics import (
    ASAP_ENVELOPES,
    ASAP_ENVELOPES_DLQ,
    ASAP_EVENTS,
    ASAP_LINKS_DLQ,
    ASAP_MANIFESTS,
    ASAP_MANIFESTS_DLQ,
)

COMMANDS = (
    (ASAP_ENVELOPES, ASAP_ENVELOPES_DLQ, "envelope"),
    (ASAP_MANIFESTS, ASAP_MANIFESTS_DLQ, "manifest"),
)


def check(found: AsapHistory) -> Iterator[str]:
    facts = found.values(ASAP_EVENTS)
    yield from repeated("fact", (fact["event_id"] for fact in facts))
    for topic, dead, kind in COMMANDS:
        answers = Counter(fact["cause"] for fact in facts if fact["kind"] == kind)
        letters = Counter(entry.cause for entry in found.of(dead))
        for entry in found.of(topic):
            said, buried = answers.pop(entry.place, 0), letters.pop(entry.place, 0)
            withdrawn = kind == "manifest" and not entry.is_broken
            wanted = (0, 1) if entry.json is None and not withdrawn else (1, 0)
            if (said, buried) != wanted:
                yield f"{entry.place} has {said} verdicts and {buried} dead letters"
        yield from (f"a dead letter about {place}, which is not there" for place in letters)
        yield from (f"a verdict on {place}, which is not there" for place in answers)
    yield from (f"{entry.cause} is a link that is not read" for entry in found.of(ASAP_LINKS_DLQ))
