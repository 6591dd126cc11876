"""The packet types, as rules group them."""

from __future__ import annotations

CONTENT = frozenset(
    {"TASK_IR", "IDEA", "CLAIM", "ARTIFACT", "EVAL", "TRANSFER", "ARBITRATION", "DECISION"}
)
CONTROL = frozenset({"SIGNAL", "RETRACTION", "ACK", "NACK", "ERROR", "HEARTBEAT"})
ALL_TYPES = CONTENT | CONTROL
