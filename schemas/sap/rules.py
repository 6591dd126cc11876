"""The closed set of rule codes of SAP (spec 3.1), and what a refusal is over HTTP (spec 3.2)."""

from __future__ import annotations

from schemas import rules as common
from schemas.rules import Rule, Stage, Where, rules_of


def _shape(code: str, meaning: str) -> Rule:
    return Rule(code, meaning, Stage.SCHEMA, Where.BOTH)


def _log(code: str, meaning: str) -> Rule:
    return Rule(code, meaning, Stage.LOG, Where.PROCESSOR)


def _policy(code: str, meaning: str) -> Rule:
    return Rule(code, meaning, Stage.POLICY, Where.PROCESSOR)


def _effect(code: str, meaning: str) -> Rule:
    return Rule(code, meaning, Stage.EFFECT, Where.PROCESSOR)


def _warning(code: str, meaning: str) -> Rule:
    return Rule(code, meaning, Stage.WARNING, Where.PROCESSOR)


# The record.
KEY_MISMATCH = _log("key_mismatch", "the record key is null, no UTF-8 or not the lower-case taskId")
PARTITION_MISMATCH = common.PARTITION_MISMATCH

# Shape, in the order of the spec.
TOO_LARGE = _shape("too_large", "the canonical JSON form is above 524288 bytes")
BAD_JSON = _shape("bad_json", "open JSON or the body is no I-JSON, or nests above 64")
EXTRA_CONFLICT = Rule(
    "extra_conflict",
    "extra_json is no object, or names a member that has a field of its own",
    Stage.SCHEMA,
    Where.PROCESSOR,
)
MISSING_FIELD = _shape("missing_field", "a required member is absent or null")
BAD_TYPE = _shape("bad_type", "a member has the wrong JSON type")
BAD_VERSION = _shape("bad_version", "protocolVersion is not 2.0")
BAD_UUID = _shape("bad_uuid", "an id is not a UUID of 36 characters")
BAD_TIMESTAMP = _shape(
    "bad_timestamp", "a time is not YYYY-MM-DDTHH:MM:SSZ, or not a real date and time"
)
BAD_ENUM = _shape("bad_enum", "a word is not one of those allowed")
BAD_AGENT_ID = _shape("bad_agent_id", "an agentId is empty, too long, or has blanks at an end")
BAD_CAPABILITY = _shape("bad_capability", "a capability is not words joined by dots, or too long")
EMPTY_STRING = _shape("empty_string", "a text is blank")
TOO_LONG = _shape("too_long", "a text has too many characters")
TOO_MANY_ITEMS = _shape("too_many_items", "a list or map has more than 256 entries")
OUT_OF_RANGE = _shape("out_of_range", "a number is out of its bounds, or not finite")
SELF_PARENT = _shape("self_parent", "a task is its own parent")
DEADLINE_BEFORE_ISSUE = _shape("deadline_before_issue", "the deadline is before issuedAt")
ERROR_MESSAGE_MISSING = _shape("error_message_missing", "FAILED without an error.message")
ALIGNMENT_STATUS_MISMATCH = _shape(
    "alignment_status_mismatch", "the evidence's alignment does not go with the status"
)
BAD_SIGNAL = _shape("bad_signal", "rating, decision or note do not go with the kind")

# Deciding (spec 5.2, 5.3, 5.7).
TASK_ID_CONFLICT = _log("task_id_conflict", "the taskId is known, with other content")
SIGNAL_ID_CONFLICT = _log("signal_id_conflict", "the signalId is known, with other content")
UNAUTHORIZED = _policy("unauthorized", "no rule of the issuer table knows the issuer")
FORBIDDEN = _policy("forbidden", "the issuer is known, but not for this capability")
RATE_LIMITED = _policy("rate_limited", "the issuer sends more tasks than it may")
UNKNOWN_TASK = _log("unknown_task", "no task of this taskId was accepted")
CORRELATION_MISMATCH = _log("correlation_mismatch", "the correlationId is not the task's")
TASK_CLOSED = _log("task_closed", "the task has ended")
NOT_DISPATCHED = _log("not_dispatched", "the task is in no inbox yet")
PRODUCER_MISMATCH = _policy("producer_mismatch", "another agent has the task")
ILLEGAL_TRANSITION = _log("illegal_transition", "the task's state does not allow the status")
SELF_RATING = _policy("self_rating", "the operator is the agent that had the task")
SIGNAL_REPEATED = _policy("signal_repeated", "the operator has said this of the task before")
SIGNAL_TOO_EARLY = _policy("signal_too_early", "the task has not ended yet")
NOT_ISSUER = _policy("not_issuer", "an agent cancels a task that it did not issue")
ACCEPTED = _log("accepted", "taken on")
DUPLICATE = _log("duplicate", "the same envelope was accepted before")

# Warnings, never a refusal.
DEADLINE_ALREADY_PAST = _warning("deadline_already_past", "the deadline is past, and not enforced")
PRESSURE_FOR_UNLISTED_PRINCIPLE = _warning(
    "pressure_for_unlisted_principle", "pressure names a principle that principles does not list"
)
UNKNOWN_ERROR_CODE = _warning("unknown_error_code", "error.code is none of the protocol's")
ESCALATED_WITHOUT_NEXT_ACTIONS = _warning(
    "escalated_without_next_actions", "ESCALATED without nextActions"
)
PARTIAL_WITHOUT_NEXT_ACTIONS = _warning(
    "partial_without_next_actions", "PARTIAL without nextActions"
)
PAYLOAD_SECRET_SUSPECTED = _warning(
    "payload_secret_suspected", "the payload has text that looks like a secret"
)

# Outcomes (meta.headrace.rule).
AGENT_STATUS = _effect("agent_status", "the agent's own status stands")
ALIGNMENT_REFUSED = _effect("alignment_refused", "the output breaks the constitution")
ALIGNMENT_ESCALATED = _effect("alignment_escalated", "the output has to be looked at by people")
PRECHECK_REFUSED = _effect("precheck_refused", "the task itself breaks the constitution")
PRECHECK_ESCALATED = _effect("precheck_escalated", "the task has to be looked at by people")
CACHE_HIT = _effect("cache_hit", "answered from the cache")
CACHE_ONLY_MISS = _effect("cache_only_miss", "the cache has no answer, and the task wants no other")
DEADLINE_PASSED = _effect("deadline_passed", "the deadline passed before the task ended")
CANCELLED_BY_SIGNAL = _effect("cancelled_by_signal", "an operator or the issuer cancelled the task")

# The bus in one process.
UNKNOWN_DESTINATION = _policy("unknown_destination", "no agent of the target's agentId is there")
DESTINATION_UNAVAILABLE = _policy("destination_unavailable", "the agent takes no tasks now")
NO_HANDLER = _policy("no_handler", "no agent registered has the capability")
HANDLER_ERROR = _effect("handler_error", "the agent's handler raised")

ALL = rules_of(dict(globals()))
"""Every rule code, in the order of declaration."""

ROWS: tuple[tuple[Rule, ...], ...] = (
    (TOO_LARGE,),
    (BAD_JSON,),
    (EXTRA_CONFLICT,),
    (MISSING_FIELD, BAD_TYPE),
    (BAD_VERSION, BAD_UUID),
    (BAD_TIMESTAMP,),
    (
        BAD_ENUM,
        BAD_AGENT_ID,
        BAD_CAPABILITY,
        EMPTY_STRING,
        TOO_LONG,
        TOO_MANY_ITEMS,
        OUT_OF_RANGE,
    ),
    (SELF_PARENT, DEADLINE_BEFORE_ISSUE),
    (ERROR_MESSAGE_MISSING,),
    (ALIGNMENT_STATUS_MISMATCH,),
    (BAD_SIGNAL,),
)
"""The rules of shape in the spec's order, which decides among those that one path breaks."""

_KEY_RULES = (KEY_MISMATCH, PARTITION_MISMATCH)
_SHAPE_RULES = frozenset(
    rule.code for rule in ALL if rule.stage is Stage.SCHEMA or rule in _KEY_RULES
)

REFUSALS: dict[str, tuple[str, int]] = {
    rule.code: (code, status)
    for code, status, group in (
        (
            "UNPROCESSABLE",
            409,
            (
                TASK_ID_CONFLICT,
                SIGNAL_ID_CONFLICT,
                TASK_CLOSED,
                ILLEGAL_TRANSITION,
                NOT_DISPATCHED,
                SIGNAL_REPEATED,
                SIGNAL_TOO_EARLY,
                DESTINATION_UNAVAILABLE,
            ),
        ),
        ("UNPROCESSABLE", 422, (CORRELATION_MISMATCH,)),
        ("NOT_FOUND", 404, (UNKNOWN_TASK, UNKNOWN_DESTINATION, NO_HANDLER)),
        ("UNAUTHORIZED", 401, (UNAUTHORIZED,)),
        (
            "FORBIDDEN",
            403,
            (FORBIDDEN, PRODUCER_MISMATCH, SELF_RATING, NOT_ISSUER),
        ),
        ("RATE_LIMIT", 429, (RATE_LIMITED,)),
    )
    for rule in group
}
"""The NACK's code and the status of an answer that waited for it; rules of shape are not here."""


def nack_code(rule: str, subject: str) -> str:
    """Return the code of a NACK.  subject: `TASK`, `RESULT` or `SIGNAL`.

    Raises KeyError for a rule that refuses nothing.
    """
    if rule in _SHAPE_RULES:
        return "INVALID_TASK" if subject == "TASK" else "UNPROCESSABLE"
    return REFUSALS[rule][0]


def http_status(rule: str) -> int:
    """Return the status of an answer that waited for the verdict; KeyError likewise."""
    return 422 if rule in _SHAPE_RULES else REFUSALS[rule][1]
