"""The closed set of rule codes of SAP, and their HTTP statuses (SAP guide, 3.1 and 3.2)."""

from __future__ import annotations

from schemas import rules as common
from schemas.rules import Rule, Stage, Where, rules_of

Nack = tuple[str, int]
"""The code of a NACK, and the HTTP status of a response that waited for it."""

_INVALID_TASK: Nack = ("INVALID_TASK", 422)
_CONFLICT: Nack = ("UNPROCESSABLE", 409)
_UNPROCESSABLE: Nack = ("UNPROCESSABLE", 422)
_NOT_FOUND: Nack = ("NOT_FOUND", 404)
_UNAUTHORIZED: Nack = ("UNAUTHORIZED", 401)
_FORBIDDEN: Nack = ("FORBIDDEN", 403)
_RATE_LIMIT: Nack = ("RATE_LIMIT", 429)

REFUSALS: dict[str, Nack] = {}
"""Rule code → NACK, of the rules that the processor refuses by; rules of shape are not here."""

ROWS: dict[str, int] = {}
"""Rule code → row of the guide's table of shape, which decides among rules that one path breaks."""


def _shape(row: int, code: str, meaning: str, where: Where = Where.BOTH) -> Rule:
    ROWS[code] = row
    return Rule(code, meaning, Stage.SCHEMA, where)


def _rule(
    code: str, meaning: str, stage: Stage, nack: Nack | None, where: Where = Where.PROCESSOR
) -> Rule:
    if nack is not None:
        REFUSALS[code] = nack
    return Rule(code, meaning, stage, where)


def _log(code: str, meaning: str, nack: Nack | None = None) -> Rule:
    return _rule(code, meaning, Stage.LOG, nack)


def _policy(code: str, meaning: str, nack: Nack, where: Where = Where.PROCESSOR) -> Rule:
    return _rule(code, meaning, Stage.POLICY, nack, where)


def _effect(code: str, meaning: str) -> Rule:
    return Rule(code, meaning, Stage.EFFECT, Where.PROCESSOR)


def _warning(code: str, meaning: str) -> Rule:
    return Rule(code, meaning, Stage.WARNING, Where.PROCESSOR)


# The record.
KEY_MISMATCH = _log("key_mismatch", "the record key is null, no UTF-8 or not the lower-case taskId")
PARTITION_MISMATCH = common.PARTITION_MISMATCH

# Shape, in the order of the guide.
TOO_LARGE = _shape(1, "too_large", "the canonical JSON form is above 524288 bytes")
BAD_JSON = _shape(2, "bad_json", "open JSON or the body is no I-JSON, or nests above 64")
EXTRA_CONFLICT = _shape(
    3,
    "extra_conflict",
    "extra_json is no object, or names a member that has a field of its own",
    Where.PROCESSOR,
)
MISSING_FIELD = _shape(4, "missing_field", "a required member is absent or null")
BAD_TYPE = _shape(4, "bad_type", "a member has the wrong JSON type")
BAD_VERSION = _shape(5, "bad_version", "protocolVersion is not 2.0")
BAD_UUID = _shape(5, "bad_uuid", "an id is not a UUID of 36 characters")
BAD_TIMESTAMP = _shape(
    6, "bad_timestamp", "a time is not YYYY-MM-DDTHH:MM:SSZ, or not a real date and time"
)
BAD_ENUM = _shape(7, "bad_enum", "a word is not one of those allowed")
BAD_AGENT_ID = _shape(7, "bad_agent_id", "an agentId is empty, too long, or has blanks at an end")
BAD_CAPABILITY = _shape(
    7, "bad_capability", "a capability is not words joined by dots, or too long"
)
EMPTY_STRING = _shape(7, "empty_string", "a text is blank")
TOO_LONG = _shape(7, "too_long", "a text has too many characters")
TOO_MANY_ITEMS = _shape(7, "too_many_items", "a list or map has more than 256 entries")
OUT_OF_RANGE = _shape(7, "out_of_range", "a number is out of its bounds, or not finite")
SELF_PARENT = _shape(8, "self_parent", "a task is its own parent")
DEADLINE_BEFORE_ISSUE = _shape(8, "deadline_before_issue", "the deadline is before issuedAt")
ERROR_MESSAGE_MISSING = _shape(9, "error_message_missing", "FAILED without an error.message")
ALIGNMENT_STATUS_MISMATCH = _shape(
    10, "alignment_status_mismatch", "the evidence's alignment does not go with the status"
)
BAD_SIGNAL = _shape(11, "bad_signal", "rating, decision or note do not go with the kind")

# Deciding (SAP guide, 5.2, 5.3, 5.7).
PAYLOAD_SECRET = _policy(
    "payload_secret", "the payload has what looks like a secret", _INVALID_TASK, Where.BOTH
)
TASK_ID_CONFLICT = _log("task_id_conflict", "the taskId is known, with other content", _CONFLICT)
SIGNAL_ID_CONFLICT = _log(
    "signal_id_conflict", "the signalId is known, with other content", _CONFLICT
)
UNAUTHORIZED = _policy(
    "unauthorized", "no rule of the issuer table knows the issuer", _UNAUTHORIZED
)
FORBIDDEN = _policy("forbidden", "the issuer is known, but not for this capability", _FORBIDDEN)
RATE_LIMITED = _policy("rate_limited", "the issuer sends more tasks than it may", _RATE_LIMIT)
UNKNOWN_TASK = _log("unknown_task", "no task of this taskId was accepted", _NOT_FOUND)
CORRELATION_MISMATCH = _log(
    "correlation_mismatch", "the correlationId is not the task's", _UNPROCESSABLE
)
TASK_CLOSED = _log("task_closed", "the task has ended", _CONFLICT)
NOT_DISPATCHED = _log("not_dispatched", "the task is in no inbox yet", _CONFLICT)
PRODUCER_MISMATCH = _policy("producer_mismatch", "another agent has the task", _FORBIDDEN)
ILLEGAL_TRANSITION = _log(
    "illegal_transition", "the task's state does not allow the status", _CONFLICT
)
SELF_RATING = _policy("self_rating", "the operator is the agent that had the task", _FORBIDDEN)
SIGNAL_REPEATED = _policy(
    "signal_repeated", "the operator has said this of the task before", _CONFLICT
)
SIGNAL_TOO_EARLY = _policy("signal_too_early", "the task has not ended yet", _CONFLICT)
NOT_ISSUER = _policy("not_issuer", "an agent cancels a task that it did not issue", _FORBIDDEN)
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
STATUS_UNMAPPED = _warning(
    "status_unmapped", "the status of a check is no known word, and is taken as UNCHECKED"
)
SEVERITY_UNMAPPED = _warning(
    "severity_unmapped", "the severity of a violation is no known word, and the policy says which"
)
PAYLOAD_SECRET_SUSPECTED = _warning(
    "payload_secret_suspected", "the payload has what looks like a secret, and the policy allows it"
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
UNKNOWN_DESTINATION = _policy(
    "unknown_destination", "no agent of the target's agentId is there", _NOT_FOUND
)
DESTINATION_UNAVAILABLE = _policy(
    "destination_unavailable", "the agent takes no tasks now", _CONFLICT
)
NO_HANDLER = _policy("no_handler", "no agent registered has the capability", _NOT_FOUND)
HANDLER_ERROR = _effect("handler_error", "the agent's handler raised")

ALL = rules_of(dict(globals()))
"""Every rule code, in the order of declaration."""

_KEY_RULES = (KEY_MISMATCH, PARTITION_MISMATCH)
_SHAPE_RULES = frozenset(
    rule.code for rule in ALL if rule.stage is Stage.SCHEMA or rule in _KEY_RULES
)


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
