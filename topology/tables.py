"""Every table, declared once.  A public table is its own changelog; the others share one."""

from __future__ import annotations

from topology import topics
from topology.declarations import Table

PACKET_STATES = Table(
    "apc.packet-states",
    "headrace.apc.ApcPacketState",
    key=topics.APC_PACKET_STATES.key,
    meaning=topics.APC_PACKET_STATES.meaning,
    topic=topics.APC_PACKET_STATES,
)
COORDINATION = Table(
    "apc.coordination",
    "headrace.apc.ApcCoordination",
    key=topics.APC_COORDINATION.key,
    meaning=topics.APC_COORDINATION.meaning,
    topic=topics.APC_COORDINATION,
)
THROTTLING = Table(
    "apc.throttling",
    "headrace.apc.ApcThrottle",
    key=topics.APC_THROTTLING.key,
    meaning=topics.APC_THROTTLING.meaning,
    topic=topics.APC_THROTTLING,
)
PROTOCOL_LINEAGE = Table(
    "apc.lineage",
    "headrace.apc.ApcLineage",
    key=topics.APC_LINEAGE.key,
    meaning=topics.APC_LINEAGE.meaning,
    topic=topics.APC_LINEAGE,
    copied_parts=1,
)
APC_TASK_FACTS = Table(
    "apc-tasks",
    "headrace.apc.ApcTask",
    key="session_id/run_id/task_id[/packet_id]",
    meaning="the counted evaluations and transfers of each task, and other packets with lineage",
)
SAOP_TASK_STATES = Table(
    "saop.tasks",
    "headrace.saop.SaopTask",
    key=topics.SAOP_TASKS.key,
    meaning=topics.SAOP_TASKS.meaning,
    topic=topics.SAOP_TASKS,
)
RTES_SESSIONS = Table(
    "rtes-sessions",
    "headrace.rtes.RtesSession",
    key="session_id",
    meaning="the last sequence and time given in each session",
)
RTES_IDS = Table(
    "rtes-ids",
    "headrace.rtes.RtesId",
    key="session_id/event_id",
    meaning="the event ids known in each session, with the hash of what was recorded",
)
TIMERS = Table(
    "timers",
    "headrace.core.TimerRow",
    key="due time, kind, key of what it is for",
    meaning="timers not yet fired, of all processors",
)
INPUT_POSITIONS = Table(
    "input-positions",
    "headrace.core.InputPosition",
    key="input topic",
    meaning="the offset of the next record that the task will decide, of each of its inputs",
)
KNOWN_INPUTS = Table(
    "known-inputs",
    "headrace.core.KnownInputs",
    key="inputs",
    meaning="one row: the input topics that the task's state has ever read, by topic id",
)
ACCEPTED_GAPS = Table(
    "accepted-gaps",
    "headrace.core.AcceptedGap",
    key="topic id, offset at which the task went on",
    meaning="offsets of inputs that an operator gave up, so that a task could go on",
)

ENGINE: tuple[Table, ...] = (TIMERS, INPUT_POSITIONS, KNOWN_INPUTS, ACCEPTED_GAPS)
"""Kept by the engine for all processors; every other table belongs to one processor."""

ALL: tuple[Table, ...] = (
    PACKET_STATES,
    COORDINATION,
    THROTTLING,
    PROTOCOL_LINEAGE,
    APC_TASK_FACTS,
    SAOP_TASK_STATES,
    RTES_SESSIONS,
    RTES_IDS,
    *ENGINE,
)
BY_NAME = {table.name: table for table in ALL}
