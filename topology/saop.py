"""The topics, tables, processors and lineage nodes of SAOP and RTES."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from topology.core import DROPPED_KEYS, LINEAGE_EDGES, RTES_RAW
from topology.declarations import (
    NodeKind,
    ProcessorDeclaration,
    ProtocolTopology,
    Table,
    Topic,
    TopicKind,
    public_table,
)
from topology.keys import composite, member, text_of
from topology.retention import LONG_BYTES, TABLE_BYTES, dead_letters


def saop_task_key(session_id: str, task_id: str, origin: str | None = None) -> str:
    """Return the key of a SAOP task.

    The origin keeps a task reported by another protocol's processor apart from a SAOP task of that
    id.
    """
    return composite(session_id, f"{origin}:{task_id}" if origin else task_id)


def _saop_task(value: Mapping[str, Any]) -> str:
    origin = None if value.get("origin") is None else text_of(value, "origin")
    return saop_task_key(text_of(value, "session_id"), text_of(value, "task_id"), origin)


RTES_EVENTS = Topic(
    "rtes.events",
    TopicKind.FACT,
    "headrace.rtes.RtesRecord",
    key="session_id",
    key_of=member("session_id"),
    meaning="accepted events, numbered per session: the stream that user interfaces follow",
    max_bytes=2 * LONG_BYTES,
)
RTES_REJECTIONS = Topic(
    "rtes.rejections",
    TopicKind.FACT,
    "headrace.rtes.RtesRejection",
    key="session_id",
    key_of=member("session_id"),
    meaning="duplicate and rejected events, with the rule that decided",
    max_bytes=2 * LONG_BYTES,
)
SAOP_TASKS = Topic(
    "saop.tasks",
    TopicKind.TABLE,
    "headrace.saop.SaopTask",
    key="session_id/[origin:]task_id",
    key_of=_saop_task,
    meaning="the state of each task, as its transitions on rtes.events say",
    max_bytes=TABLE_BYTES,
)
SAOP_TURNS = Topic(
    "saop.turns",
    TopicKind.COMMAND,
    "headrace.saop.SaopTurn",
    key="metadata.task_id",
    key_of=member("metadata.task_id"),
    meaning="turn envelopes as agents send them",
    max_bytes=LONG_BYTES,
    headers=(DROPPED_KEYS,),
)
SAOP_VERDICTS = Topic(
    "saop.verdicts",
    TopicKind.FACT,
    "headrace.saop.SaopVerdict",
    key="task_id",
    key_of=member("task_id"),
    meaning="the verdict on each turn record",
    max_bytes=2 * LONG_BYTES,
)
SAOP_LOG = Topic(
    "saop.log",
    TopicKind.FACT,
    "headrace.saop.SaopTurnLogged",
    key="task_id",
    key_of=member("turn.metadata.task_id"),
    meaning="accepted turns, in ascending order per task",
    max_bytes=2 * LONG_BYTES,
)
SAOP_ESCALATIONS = Topic(
    "saop.escalations",
    TopicKind.FACT,
    "headrace.saop.SaopEscalation",
    key="task_id",
    key_of=member("task_id"),
    meaning="agents and tasks that need attention, with the measurements that show it",
    max_bytes=2 * LONG_BYTES,
)
SAOP_REWINDS = Topic(
    "saop.rewinds",
    TopicKind.COMMAND,
    "headrace.saop.SaopRewind",
    key="session_id",
    key_of=member("session_id"),
    meaning="operators' commands to rewind a session to a commit",
    max_bytes=LONG_BYTES,
    headers=(DROPPED_KEYS,),
    operators_only=True,
)
SAOP_REWIND_LOG = Topic(
    "saop.rewind-log",
    TopicKind.FACT,
    "headrace.saop.SaopRewindLogged",
    key="session_id",
    key_of=member("session_id"),
    meaning="the verdict on each rewind command, and prepared rewinds that expired",
    max_bytes=2 * LONG_BYTES,
)
SAOP_CONTROLS = Topic(
    "saop.controls",
    TopicKind.COMMAND,
    "headrace.saop.SaopControl",
    key="session_id",
    key_of=member("session_id"),
    meaning="operators' commands to pause a task, or to resume it",
    max_bytes=LONG_BYTES,
    headers=(DROPPED_KEYS,),
    operators_only=True,
)
SAOP_CONTROL_LOG = Topic(
    "saop.control-log",
    TopicKind.FACT,
    "headrace.saop.SaopControlLogged",
    key="session_id",
    key_of=member("session_id"),
    meaning="the verdict on each command to pause or resume a task",
    max_bytes=2 * LONG_BYTES,
)
SAOP_TASK_SIGNALS = Topic(
    "saop.task-signals",
    TopicKind.INTERNAL,
    "headrace.saop.SaopTaskSignal",
    key="task_id",
    key_of=member("task_id"),
    meaning="tasks that began, failed too often, were paused, resumed or rewound",
    max_bytes=2 * LONG_BYTES,
)

RTES_RAW_DLQ = dead_letters(RTES_RAW, "event records that could not be judged, as masked text")
SAOP_TURNS_DLQ = dead_letters(SAOP_TURNS, "turn records that could not be judged, as sent")
SAOP_REWINDS_DLQ = dead_letters(SAOP_REWINDS, "rewind commands that could not be judged, as sent")
SAOP_CONTROLS_DLQ = dead_letters(SAOP_CONTROLS, "controls that could not be judged, as sent")
SAOP_TASK_SIGNALS_DLQ = dead_letters(SAOP_TASK_SIGNALS, "signals that could not be read")

SAOP_TASKS_TABLE = public_table(SAOP_TASKS)
RTES_SESSIONS = Table(
    "rtes-sessions",
    "headrace.rtes.RtesSession",
    key="session_id",
    meaning="the last sequence and time assigned in each session, its active tasks and key block",
)
RTES_IDS = Table(
    "rtes-ids",
    "headrace.rtes.RtesId",
    key="session_id/event_id",
    meaning="the event ids known in each session, with the hash of what was recorded",
)
RTES_CALLS = Table(
    "rtes-calls",
    "headrace.rtes.RtesCall",
    key="session_id/[origin]/call_id",
    meaning="the tool calls known in each session",
)
RTES_THOUGHTS = Table(
    "rtes-thoughts",
    "headrace.rtes.RtesThought",
    key="session_id/agent_id/turn_index[/kind of link[/task_id]]",
    meaning="the thought streams known in each session, and the latest of each agent and turn",
)
RTES_TASKS = Table(
    "rtes-tasks",
    "headrace.rtes.RtesTasks",
    key="session_id/number",
    meaning="the tasks of each session, for rewinds",
)
REWINDS = Table(
    "saop-rewinds",
    "headrace.saop.SaopRewindRow",
    key="session_id/rewind_id",
    meaning="the current state of each rewind, and the commands that led to it",
)
CONTROLS = Table(
    "saop-controls",
    "headrace.saop.SaopControlRow",
    key="session_id/control_id",
    meaning="the controls that were accepted, with the hash of each",
)
SAOP_TURN_HEADS = Table(
    "saop-turns",
    "headrace.saop.SaopTurnHead",
    key="task_id",
    meaning="the next expected turn of each task, and its gaps",
)
SAOP_TURNS_KNOWN = Table(
    "saop-hashes",
    "headrace.saop.SaopTurnKnown",
    key="task_id/turn_index",
    meaning="the turns that were accepted, with the hash of each",
)
SAOP_TURNS_HELD = Table(
    "saop-held",
    "headrace.saop.SaopTurnHeld",
    key="task_id/turn_index",
    meaning="buffered turns that wait for earlier ones",
)
SAOP_DETECTORS = Table(
    "saop-detectors",
    "headrace.saop.SaopDetectors",
    key="task_id/agent_id",
    meaning="detector state of each agent in each task",
)

SAOP_PROCESSOR = ProcessorDeclaration(
    "saop",
    "puts the turns of each task in order, records the gaps, and detects agents that are stuck",
    inputs=(SAOP_TURNS, SAOP_TASK_SIGNALS),
    outputs=(
        SAOP_VERDICTS,
        SAOP_LOG,
        SAOP_ESCALATIONS,
        LINEAGE_EDGES,
        RTES_RAW,
        SAOP_TURNS_DLQ,
        SAOP_TASK_SIGNALS_DLQ,
    ),
    tables=(SAOP_TURN_HEADS, SAOP_TURNS_KNOWN, SAOP_TURNS_HELD, SAOP_DETECTORS),
)
RTES_PROCESSOR = ProcessorDeclaration(
    "rtes",
    "numbers, deduplicates and masks the events of each session, tracks the state of its tasks,"
    " calls and thought streams, pauses tasks, and turns sessions back",
    inputs=(RTES_RAW, SAOP_REWINDS, SAOP_CONTROLS),
    outputs=(
        RTES_EVENTS,
        RTES_REJECTIONS,
        SAOP_REWIND_LOG,
        SAOP_CONTROL_LOG,
        SAOP_TASK_SIGNALS,
        LINEAGE_EDGES,
        RTES_RAW_DLQ,
        SAOP_REWINDS_DLQ,
        SAOP_CONTROLS_DLQ,
        SAOP_TASKS,
    ),
    tables=(
        SAOP_TASKS_TABLE,
        RTES_SESSIONS,
        RTES_IDS,
        RTES_CALLS,
        RTES_THOUGHTS,
        RTES_TASKS,
        REWINDS,
        CONTROLS,
    ),
    linger_ms=10,
)

DECLARED = ProtocolTopology(
    "saop",
    topics=(
        RTES_RAW,
        RTES_EVENTS,
        RTES_REJECTIONS,
        SAOP_TASKS,
        SAOP_TURNS,
        SAOP_VERDICTS,
        SAOP_LOG,
        SAOP_ESCALATIONS,
        SAOP_REWINDS,
        SAOP_REWIND_LOG,
        SAOP_CONTROLS,
        SAOP_CONTROL_LOG,
        SAOP_TASK_SIGNALS,
        RTES_RAW_DLQ,
        SAOP_TURNS_DLQ,
        SAOP_REWINDS_DLQ,
        SAOP_CONTROLS_DLQ,
        SAOP_TASK_SIGNALS_DLQ,
    ),
    processors=(SAOP_PROCESSOR, RTES_PROCESSOR),
    verdicts={
        RTES_RAW: (RTES_EVENTS, RTES_REJECTIONS),
        SAOP_TURNS: (SAOP_VERDICTS,),
        SAOP_REWINDS: (SAOP_REWIND_LOG,),
        SAOP_CONTROLS: (SAOP_CONTROL_LOG,),
    },
    node_kinds=(
        NodeKind("saop:session:<session_id>", "a session of tasks"),
        NodeKind("saop:task:<task_id>", "a task of a session"),
        NodeKind("saop:turn:<task_id>/<turn_index>", "a logged turn of a task"),
        NodeKind("saop:rewind:<rewind_id>", "a rewind that was applied"),
        NodeKind("saop:escalation:<escalation_id>", "an escalation"),
    ),
)
