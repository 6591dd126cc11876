"""The closed set of rule codes of turns, escalations and rewinds.

Source: SAOP guide, 3.1, 4.1, 4.2, 4.6.
"""

from __future__ import annotations

from schemas.rtes import rules as events
from schemas.rules import Rule, Stage, Where, rules_of

# Shape (SAOP guide, 3.1); events have most of these rules too.
JSON_INVALID = events.JSON_INVALID
SCHEMA_INVALID = events.SCHEMA_INVALID
TEXT_INVALID = events.TEXT_INVALID
TURN_INDEX_INVALID = events.TURN_INDEX_INVALID
AGENT_UNKNOWN = events.AGENT_UNKNOWN
TIMESTAMP_INVALID = events.TIMESTAMP_INVALID
VERSION_UNSUPPORTED = Rule(
    "version_unsupported", "metadata.version is not 1.0.0", Stage.SCHEMA, Where.BOTH
)
CONFIDENCE_OUT_OF_RANGE = Rule(
    "confidence_out_of_range", "confidence is not a number from 0 to 1", Stage.SCHEMA, Where.BOTH
)
COMPLEXITY_UNKNOWN = Rule(
    "complexity_unknown",
    "estimated_complexity is neither low, medium nor high",
    Stage.SCHEMA,
    Where.BOTH,
)
REWIND_ID_INVALID = Rule("rewind_id_invalid", "rewind_id is not a UUID", Stage.SCHEMA, Where.BOTH)

CONTROL_ID_INVALID = Rule(
    "control_id_invalid", "control_id is not a UUID", Stage.SCHEMA, Where.BOTH
)


def _log(code: str, meaning: str) -> Rule:
    return Rule(code, meaning, Stage.LOG, Where.PROCESSOR)


def _policy(code: str, meaning: str) -> Rule:
    return Rule(code, meaning, Stage.POLICY, Where.PROCESSOR)


# Records (SAOP guide, 5.1, 5.3).
KEY_MISMATCH = _log(
    "key_mismatch", "the record key is not task_id, of rewinds and controls session_id"
)
PARTITION_MISMATCH = events.PARTITION_MISMATCH
OUTPUT_TOO_LARGE = _log("output_too_large", "what the record would write is over its topic's bound")

# The order of turns (SAOP guide, 4.1), in the order of checking.
TURN_DUPLICATE = _log("turn_duplicate", "the task has this turn already")
TURN_CONFLICT = _log("turn_conflict", "the task has another turn of this index")
TASK_PAUSED = events.TASK_PAUSED
TURN_LATE = _log("turn_late", "the hole in which the turn belongs was given up")
TURN_TOO_FAR = _log("turn_too_far", "the turn is too far ahead of the one that is due")
TURN_LOGGED = _log("turn_logged", "accepted: the turn that was due")
TURN_HELD = _log("turn_held", "accepted: the turn waits for those before it")

# Detectors (SAOP guide, 4.2).
CONFIDENCE_SLOPE = _policy("confidence_slope", "an agent's confidence falls, and is low")
CONFIDENCE_DROP = _policy("confidence_drop", "an agent's confidence fell steadily, and by much")
OBSERVATION_REPEATED = _policy(
    "observation_repeated", "an agent has made one observation over and over"
)
FAILURES_REACHED = _policy("failures_reached", "a task has failed too often")

# Rewinds (SAOP guide, 4.6).
REWIND_PREPARED = _policy("rewind_prepared", "accepted: the rewind can be confirmed")
REWIND_APPLIED = _policy("rewind_applied", "accepted: the session's tasks are set back")
REWIND_ABORTED = _policy(
    "rewind_aborted", "accepted: nothing moves; of a confirm, the rewind was aborted before"
)
LAPSED = _policy("lapsed", "a prepared rewind was not confirmed in time")
REWIND_DUPLICATE = _policy("rewind_duplicate", "the session has this command already")
REWIND_CONFLICT = _policy(
    "rewind_conflict", "the rewind was ordered otherwise before, or is past this phase"
)
REWIND_UNKNOWN = _policy("rewind_unknown", "no rewind of this id was prepared")
REWIND_ALREADY_APPLIED = _policy("rewind_already_applied", "the rewind is done")
REWIND_LAPSED = _policy("rewind_lapsed", "the rewind was not confirmed in time")
REWIND_IN_PROGRESS = _policy("rewind_in_progress", "another rewind of the session is prepared")
SESSION_UNKNOWN = _policy("session_unknown", "the session has no events")
TASK_UNKNOWN = _policy("task_unknown", "the session has no such task of its own")
TASK_WITHOUT_HASH = _policy("task_without_hash", "no commit of the task is recorded")
HASH_UNKNOWN = _policy("hash_unknown", "no task of the session has recorded this commit")
HASH_AMBIGUOUS = _policy("hash_ambiguous", "the hash stands for more than one recorded commit")

# Controls (SAOP guide, 4.8).
TASK_PAUSED_BY_OPERATOR = _policy("task_paused_by_operator", "accepted: the task is paused")
TASK_RESUMED = _policy("task_resumed", "accepted: the task goes on")
TASK_NOT_PAUSED = _policy("task_not_paused", "the service holds no pause of the task")
TASK_NOT_ACTIVE = _policy("task_not_active", "the task is in no state in which it is worked on")
PROFILE_WITHOUT_PAUSE = _policy(
    "profile_without_pause", "the task's profile names no state of a pause"
)
CONTROL_DUPLICATE = _policy("control_duplicate", "the session has this control already")
CONTROL_CONFLICT = _policy("control_conflict", "the session has another control of this id")

ALL = rules_of(dict(globals()))
"""Every rule code, in the order of declaration."""
