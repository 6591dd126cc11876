"""The constants of Summit: record names, enumerations and limits (Summit guide, 1, 2)."""

from __future__ import annotations

from schemas.summit.mapping import SUMMIT

MANIFEST_RECORD = f"{SUMMIT}SummitManifest"
CALL_RECORD = f"{SUMMIT}SummitCall"
REPLY_RECORD = f"{SUMMIT}SummitReply"
RUN_RECORD = f"{SUMMIT}SummitRun"
AGENT_RECORD = f"{SUMMIT}SummitAgent"
EVENT_RECORD = f"{SUMMIT}SummitEvent"

API_VERSION = "summit.io/v1"
MANIFEST_KIND = "Agent"
JSONRPC = "2.0"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

INVOKE_METHOD = "agent.invoke"
TOOL_METHOD = "tool.call"
CANCEL_METHOD = "agent.cancel"
LOGGED_METHODS = (INVOKE_METHOD, TOOL_METHOD, CANCEL_METHOD)
QUERY_METHODS = ("agent.status", "agent.schema", "agent.list", "tool.list")
METHODS = (*LOGGED_METHODS, *QUERY_METHODS)
DIALECTS = ("summit", "mcp")

INVOKE, TOOL, STOP = "invoke", "tool", "stop"
LINK, SPEND = "link", "spend"
"""Kinds of runs, and of deliveries."""

QUEUED, RUNNING = "queued", "running"
COMPLETED, FAILED = "completed", "failed"
CANCELLED, BUDGET_EXCEEDED = "cancelled", "budget_exceeded"
TERMINAL = (COMPLETED, FAILED, CANCELLED, BUDGET_EXCEEDED)
STATES = (QUEUED, RUNNING, *TERMINAL)
REGISTERED, WITHDRAWN = "registered", "withdrawn"

PROGRESS, RESULT, ERROR, VERIFICATION = "progress", "result", "error", "verification"
REPLY_KINDS = (PROGRESS, RESULT, ERROR, VERIFICATION)
FINAL = (RESULT, ERROR)

PASSED, FLAGGED = "passed", "flagged"
VERIFICATION_STATUSES = (PASSED, FLAGGED, FAILED)
"""The statuses, from the mildest to the strictest."""

CRITIC = "critic"
ROLES = ("researcher", CRITIC, "writer", "router")
OPERATOR = "operator"
UNKNOWN_MODEL = "unknown"

MAX_MANIFEST_BYTES = 262_144
MAX_INPUTS_BYTES = 262_144
MAX_OUTPUT_BYTES = 393_216
MAX_EXTRA_BYTES = 16_384
MAX_USD = 1_000_000
MAX_SECONDS = 604_800
MAX_LATENCY_MS = 10**12
MAX_CAPABILITIES = 64
MAX_TOOLS = 64
MAX_RESOURCES = 32
MAX_CHECKS = 64
MAX_PAGE = 500
MAX_SCHEMA_ERRORS = 10
MAX_PATH = 500
RESERVED_CODES = range(-32768, -31999)
