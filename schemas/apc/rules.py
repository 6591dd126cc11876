"""The closed set of rule codes and warnings of APC/1.0."""

from __future__ import annotations

from schemas import rules as common
from schemas.rules import Rule, Stage, Where, rules_of

# Shape (APC guide, 3.1).
JSON_INVALID = Rule(
    "json_invalid", "the text is not I-JSON, or not an object", Stage.SCHEMA, Where.EDGE
)
MEMBER_UNKNOWN = Rule(
    "member_unknown", "an object has a member that is not listed", Stage.SCHEMA, Where.EDGE
)
MEMBER_MISSING = Rule("member_missing", "a required member is absent", Stage.SCHEMA, Where.EDGE)
MEMBER_TYPE = Rule(
    "member_type", "a member has the wrong JSON type, or is null", Stage.SCHEMA, Where.EDGE
)
JSON_TEXT = Rule(
    "json_text", "a string that ought to hold a JSON object does not", Stage.SCHEMA, Where.PROCESSOR
)
PACKET_TOO_LARGE = Rule(
    "packet_too_large",
    "the packet or an id in it is over its bound, or nested more than 64 deep",
    Stage.SCHEMA,
    Where.BOTH,
)
VERSION_UNSUPPORTED = Rule(
    "version_unsupported", "protocol_version is not apc/1.0", Stage.SCHEMA, Where.BOTH
)
ENUM_VALUE = Rule("enum_value", "a word is not in its list", Stage.SCHEMA, Where.BOTH)
STRING_EMPTY = Rule("string_empty", "a string is empty that must not be", Stage.SCHEMA, Where.BOTH)
NUMBER_RANGE = Rule(
    "number_range", "a number is outside its bounds, or not finite", Stage.SCHEMA, Where.BOTH
)
ARRAY_SIZE = Rule("array_size", "an array has too few or too many items", Stage.SCHEMA, Where.BOTH)
ARRAY_NOT_UNIQUE = Rule(
    "array_not_unique", "an item of symbolic_keys is repeated", Stage.SCHEMA, Where.BOTH
)
FORMAT_UUID = Rule("format_uuid", "a string is not a UUID", Stage.SCHEMA, Where.BOTH)
FORMAT_TIME = Rule(
    "format_time",
    "a string is not an RFC 3339 date-time with a zone, of a real instant",
    Stage.SCHEMA,
    Where.BOTH,
)
INTRA_AGENT_RECIPIENTS = Rule(
    "intra_agent_recipients",
    "an INTRA_AGENT packet has more than one recipient",
    Stage.SCHEMA,
    Where.BOTH,
)
PROOF_BUNDLE_MISSING = Rule(
    "proof_bundle_missing", "a CLAIM or EVAL has no proof_bundle", Stage.SCHEMA, Where.BOTH
)
LINEAGE_MISSING = Rule("lineage_missing", "a TRANSFER has no lineage", Stage.SCHEMA, Where.BOTH)
PAYLOAD_TYPE_MISMATCH = Rule(
    "payload_type_mismatch",
    "the payload is not of the packet's type",
    Stage.SCHEMA,
    Where.PROCESSOR,
)
FORMULA_EMPTY = Rule(
    "formula_empty",
    "a formula bundle has none of latex_full, sympy_str, ast_json, ode_system",
    Stage.SCHEMA,
    Where.BOTH,
)
ODE_EQUATIONS = Rule(
    "ode_equations", "there are not as many equations as state variables", Stage.SCHEMA, Where.BOTH
)
ODE_INITIAL_STATE = Rule(
    "ode_initial_state", "a state variable has no initial value", Stage.SCHEMA, Where.BOTH
)
ODE_TIME = Rule("ode_time", "time_end is not after time_start", Stage.SCHEMA, Where.BOTH)
METADATA_VALUE = Rule(
    "metadata_value",
    "a reserved member of metadata has another form than its own",
    Stage.SCHEMA,
    Where.BOTH,
)

# Log (APC guide, 3.2).
KEY_MISMATCH = Rule(
    "key_mismatch", "the record key is not trace.session_id", Stage.LOG, Where.PROCESSOR
)
PARTITION_MISMATCH = common.PARTITION_MISMATCH
AUTH_SENDER = Rule(
    "auth_sender", "the token's principal is not sender.agent_id", Stage.LOG, Where.EDGE
)
DUPLICATE = Rule("duplicate", "the session has this packet already", Stage.LOG, Where.PROCESSOR)
PACKET_CONFLICT = Rule(
    "packet_conflict", "the session has another packet of this id", Stage.LOG, Where.PROCESSOR
)
OUTPUT_TOO_LARGE = Rule(
    "output_too_large",
    "what the packet would write is over its topic's bound",
    Stage.LOG,
    Where.PROCESSOR,
)
ACCEPTED = Rule("accepted", "no rule is broken", Stage.LOG, Where.PROCESSOR)

# Policy (APC guide, 3.3), in the order of checking.
SESSION_HALTED = Rule("session_halted", "the session is halted", Stage.POLICY, Where.PROCESSOR)
SESSION_CLOSED = Rule("session_closed", "the session is closed", Stage.POLICY, Where.PROCESSOR)
AGENT_HALTED = Rule(
    "agent_halted",
    "the sender is halted in the session, and the policy refuses what it sends",
    Stage.POLICY,
    Where.PROCESSOR,
)
PHASE_TYPE = Rule(
    "phase_type", "the packet type is not allowed in its phase", Stage.POLICY, Where.PROCESSOR
)
DRIFT_CHECK_FAILED = Rule(
    "drift_check_failed", "a check in metadata.anti_drift is false", Stage.POLICY, Where.PROCESSOR
)
DRIFT_CHECK_MISSING = Rule(
    "drift_check_missing",
    "a check is absent from metadata.anti_drift, and all are required",
    Stage.POLICY,
    Where.PROCESSOR,
)
PROOF_EMPTY = Rule(
    "proof_empty",
    "a CLAIM or EVAL has neither evidence nor falsifiers, and the policy refuses that",
    Stage.POLICY,
    Where.PROCESSOR,
)
LINEAGE_MISMATCH = Rule(
    "lineage_mismatch",
    "lineage and payload name different protocols",
    Stage.POLICY,
    Where.PROCESSOR,
)
GENERATION_DISABLED = Rule(
    "generation_disabled",
    "the generation's window allows no transfer",
    Stage.POLICY,
    Where.PROCESSOR,
)
SCORE_BELOW_WINDOW = Rule(
    "score_below_window",
    "the sender's score is not above the window's multiple of the receiver's",
    Stage.POLICY,
    Where.PROCESSOR,
)
TOP_K_MISSING = Rule(
    "top_k_missing",
    "the window limits top_k, and the transfer policy has none",
    Stage.POLICY,
    Where.PROCESSOR,
)
TOP_K_OVER_LIMIT = Rule(
    "top_k_over_limit", "top_k is above the window's limit", Stage.POLICY, Where.PROCESSOR
)
CROSS_USE_CASE_NOT_ALLOWED = Rule(
    "cross_use_case_not_allowed",
    "the window forbids transfers across use cases",
    Stage.POLICY,
    Where.PROCESSOR,
)
PHASE_GUARD_SCORE = Rule(
    "phase_guard_score",
    "in REFINEMENT, the sender's score is not above the policy's multiple of the receiver's",
    Stage.POLICY,
    Where.PROCESSOR,
)
PHASE_GUARD_TOP_K = Rule(
    "phase_guard_top_k",
    "in CONVERGENCE, top_k is absent or above the policy's limit",
    Stage.POLICY,
    Where.PROCESSOR,
)
PHASE_GUARD_MODE = Rule(
    "phase_guard_mode",
    "in PROMOTION, the mode is none that the policy allows",
    Stage.POLICY,
    Where.PROCESSOR,
)
MIN_GENERATION = Rule(
    "min_generation",
    "the generation is below the transfer policy's min_generation",
    Stage.POLICY,
    Where.PROCESSOR,
)
THRESHOLD_MULTIPLIER = Rule(
    "threshold_multiplier",
    "the sender's score is not above its own multiple of the receiver's",
    Stage.POLICY,
    Where.PROCESSOR,
)
TOP_K_EXHAUSTED = Rule(
    "top_k_exhausted",
    "the protocol has reached top_k receivers, and this is another",
    Stage.POLICY,
    Where.PROCESSOR,
)
PROTOCOL_DECAYED = Rule(
    "protocol_decayed",
    "the protocol is blocked by decay (where it only flags: a warning)",
    Stage.POLICY,
    Where.PROCESSOR,
)
UNKNOWN_WINNER = Rule(
    "unknown_winner",
    "winner_candidate_id is no candidate of the packet",
    Stage.POLICY,
    Where.PROCESSOR,
)
RETRACTION_TARGET_UNKNOWN = Rule(
    "retraction_target_unknown",
    "the session has no packet of the id to be retracted",
    Stage.POLICY,
    Where.PROCESSOR,
)
RETRACTION_OF_RETRACTION = Rule(
    "retraction_of_retraction",
    "the packet to be retracted is a retraction",
    Stage.POLICY,
    Where.PROCESSOR,
)
RETRACTION_NOT_OWNER = Rule(
    "retraction_not_owner",
    "the sender shares neither agent nor swarm with the target's sender",
    Stage.POLICY,
    Where.PROCESSOR,
)
ALREADY_RETRACTED = Rule(
    "already_retracted", "the packet was retracted before", Stage.POLICY, Where.PROCESSOR
)
ACK_TARGET_UNKNOWN = Rule(
    "ack_target_unknown",
    "the session has no packet of the id acknowledged",
    Stage.POLICY,
    Where.PROCESSOR,
)
ACK_NOT_RECIPIENT = Rule(
    "ack_not_recipient",
    "the sender is no recipient of the packet acknowledged",
    Stage.POLICY,
    Where.PROCESSOR,
)
COORDINATION_EVENT_ILLEGAL = Rule(
    "coordination_event_illegal",
    "the session has no edge for the event that the packet names, or its guard fails",
    Stage.POLICY,
    Where.PROCESSOR,
)
SESSION_STATE = Rule(
    "session_state",
    "the packet would commit the session, whose state does not allow it",
    Stage.POLICY,
    Where.PROCESSOR,
)
DECISION_VETOED = Rule(
    "decision_vetoed",
    "the packet would commit the session, in which a veto is open",
    Stage.POLICY,
    Where.PROCESSOR,
)
AGENT_STATE = Rule(
    "agent_state",
    "the packet is a step of its sender, whose state does not allow it",
    Stage.POLICY,
    Where.PROCESSOR,
)

# What happened to a packet because of another (APC guide, 5.2).
ACK_RECORDED = Rule(
    "ack_recorded",
    "a recipient accepted; others are still to answer",
    Stage.EFFECT,
    Where.PROCESSOR,
)
ACK_DEFERRED = Rule(
    "ack_deferred", "a recipient deferred its answer", Stage.EFFECT, Where.PROCESSOR
)
DELIVERED = Rule("delivered", "the last recipient accepted", Stage.EFFECT, Where.PROCESSOR)
RECIPIENT_REFUSED = Rule(
    "recipient_refused", "a recipient refused the packet", Stage.EFFECT, Where.PROCESSOR
)
VERIFIED = Rule("verified", "deferred verification passed", Stage.EFFECT, Where.PROCESSOR)
EVALUATED_FAIL = Rule(
    "evaluated_fail", "deferred verification failed", Stage.EFFECT, Where.PROCESSOR
)
SUPERSEDED = Rule(
    "superseded", "an arbitration chose another packet", Stage.EFFECT, Where.PROCESSOR
)
OUTCOME_KEPT = Rule(
    "outcome_kept",
    "an outcome came before the packet was applied, and is kept for then",
    Stage.EFFECT,
    Where.PROCESSOR,
)
RETRACTED = Rule("retracted", "the packet was retracted", Stage.EFFECT, Where.PROCESSOR)

# What a timer did (APC guide, 4.2).
REDELIVERED = Rule(
    "redelivered", "no answer in time; delivered again", Stage.TIMER, Where.PROCESSOR
)
ACK_TIMEOUT = Rule(
    "ack_timeout", "no answer in time, and no redelivery is left", Stage.TIMER, Where.PROCESSOR
)
TTL_EXPIRED = Rule("ttl_expired", "the packet's deadline passed", Stage.TIMER, Where.PROCESSOR)
SESSION_BUDGET = Rule(
    "session_budget", "the session has used its seconds", Stage.TIMER, Where.PROCESSOR
)

# Warnings (APC guide, 5.9); they never change a verdict.
EXPIRED_ON_ARRIVAL = Rule(
    "expired_on_arrival",
    "the packet's deadline had passed when it came",
    Stage.WARNING,
    Where.PROCESSOR,
)
ACK_WITHOUT_EFFECT = Rule(
    "ack_without_effect",
    "the packet acknowledged was not waiting for it",
    Stage.WARNING,
    Where.PROCESSOR,
)
ACK_REPEATED = Rule(
    "ack_repeated", "the recipient had answered before", Stage.WARNING, Where.PROCESSOR
)
NACK_STATUS_IGNORED = Rule(
    "nack_status_ignored",
    "a NACK is a refusal whatever status it carries",
    Stage.WARNING,
    Where.PROCESSOR,
)
EVAL_PASS_DISAGREES = Rule(
    "eval_pass_disagrees",
    "payload.pass is not what metrics and thresholds say",
    Stage.WARNING,
    Where.PROCESSOR,
)
VERIFICATION_TARGET_UNKNOWN = Rule(
    "verification_target_unknown",
    "a reference names no other packet of the session",
    Stage.WARNING,
    Where.PROCESSOR,
)
BUDGET_EXPRESSION_UNKNOWN = Rule(
    "budget_expression_unknown",
    "a constraint of kind BUDGET is no limit that the service knows",
    Stage.WARNING,
    Where.PROCESSOR,
)
PROOF_BUNDLE_EMPTY = Rule(
    "proof_bundle_empty",
    "a CLAIM or EVAL has neither evidence nor falsifiers",
    Stage.WARNING,
    Where.PROCESSOR,
)
RECIPIENT_REPEATED = Rule(
    "recipient_repeated",
    "an agent is named as recipient more than once",
    Stage.WARNING,
    Where.PROCESSOR,
)
SELF_TRANSFER = Rule("self_transfer", "from_swarm is to_swarm", Stage.WARNING, Where.PROCESSOR)
FROM_SWARM_NOT_SENDER = Rule(
    "from_swarm_not_sender", "from_swarm is not the sender's swarm", Stage.WARNING, Where.PROCESSOR
)
TRANSFER_MODE_DIFFERS = Rule(
    "transfer_mode_differs",
    "lineage and transfer policy name different modes",
    Stage.WARNING,
    Where.PROCESSOR,
)

ALL = rules_of(dict(globals()))
"""Every rule code and warning, in the order of declaration."""
