"""The topics whose records have entries in a transparency log."""

from __future__ import annotations

from streams.ops.audit.chain import COVERED
from topology.core import AUDIT_CHECKPOINTS
from topology.topics import full_name

LOGGED = (*COVERED, AUDIT_CHECKPOINTS)
"""The topics whose records have entries."""


def logged_topics(prefix: str) -> frozenset[str]:
    """Return their names with the prefix."""
    return frozenset(full_name(topic, prefix) for topic in LOGGED)
