"""The closed set of rule codes of RTES events."""

from __future__ import annotations

from schemas import rules as common
from schemas.rules import Rule, Stage, Where, rules_of

# Shape (SAOP guide, 3.1).
JSON_INVALID = Rule("json_invalid", "the text is not I-JSON", Stage.SCHEMA, Where.EDGE)
SCHEMA_INVALID = Rule(
    "schema_invalid",
    "a required member is missing, null, or of the wrong JSON type",
    Stage.SCHEMA,
    Where.BOTH,
)
TEXT_INVALID = Rule("text_invalid", "a string has a lone surrogate", Stage.SCHEMA, Where.BOTH)
EVENT_ID_INVALID = Rule("event_id_invalid", "event_id is not a UUID", Stage.SCHEMA, Where.BOTH)
EVENT_TYPE_UNKNOWN = Rule(
    "event_type_unknown", "payload.type is no type of event", Stage.SCHEMA, Where.BOTH
)
AGENT_UNKNOWN = Rule(
    "agent_unknown", "agent_id or role is none of the four agents", Stage.SCHEMA, Where.BOTH
)
TURN_INDEX_INVALID = Rule(
    "turn_index_invalid",
    "turn_index is not an integer from 0 to 2^53 - 1",
    Stage.SCHEMA,
    Where.BOTH,
)
STATUS_UNKNOWN = Rule(
    "status_unknown", "status is neither success, failure nor timeout", Stage.SCHEMA, Where.BOTH
)
DURATION_INVALID = Rule(
    "duration_invalid", "duration_ms is not finite, or negative", Stage.SCHEMA, Where.BOTH
)
TIMESTAMP_INVALID = Rule(
    "timestamp_invalid",
    "timestamp is not a UTC date-time of the protocol's form",
    Stage.SCHEMA,
    Where.BOTH,
)

# Log (SAOP guide, 5.2).
KEY_MISMATCH = Rule("key_mismatch", "the record key is not session_id", Stage.LOG, Where.PROCESSOR)
PARTITION_MISMATCH = common.PARTITION_MISMATCH
EVENT_DUPLICATE = Rule(
    "event_duplicate", "the session has recorded this event already", Stage.LOG, Where.PROCESSOR
)
EVENT_ID_CONFLICT = Rule(
    "event_id_conflict",
    "the session has recorded another event of this id",
    Stage.LOG,
    Where.PROCESSOR,
)
OUTPUT_TOO_LARGE = Rule(
    "output_too_large",
    "what the event would write is over its topic's bound",
    Stage.LOG,
    Where.PROCESSOR,
)
RECORDED = Rule("recorded", "recorded: nothing is against it", Stage.POLICY, Where.PROCESSOR)

# Tool calls and thought streams (SAOP guide, 4.4, 4.5).
CALL_ALREADY_INVOKED = Rule(
    "call_already_invoked",
    "the call's beginning was recorded before",
    Stage.POLICY,
    Where.PROCESSOR,
)
CALL_ALREADY_COMPLETED = Rule(
    "call_already_completed", "the call's end was recorded before", Stage.POLICY, Where.PROCESSOR
)
THOUGHT_CLOSED = Rule(
    "thought_closed", "the stream's final chunk was recorded before", Stage.POLICY, Where.PROCESSOR
)

# Task transitions (SAOP guide, 4.3), in the order of checking.
OTHER_PROTOCOL = Rule(
    "other_protocol",
    "recorded as the processor of another protocol reported it",
    Stage.POLICY,
    Where.PROCESSOR,
)
TASK_PAUSED = Rule(
    "task_paused",
    "the task is paused, and only an operator resumes it",
    Stage.POLICY,
    Where.PROCESSOR,
)
FROM_STATE_MISMATCH = Rule(
    "from_state_mismatch", "from_state is not the task's state", Stage.POLICY, Where.PROCESSOR
)
OPEN_PROFILE = Rule(
    "open_profile",
    "recorded under a profile in which every transition is legal",
    Stage.POLICY,
    Where.PROCESSOR,
)
UNKNOWN_STATE = Rule(
    "unknown_state",
    "one of the two states is not of the task's profile",
    Stage.POLICY,
    Where.PROCESSOR,
)
ILLEGAL_TRANSITION = Rule(
    "illegal_transition", "the profile has no such transition", Stage.POLICY, Where.PROCESSOR
)
REWIND_REQUIRED = Rule(
    "rewind_required", "the transition needs a git_hash or a rewind", Stage.POLICY, Where.PROCESSOR
)
EDGE = Rule("edge", "recorded: the profile has this transition", Stage.POLICY, Where.PROCESSOR)
REWIND = Rule("rewind", "made by a rewind of the session", Stage.EFFECT, Where.PROCESSOR)
PAUSED = Rule("paused", "the service has paused the task", Stage.EFFECT, Where.PROCESSOR)
RESUMED = Rule("resumed", "an operator has resumed the task", Stage.EFFECT, Where.PROCESSOR)

ALL = rules_of(dict(globals()))
"""Every rule code and warning, in the order of declaration."""
