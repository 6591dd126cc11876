"""Every record has one answer: one fact, or one dead letter for what cannot be decoded."""

from __future__ import annotations

from collections.abc import Iterator

from tests.e2e import answers
from tests.e2e.asap_history import AsapHistory
from tests.e2e.findings import repeated
from topology.asap import (
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


def check(history: AsapHistory) -> Iterator[str]:
    facts = history.values(ASAP_EVENTS)
    yield from repeated("fact", (fact["event_id"] for fact in facts))
    for topic, dead, kind in COMMANDS:
        causes = [fact["cause"] for fact in facts if fact["kind"] == kind]
        withdraws = kind == "manifest"
        yield from answers.check(history.of(topic), causes, history.of(dead), withdraws)
    yield from (f"{entry.cause} is a link that is not read" for entry in history.of(ASAP_LINKS_DLQ))
