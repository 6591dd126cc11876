"""Every table, declared once.  A public table is its own changelog; the others share one."""

from __future__ import annotations

from topology import topics
from topology.asap_tables import ASAP
from topology.asap_tables import ASAP_ADMISSIONS as ASAP_ADMISSIONS
from topology.asap_tables import ASAP_AGENTS as ASAP_AGENTS
from topology.asap_tables import ASAP_CALLS as ASAP_CALLS
from topology.asap_tables import ASAP_CLAIMS as ASAP_CLAIMS
from topology.asap_tables import ASAP_HELD as ASAP_HELD
from topology.asap_tables import ASAP_MANIFESTS as ASAP_MANIFESTS
from topology.asap_tables import ASAP_PATCHES as ASAP_PATCHES
from topology.asap_tables import ASAP_REDIRECTS as ASAP_REDIRECTS
from topology.asap_tables import ASAP_RESPONSES as ASAP_RESPONSES
from topology.asap_tables import ASAP_SEEN as ASAP_SEEN
from topology.asap_tables import ASAP_SNAPSHOT_IDS as ASAP_SNAPSHOT_IDS
from topology.asap_tables import ASAP_SNAPSHOTS as ASAP_SNAPSHOTS
from topology.asap_tables import ASAP_TASKS as ASAP_TASKS
from topology.asap_tables import ASAP_VERSIONS as ASAP_VERSIONS
from topology.declarations import Table
from topology.sap_tables import SAP
from topology.sap_tables import SAP_CACHE as SAP_CACHE
from topology.sap_tables import SAP_CACHE_HEADS as SAP_CACHE_HEADS
from topology.sap_tables import SAP_CACHE_STORES as SAP_CACHE_STORES
from topology.sap_tables import SAP_CACHE_WAITS as SAP_CACHE_WAITS
from topology.sap_tables import SAP_CHECK_COUNTERS as SAP_CHECK_COUNTERS
from topology.sap_tables import SAP_HEURISTICS as SAP_HEURISTICS
from topology.sap_tables import SAP_KNOWLEDGE as SAP_KNOWLEDGE
from topology.sap_tables import SAP_LEARNING as SAP_LEARNING
from topology.sap_tables import SAP_LEARNING_BEST as SAP_LEARNING_BEST
from topology.sap_tables import SAP_LEARNING_CITATIONS as SAP_LEARNING_CITATIONS
from topology.sap_tables import SAP_LEARNING_HEADS as SAP_LEARNING_HEADS
from topology.sap_tables import SAP_MEMBER_GROUPS as SAP_MEMBER_GROUPS
from topology.sap_tables import SAP_MEMBER_TOTALS as SAP_MEMBER_TOTALS
from topology.sap_tables import SAP_RATE_LIMITS as SAP_RATE_LIMITS
from topology.sap_tables import SAP_READING_BINS as SAP_READING_BINS
from topology.sap_tables import SAP_RESULT_HASHES as SAP_RESULT_HASHES
from topology.sap_tables import SAP_SIGNAL_IDS as SAP_SIGNAL_IDS
from topology.sap_tables import SAP_SIGNAL_OPERATORS as SAP_SIGNAL_OPERATORS
from topology.sap_tables import SAP_TASK_ENVELOPES as SAP_TASK_ENVELOPES
from topology.sap_tables import SAP_TASK_STATES as SAP_TASK_STATES
from topology.summit_tables import SUMMIT
from topology.summit_tables import SUMMIT_AGENTS as SUMMIT_AGENTS
from topology.summit_tables import SUMMIT_REPLIES as SUMMIT_REPLIES
from topology.summit_tables import SUMMIT_RUNS as SUMMIT_RUNS

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
    meaning="the last sequence and time given in each session, its active tasks, its key block",
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
    meaning="which tasks each session has, so that a rewind finds them",
)
REWINDS = Table(
    "saop-rewinds",
    "headrace.saop.SaopRewindRow",
    key="session_id/rewind_id",
    meaning="where each rewind stands, and the commands that brought it there",
)
SAOP_TURN_HEADS = Table(
    "saop-turns",
    "headrace.saop.SaopTurnHead",
    key="task_id",
    meaning="where each task's order of turns stands",
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
    meaning="turns that wait for those before them",
)
SAOP_DETECTORS = Table(
    "saop-detectors",
    "headrace.saop.SaopDetectors",
    key="task_id/agent_id",
    meaning="what the detectors remember of each agent in each task",
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
"""Kept by the engine for all processors."""

GIVEN: tuple[Table, ...] = (ASAP_MANIFESTS,)
"""What clients write; every other table that the engine does not keep belongs to one processor."""

ALL: tuple[Table, ...] = (
    PACKET_STATES,
    COORDINATION,
    THROTTLING,
    PROTOCOL_LINEAGE,
    APC_TASK_FACTS,
    SAOP_TASK_STATES,
    RTES_SESSIONS,
    RTES_IDS,
    RTES_CALLS,
    RTES_THOUGHTS,
    RTES_TASKS,
    REWINDS,
    SAOP_TURN_HEADS,
    SAOP_TURNS_KNOWN,
    SAOP_TURNS_HELD,
    SAOP_DETECTORS,
    *SAP,
    *ASAP,
    *SUMMIT,
    *ENGINE,
)
BY_NAME = {table.name: table for table in ALL}
