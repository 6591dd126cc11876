"""All that a run of ASAP has left on the log, read once, in the form in which it is checked."""

from __future__ import annotations

from tests.e2e.logged import Entry, Logged, entries, latest, raw
from tests.e2e.sap_history import Source
from topology.asap import (
    ASAP_ENVELOPES,
    ASAP_ENVELOPES_DLQ,
    ASAP_EVENTS,
    ASAP_INBOX,
    ASAP_LINKS,
    ASAP_LINKS_DLQ,
    ASAP_MANIFESTS,
    ASAP_MANIFESTS_DLQ,
    ASAP_SNAPSHOTS,
    ASAP_TASKS,
)
from topology.core import RTES_RAW

__all__ = ["AsapHistory", "Entry", "entries", "read"]

DECODED = (
    ASAP_ENVELOPES,
    ASAP_EVENTS,
    ASAP_INBOX,
    ASAP_LINKS,
    ASAP_MANIFESTS,
    RTES_RAW,
)
TABLES = (ASAP_SNAPSHOTS, ASAP_TASKS)
RAW = (ASAP_ENVELOPES_DLQ, ASAP_LINKS_DLQ, ASAP_MANIFESTS_DLQ)
AsapHistory = Logged


def read(source: Source) -> AsapHistory:
    """Everything that is committed by now; of tables the last record of each key."""
    by_topic = {topic.name: entries(topic, source.records(topic)) for topic in DECODED}
    by_topic |= {topic.name: entries(topic, latest(source.records(topic))) for topic in TABLES}
    by_topic |= {topic.name: raw(source.records(topic)) for topic in RAW}
    return AsapHistory(by_topic)
