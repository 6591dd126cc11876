"""Topic sizes, retention times, and the dead-letter topic of an input.

Three numbers set a topic's record size.  Inputs hold what clients send and are small; a fact or a
row may hold an envelope with all decisions about it, so it may be several times larger; a dead
letter holds an input's bytes and the headers that describe their error.
"""

from __future__ import annotations

from topology.declarations import Topic, TopicKind

KIB = 1 << 10
MIB = 1 << 20
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

INPUT_BYTES = 1 * MIB
FACT_BYTES = 4 * MIB
TABLE_BYTES = 4 * MIB
DEAD_LETTER_EXTRA_BYTES = 64 * KIB
LONG_BYTES = 8 * MIB
"""The largest turn or event, which have no bound of their own, and the largest record of SAP.

What is decided about it, and rows that hold it, may be twice as large.
"""

INBOX_RETENTION_MS = 30 * DAY_MS
DEAD_LETTER_RETENTION_MS = 90 * DAY_MS
RTES_RAW_RETENTION_MS = 24 * HOUR_MS
OTEL_SPANS_RETENTION_MS = 24 * HOUR_MS
DELETE_RETENTION_MS = DAY_MS
"""How long tombstones of compacted topics are kept.

A copy that was last at the end longer ago may have missed a deletion: it is rebuilt.
"""


def dead_letters(source: Topic, meaning: str) -> Topic:
    return Topic(
        f"{source.name}.dlq",
        TopicKind.DEAD_LETTER,
        None,
        key="the original record's key",
        meaning=meaning,
        retention_ms=DEAD_LETTER_RETENTION_MS,
        max_bytes=source.max_bytes + DEAD_LETTER_EXTRA_BYTES,
    )
