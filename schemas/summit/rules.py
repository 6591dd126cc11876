"""The closed set of rule codes of Summit, with the codes of JSON-RPC and of results.

The rules are in the order of the Summit guide, 3.  The first violated rule decides, in the order of
its chapter 5.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas.rules import Rule, Stage, Where, rules_of

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_FINISHED = -32001
NO_RUN = -32002
CONFLICT = -32003
NO_AGENT = -32004
ENDED = -32005
NO_TOOL = -32006
DENIED = -32007

BAD_OUTPUT = -32010
BAD_REPLY = -32011
TIMED_OUT = -32012
OVER_BUDGET = -32013
CANCELLED = -32014

FAILED = "failed"
BUDGET_EXCEEDED = "budget_exceeded"


class End(NamedTuple):
    """The end that a rule gives a run.

    state: of the run.  code: of the error in its RunResult.
    """

    state: str
    code: int


RPC: dict[str, int] = {}
"""Rule code → JSON-RPC error code, for the rules that a JSON-RPC response may name."""

ENDS: dict[str, End] = {}
"""Rule code → the end of the run: the rules marked F and B, on a final reply or by a timer."""


def _rule(code: str, meaning: str, stage: Stage, where: Where, rpc: int | None) -> Rule:
    if rpc is not None:
        RPC[code] = rpc
    return Rule(code, meaning, stage, where)


def _edge(code: str, rpc: int | None, meaning: str) -> Rule:
    return _rule(code, meaning, Stage.SCHEMA, Where.EDGE, rpc)


def _shape(code: str, rpc: int | None, meaning: str) -> Rule:
    return _rule(code, meaning, Stage.SCHEMA, Where.BOTH, rpc)


def _log(code: str, rpc: int | None, meaning: str) -> Rule:
    return _rule(code, meaning, Stage.LOG, Where.PROCESSOR, rpc)


def _policy(code: str, rpc: int | None, meaning: str) -> Rule:
    return _rule(code, meaning, Stage.POLICY, Where.PROCESSOR, rpc)


def _manifest(member: str, meaning: str) -> Rule:
    return _shape(f"manifest.{member}", None, meaning)


def _fault(code: str, error: int, meaning: str, where: Where = Where.BOTH) -> Rule:
    ENDS[code] = End(FAILED, error)
    return Rule(code, meaning, Stage.SCHEMA if where is Where.BOTH else Stage.POLICY, where)


def _budget(code: str, meaning: str, stage: Stage = Stage.POLICY) -> Rule:
    ENDS[code] = End(BUDGET_EXCEEDED, OVER_BUDGET)
    return Rule(code, meaning, stage, Where.PROCESSOR)


def _effect(code: str, meaning: str) -> Rule:
    return Rule(code, meaning, Stage.EFFECT, Where.PROCESSOR)


# Requests.
JSON_PARSE = _edge("json.parse", PARSE_ERROR, "the body is not JSON")
JSON_INVALID = _shape("json.invalid", INVALID_REQUEST, "the body or open JSON in it is not I-JSON")
RPC_SHAPE = _edge("rpc.shape", INVALID_REQUEST, "not an object, or a member that is not listed")
RPC_VERSION = _shape("rpc.version", INVALID_REQUEST, "jsonrpc is not 2.0")
RPC_ID = _shape("rpc.id", INVALID_REQUEST, "id is null, fractional, out of range, of another type")
RPC_ID_REQUIRED = _shape(
    "rpc.id_required", INVALID_REQUEST, "there is no id, and the method is not agent.cancel"
)
RPC_BATCH = _edge("rpc.batch", INVALID_REQUEST, "the batch is empty, or has too many requests")
RPC_METHOD = _shape("rpc.method", METHOD_NOT_FOUND, "the method is not known, or not logged")
PARAMS_SHAPE = _shape(
    "params.shape", INVALID_PARAMS, "params is not the object that the method has, or has delivery"
)
PARAMS_AGENT_ID = _shape("params.agent_id", INVALID_PARAMS, "agentId is not an agent's name")
PARAMS_RUN_ID = _shape("params.run_id", INVALID_PARAMS, "runId is not the id of a run")
PARAMS_TOOL_CALL = _shape("params.tool_call", INVALID_PARAMS, "toolCall has a wrong id or name")
PARAMS_REASON = _shape("params.reason", INVALID_PARAMS, "reason is not 1 to 1,000 characters")
PARAMS_SIZE = _shape("params.size", INVALID_PARAMS, "inputs or arguments are over 262,144 bytes")
CONTEXT_TRACE_ID = _shape("context.trace_id", INVALID_PARAMS, "traceId is not an id")
CONTEXT_PARENT = _shape(
    "context.parent", INVALID_PARAMS, "parentRunId is not an id, or the run's own"
)
CONTEXT_SIZE = _shape("context.size", INVALID_PARAMS, "other members are over 16,384 bytes")
BUDGET_VALUE = _shape("budget.value", INVALID_PARAMS, "a budget is out of bounds or not a number")
BUDGET_KEY = _shape("budget.key", INVALID_PARAMS, "the budget has a member that is not known")
BUDGET_MISSING = _shape("budget.missing", INVALID_PARAMS, "the policy requires a budget")
BUDGET_CAP = _shape(
    "budget.cap", INVALID_PARAMS, "a budget is above the bound of the policy, or has no such member"
)
CALLER_VALUE = _shape("caller.value", INVALID_REQUEST, "caller is not 1 to 200 characters")
KEY_MISMATCH = _log("key.mismatch", None, "the record key is not the runId, or the agent's name")
PARTITION_MISMATCH = _log(
    "partition_mismatch", None, "the record lies on another partition than its key's"
)
AUTH_SENDER = Rule(
    "auth.sender", "the token's principal is not the sender", Stage.POLICY, Where.EDGE
)

# Runs.
RUN_CONFLICT = _log("run.conflict", CONFLICT, "the runId is known, with another call")
AGENT_UNKNOWN = _log("agent.unknown", NO_AGENT, "no agent of this name is registered")
AGENT_WITHDRAWN = _log("agent.withdrawn", NO_AGENT, "the agent was withdrawn")
TOOL_UNKNOWN = _log("tool.unknown", NO_TOOL, "the agent's manifest offers no such tool")
INPUTS_SCHEMA = _policy("inputs.schema", INVALID_PARAMS, "inputs or arguments break their schema")
INPUTS_SIZE = _policy("inputs.size", INVALID_PARAMS, "with defaults they are over 262,144 bytes")
RUN_UNKNOWN = _log("run.unknown", NO_RUN, "there is no run of this id")
RUN_TERMINAL = _log("run.terminal", ENDED, "the run has ended")
CANCEL_AGENT = _policy("cancel.agent", INVALID_PARAMS, "agentId is not the run's")
CANCEL_NOT_CALLER = _policy(
    "cancel.not_caller", DENIED, "neither the run's caller nor an operator cancels it"
)
TREE_UNKNOWN = _log("tree.unknown", None, "there is no run that the record is addressed to")
TREE_NOT_ENTITLED = _policy(
    "tree.not_entitled", None, "neither the parent's agent nor its caller made the run"
)
TREE_UNLINKED = _log("tree.unlinked", None, "the run through which it comes is not linked")
TREE_CYCLE = _log("tree.cycle", None, "the run would be below itself")
TREE_DEEP = _log("tree.deep", None, "it was passed on more than 64 times")
TREE_FULL = _policy("tree.full", None, "the tree has HEADRACE_SUMMIT_TREE_MAX runs")
RUN_PENDING = Rule(
    "run.pending", "the wait is over and the run has not ended", Stage.WARNING, Where.EDGE
)
RPC[RUN_PENDING.code] = NOT_FINISHED

# Manifests.
MANIFEST_YAML = _edge("manifest.yaml", None, "the text is not one YAML 1.2 document, or too long")
MANIFEST_SHAPE = _manifest("shape", "a member is missing, of a wrong type, or not listed")
MANIFEST_API_VERSION = _manifest("api_version", "apiVersion is not summit.io/v1")
MANIFEST_KIND = _manifest("kind", "kind is not Agent")
MANIFEST_NAME = _manifest("name", "metadata.name is not an agent's name")
MANIFEST_VERSION = _manifest("version", "metadata.version is not x.y.z")
MANIFEST_ROLE = _manifest("role", "the role is none of the four, and does not begin with x-")
MANIFEST_CAPABILITY = _manifest("capability", "a capability is ill-formed, or given twice")
MANIFEST_RESOURCES = _manifest("resources", "a resource has a wrong name or value")
MANIFEST_TEXT = _manifest("text", "the description or other metadata is out of bounds")
MANIFEST_SCHEMA = _manifest("schema", "a schema is invalid, or its root is not of type object")
MANIFEST_SCHEMA_DIALECT = _manifest("schema_dialect", "a schema is not of draft 2020-12")
MANIFEST_SCHEMA_REF = _manifest("schema_ref", "a reference is not local, or leads nowhere")
MANIFEST_SCHEMA_PATTERN = _manifest("schema_pattern", "a pattern is not for a linear-time engine")
MANIFEST_SCHEMA_DEFAULT = _manifest("schema_default", "a default breaks its own subschema")
MANIFEST_TOOL = _manifest("tool", "a tool is ill-formed, or its name is given twice")
MANIFEST_JUDGE = _manifest("judge", "metadata.judge names no other agent, or has a wrong budget")
MANIFEST_SIZE = _manifest("size", "the manifest is over 262,144 bytes")
MANIFEST_VERSION_CONFLICT = _log(
    "manifest.version_conflict", None, "this version was accepted with other content"
)
MANIFEST_NOT_REGISTERED = _log(
    "manifest.not_registered", NO_AGENT, "an agent is withdrawn that is not registered"
)

# Replies.
REPLY_SHAPE = _shape("reply.shape", None, "the ids, the kind, or members that it does not have")
REPLY_CONFLICT = _log("reply.conflict", None, "the replyId is known, with other content")
REPLY_AGENT = _log("reply.agent", None, "the sender is not the run's agent")
METRICS_MISSING = _fault("metrics.missing", BAD_REPLY, "the reply has no metrics")
METRICS_VALUE = _fault("metrics.value", BAD_REPLY, "a metric is out of bounds or not finite")
PROVENANCE_MISSING = _fault("provenance.missing", BAD_REPLY, "the reply has no provenance")
PROVENANCE_VALUE = _fault("provenance.value", BAD_REPLY, "model or timestamp is wrong")
VERIFICATION_VALUE = _fault("verification.value", BAD_REPLY, "score, checks or status is wrong")
STATUS_VALUE = _fault("status.value", BAD_REPLY, "the status is not one of the reply's kind")
ERROR_VALUE = _fault("error.value", BAD_REPLY, "the error is absent, reserved or out of bounds")
BUDGET_NONE = _fault(
    "budget.none", BAD_REPLY, "the agent stops for a budget that there is not", Where.PROCESSOR
)
BUDGET_USD = _budget("budget.usd", "the run cost more than its budget")
BUDGET_TOKENS = _budget("budget.tokens", "the run took more tokens than its budget")
BUDGET_AGENT_STOP = _budget("budget.agent_stop", "the agent stopped so as to keep to the budget")
BUDGET_TREE_USD = _budget("budget.tree_usd", "the run and those below it cost more than its budget")
BUDGET_TREE_TOKENS = _budget(
    "budget.tree_tokens", "the run and those below it took more tokens than its budget"
)
BUDGET_TREE_SIZE = _budget(
    "budget.tree_size", "a run with a budget has more runs below it than can be counted"
)
BUDGET_TREE = _budget("budget.tree", "a run above ended because its budget was exceeded")
BUDGET_SECONDS = _budget("budget.seconds", "the time that the caller gave is over", Stage.TIMER)
RUN_TIMEOUT = Rule(
    "run.timeout", "the time that the service gives is over", Stage.TIMER, Where.PROCESSOR
)
ENDS[RUN_TIMEOUT.code] = End(FAILED, TIMED_OUT)
OUTPUT_VALUE = _fault("output.value", BAD_OUTPUT, "the output is absent, too long, or no object")
OUTPUT_SCHEMA = _fault(
    "output.schema", BAD_OUTPUT, "the output breaks the agent's schema", Where.PROCESSOR
)
JUDGE_NOT_COMPLETED = _policy("judge.not_completed", None, "the run is not completed")
JUDGE_NOT_CRITIC = _policy("judge.not_critic", None, "the sender is no registered critic")
JUDGE_SELF = _policy("judge.self", None, "the sender is the run's agent")
JUDGE_ALREADY = _policy("judge.already", None, "the run has a judge")

REFUSING = rules_of(dict(globals()))
"""The rules above: those that refuse a command, or end a run with an error."""

# Accepted.
MANIFEST_ACCEPTED = _effect("manifest.accepted", "the agent has this manifest now")
MANIFEST_WITHDRAWN = _effect("manifest.withdrawn", "the agent takes no new calls")
CALL_ACCEPTED = _effect("call.accepted", "the run is queued")
CANCEL_ACCEPTED = _effect("cancel.accepted", "the run is cancelled")
REPLY_PROGRESS = _effect("reply.progress", "the run is at work")
REPLY_RESULT = _effect("reply.result", "the run is completed")
REPLY_ERROR = _effect("reply.error", "the run failed, as its agent says")
REPLY_VERIFICATION = _effect("reply.verification", "a judge has spoken")
JUDGE_RECORDED = _effect("judge.recorded", "what the critic's run says is the run's verification")
JUDGE_FLAGGED = _effect("judge.flagged", "the critic's run says nothing; the run is flagged")
TREE_LINKED = _effect("tree.linked", "what the run spends counts for the one above")
TREE_SPENT = _effect("tree.spent", "what the run has spent is counted")
TREE_STOPPED = _effect("tree.stopped", "the run is stopped with the one above")

# Duplicates.
MANIFEST_DUPLICATE = _effect("manifest.duplicate", "the agent has this manifest already")
CALL_DUPLICATE = _effect("call.duplicate", "the call made this run before")
CANCEL_DUPLICATE = _effect("cancel.duplicate", "the run is cancelled already")
REPLY_DUPLICATE = _effect("reply.duplicate", "the reply was accepted before")
TREE_SAME = _effect("tree.same", "it is known already")

# Rules of the gateway.
SERVICE_UNAVAILABLE = Rule(
    "service.unavailable",
    "the log cannot be reached, or what `after` names was not seen in time",
    Stage.LOG,
    Where.EDGE,
)
SERVICE_INTERNAL = Rule("service.internal", "the gateway failed", Stage.LOG, Where.EDGE)
RPC[SERVICE_UNAVAILABLE.code] = RPC[SERVICE_INTERNAL.code] = INTERNAL_ERROR

ALL = rules_of(dict(globals()))
"""Every rule code, in the order of declaration."""

_FAULTS = {SERVICE_UNAVAILABLE.code: "infrastructure", SERVICE_INTERNAL.code: "service"}


def fault_of(code: str) -> str:
    """Return who caused the violation of a rule: `sender`, `service` or `infrastructure`."""
    return _FAULTS.get(code, "sender")
