"""Every record has one answer: one fact, or one dead letter for what cannot be decoded."""

from __future__ import annotations

from collections.abc import Iterator

from tests.e2e import answers
from tests.e2e.findings import repeated
from tests.e2e.summit_history import COMMANDS, Logged
from topology.summit import SUMMIT_EVENTS


def check(history: Logged) -> Iterator[str]:
    facts = history.values(SUMMIT_EVENTS)
    yield from repeated("fact", (fact["eventId"] for fact in facts))
    for subject, (topic, dead) in COMMANDS.items():
        causes = [fact["cause"] for fact in facts if fact["subject"] == subject]
        withdraws = subject == "manifest"
        yield from answers.check(history.of(topic), causes, history.of(dead), withdraws)
