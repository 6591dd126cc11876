"""Topics, table and processor that the next version declares besides."""

from __future__ import annotations

from topology.declarations import (
    ProcessorDeclaration,
    ProtocolTopology,
    Table,
    Topic,
    TopicKind,
    public_table,
)
from topology.retention import dead_letters

RECORD = "headrace.core.TimerRow"
SENT = Topic("notes.sent", TopicKind.COMMAND, RECORD, "id", "notes as clients send them")
KEPT = Topic("notes.kept", TopicKind.FACT, RECORD, "id", "one for each note")
COUNTED = Topic(
    "notes.counted", TopicKind.TABLE, RECORD, "id", "how many notes of each id there are"
)
SENT_DLQ = dead_letters(SENT, "notes that could not be judged, as sent")
TOPICS = (SENT, KEPT, COUNTED, SENT_DLQ)

COUNTS = public_table(COUNTED)
LATEST = Table("notes-latest", RECORD, "id", "when the latest note of each id came")
TABLES = (COUNTS, LATEST)

NOTES = ProcessorDeclaration(
    "notes",
    "counts notes by their id",
    inputs=(SENT,),
    outputs=(KEPT, COUNTED, SENT_DLQ),
    tables=TABLES,
)

DECLARED = ProtocolTopology(
    "notes",
    topics=TOPICS,
    processors=(NOTES,),
    verdicts={SENT: (KEPT,)},
    node_kinds=(),
)
