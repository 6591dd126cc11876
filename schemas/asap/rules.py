"""The closed set of rule codes (ASAP guide, 3.1), each with its code of the protocol's taxonomy.

The refusing rules are in the order of the guide: the first violated one decides the verdict.
"""

from __future__ import annotations

from schemas.rules import Rule, Stage, Where, rules_of

_MALFORMED = "asap:protocol/malformed_envelope"
_BAD_TYPE = "asap:protocol/invalid_payload_type"
_DENIED = "asap:security/permission_denied"
_QUOTA = "asap:resource/quota_exceeded"
_CONFLICT = "asap:protocol/id_conflict"
_STATE = "asap:protocol/invalid_state"
_NO_TASK = "asap:task/not_found"
_ENDED = "asap:task/already_completed"

ASAP_ERRORS: dict[str, str] = {}
"""Rule code → code of the taxonomy, for refusing rules and timeouts."""


def _shape(code: str, asap_error: str, meaning: str, where: Where = Where.BOTH) -> Rule:
    ASAP_ERRORS[code] = asap_error
    return Rule(code, meaning, Stage.SCHEMA, where)


def _log(code: str, asap_error: str, meaning: str) -> Rule:
    ASAP_ERRORS[code] = asap_error
    return Rule(code, meaning, Stage.LOG, Where.PROCESSOR)


def _policy(code: str, asap_error: str, meaning: str) -> Rule:
    ASAP_ERRORS[code] = asap_error
    return Rule(code, meaning, Stage.POLICY, Where.PROCESSOR)


def _effect(code: str, meaning: str) -> Rule:
    return Rule(code, meaning, Stage.EFFECT, Where.PROCESSOR)


def _timer(code: str, meaning: str) -> Rule:
    return Rule(code, meaning, Stage.TIMER, Where.PROCESSOR)


# Shape.
MALFORMED_ENVELOPE = _shape(
    "malformed_envelope", _MALFORMED, "the envelope is no object of its form", Where.EDGE
)
UNKNOWN_PAYLOAD_TYPE = _shape(
    "unknown_payload_type", _BAD_TYPE, "payload_type is none of the twelve", Where.EDGE
)
PAYLOAD_TYPE_MISMATCH = _shape(
    "payload_type_mismatch", _BAD_TYPE, "payload_type and the payload's own differ", Where.EDGE
)
VERSION_MISMATCH = _shape(
    "version_mismatch", "asap:protocol/version_mismatch", "asap_version is not 0.1"
)
BAD_ID = _shape("bad_id", _MALFORMED, "an id is not 1 to 256 characters, none of control")
BAD_URN = _shape("bad_urn", _MALFORMED, "sender or recipient is no agent URN")
BAD_JSON = _shape("bad_json", _MALFORMED, "an open member is no object that RFC 8785 can carry")
BAD_PAYLOAD = _shape("bad_payload", _MALFORMED, "the payload does not have the form of its type")
MISSING_CORRELATION = _shape("missing_correlation", _MALFORMED, "an answer has no correlation_id")
SENDER_MISMATCH = _shape("sender_mismatch", _DENIED, "a message's sender is not the envelope's")
RESERVED_URN = _shape(
    "reserved_urn", _DENIED, "the service is the sender, or is asked for a task or an MCP call"
)
BAD_CONFIG = _shape("bad_config", _MALFORMED, "a config member with a meaning here is ill-formed")
BAD_EXTENSION = _shape(
    "bad_extension",
    _MALFORMED,
    "a dev.headrace extension is not the sender's to use, or ill-formed",
)
ENVELOPE_TOO_LARGE = _shape(
    "envelope_too_large", _QUOTA, "the canonical JSON form is above the limit"
)

# The record.
KEY_MISMATCH = _log("key_mismatch", _MALFORMED, "the record key is not the one to be expected")
PARTITION_MISMATCH = _log(
    "partition_mismatch", _MALFORMED, "the record lies on another partition than its key's"
)
HELD_OVERFLOW = _policy(
    "held_overflow", "asap:resource/rate_limited", "too many records wait on this key"
)
ID_CONFLICT = _log("id_conflict", _CONFLICT, "the id is known, with other content or sender")

# Requests.
AGENT_NOT_FOUND = _policy(
    "agent_not_found", "asap:routing/agent_not_found", "the recipient has no manifest"
)
SKILL_NOT_FOUND = _policy(
    "skill_not_found", "asap:capability/skill_not_found", "the worker's manifest lacks the skill"
)
DEPTH_EXCEEDED = _policy("depth_exceeded", _QUOTA, "the sub-task would be too deep")

# Tasks.
TASK_NOT_FOUND = _log("task_not_found", _NO_TASK, "there is no task of this key")
TASK_REDIRECTED = _log("task_redirected", _NO_TASK, "an older task answered this request")
NOT_PARTICIPANT = _policy("not_participant", _DENIED, "the sender has not the role that is needed")
WRONG_RECIPIENT = _policy("wrong_recipient", _DENIED, "the recipient is not the one that it is for")
TOO_MANY_ALIASES = _policy("too_many_aliases", _QUOTA, "the task has too many ids of its worker's")
TASK_ALREADY_TERMINAL = _log("task_already_terminal", _ENDED, "the task has ended")
UPDATE_TYPE_MISMATCH = _log("update_type_mismatch", _STATE, "update_type and status do not match")
INVALID_TRANSITION = _log(
    "invalid_transition", _STATE, "the task's state does not allow the status"
)
STATE_MODE_CONFLICT = _log("state_mode_conflict", _STATE, "the task keeps its state in another way")
SNAPSHOT_NOT_FOUND = _log(
    "snapshot_not_found", "asap:task/snapshot_not_found", "the task has no snapshot of this id"
)

# MCP calls.
CALL_CONFLICT = _log("call_conflict", _CONFLICT, "another call has this request_id")
CALL_NOT_FOUND = _log("call_not_found", _NO_TASK, "there is no call that this answers")
CORRELATION_MISMATCH = _log(
    "correlation_mismatch", _MALFORMED, "correlation_id is not the call's envelope"
)
RESOURCE_MISMATCH = _log("resource_mismatch", _MALFORMED, "resource_uri is not the one asked for")
CALL_CLOSED = _log("call_closed", _ENDED, "the call has been answered, or timed out")

BAD_MANIFEST = _log("bad_manifest", _MALFORMED, "the manifest is ill-formed, or its key is another")

REFUSING = tuple(ASAP_ERRORS)
"""The codes that a rejection may have, in the order that decides among several."""

# Other verdicts.
TASK_CREATED = _effect("task_created", "a request is a task now")
STATUS_CHANGED = _effect("status_changed", "the task is in another state")
PROGRESS_NOTED = _effect("progress_noted", "the task is in the same state, and gets on")
STATE_SAVED = _effect("state_saved", "the worker saved or deleted state")
RESPONSE_RECORDED = _effect("response_recorded", "the worker's response ends the task")
TASK_CANCELLED = _effect("task_cancelled", "the requester cancelled the task")
MESSAGE_FORWARDED = _effect("message_forwarded", "a message goes to the other agent")
INPUT_RECEIVED = _effect("input_received", "the requester gave the input that was asked for")
STATE_READ = _effect("state_read", "a saved state is sent to who asked for it")
STATE_RESTORED = _effect("state_restored", "an earlier state is the latest again")
ARTIFACT_NOTED = _effect("artifact_noted", "the task has made something")
CALL_OPENED = _effect("call_opened", "an MCP call goes to the other agent")
CALL_ANSWERED = _effect("call_answered", "an MCP call has its answer")
MANIFEST_ACCEPTED = _effect("manifest_accepted", "the agent has this manifest now")
MANIFEST_WITHDRAWN = _effect("manifest_withdrawn", "the agent has no manifest any more")
SAME_ENVELOPE = _effect("same_envelope", "the same record was accepted before")
SAME_IDEMPOTENCY_KEY = _effect(
    "same_idempotency_key", "a request with this idempotency key was accepted before"
)

# Timers.
TASK_TIMEOUT = _timer("task_timeout", "the task's time is over")
CALL_TIMEOUT = _timer("call_timeout", "the MCP call's time is over")
EVENTS_EXPIRED = _timer("events_expired", "the events of an event-sourced task are not kept longer")
ASAP_ERRORS[TASK_TIMEOUT.code] = "asap:execution/task_timeout"

ALL = rules_of(dict(globals()))
"""Every rule code, in the order of declaration."""


def fault_of(code: str) -> str:
    """Return who is at fault for a rejection: `sender` or `service`."""
    return "service" if code == HELD_OVERFLOW.code else "sender"
