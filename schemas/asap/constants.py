"""Names and numbers of ASAP (ASAP guide, 1, 2.1, 2.6, 6.2)."""

from __future__ import annotations

from schemas.asap.mapping import ASAP

ASAP_PROTOCOL_VERSION = "0.1"
DEFAULT_TIMEOUT_SECONDS = 600
MAX_TASK_DEPTH = 10
AGENT_URN_PATTERN = r"^urn:asap:agent:[a-z0-9-]+(?::[a-z0-9-]+)?$"
MAX_URN_LENGTH = 256
MAX_ID_LENGTH = 256

# Defaults of settings (ASAP guide, 1).
SERVICE_URN = "urn:asap:agent:headrace"
MAX_ENVELOPE_BYTES = 900_000
MAX_RETENTION_HOURS = 8760

DEFAULT_RETENTION_HOURS = 168
"""The retention of an event-sourced task's events after its end."""
MAX_TIMEOUT_SECONDS = 31_536_000

SNAPSHOT_MODE = "snapshot"
EVENT_SOURCED_MODE = "event-sourced"
STATE_MODES = (SNAPSHOT_MODE, EVENT_SOURCED_MODE)

# Extensions that the log interprets.
RESERVED = "dev.headrace."
EXT_SNAPSHOT = "dev.headrace.snapshot"
EXT_PARTS = "dev.headrace.parts"
EXT_ANSWERS = "dev.headrace.answers"
EXT_ERROR = "dev.headrace.error"
EXT_RESTORE = "dev.headrace.restore"

# JSON-RPC.
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
ERROR_MESSAGES = {
    PARSE_ERROR: "Parse error",
    INVALID_REQUEST: "Invalid request",
    METHOD_NOT_FOUND: "Method not found",
    INVALID_PARAMS: "Invalid params",
    INTERNAL_ERROR: "Internal error",
}

ENVELOPE_RECORD = f"{ASAP}Envelope"
MANIFEST_RECORD = f"{ASAP}Manifest"
