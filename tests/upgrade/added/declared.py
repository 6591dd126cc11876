"""Topics, table and processor that the next version declares besides."""

from __future__ import annotations

from topology.declarations import Declared, Kind, ProcessorDeclaration, Table, Topic, public
from topology.keeping import dead_letters

RECORD = "headrace.core.TimerRow"
SENT = Topic("notes.sent", Kind.COMMAND, RECORD, "id", "notes as clients send them")
KEPT = Topic("notes.kept", Kind.FACT, RECORD, "id", "one for each note")
COUNTED = Topic("notes.counted", Kind.TABLE, RECORD, "id", "how many notes of each id there are")
SENT_DLQ = dead_letters(SENT, "notes that could not be judged, as sent")
TOPICS = (SENT, KEPT, COUNTED, SENT_DLQ)

COUNTS = public(COUNTED)
LATEST = Table("notes-latest", RECORD, "id", "when the latest note of each id came")
TABLES = (COUNTS, LATEST)

NOTES = ProcessorDeclaration(
    "notes",
    "counts notes by their id",
    inputs=(SENT,),
    outputs=(KEPT, COUNTED, SENT_DLQ),
    tables=TABLES,
)

DECLARED = Declared(
    "notes",
    topics=TOPICS,
    processors=(NOTES,),
    verdicts={SENT: (KEPT,)},
    node_kinds=(),
)
