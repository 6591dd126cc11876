"""The names of A2A that several modules use, and the bounds of the door."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
EXTENSION = "urn:headrace:a2a:log:v1"
"""The key of `metadata` under which the door reads and writes what A2A has no member for."""
VERSION = "1.0"
VERSION_NAME = "A2A-Version"
"""The header, and the query parameter, that name the version a client speaks."""
EXTENSIONS_HEADER = "A2A-Extensions"
LAST_EVENT_ID = "last-event-id"
POSITION_HEADER = "Headrace-Position"
A2A_TYPE = "application/a2a+json"
JSON_MODE, TEXT_MODE = "application/json", "text/plain"
ROOT = "/a2a/"
CARD_PATH = "/.well-known/agent-card.json"
JSONRPC, HTTP_JSON = "JSONRPC", "HTTP+JSON"
MAX_HISTORY = 100
"""Messages in the history of a task whose reader does not say how many it wants."""
MAX_KEPT_BYTES = 4096
"""A longer message, in RFC 8785, is not kept with the run that it makes."""


def fits_version(version: str) -> bool:
    """Return whether a version, with or without a patch, is the one that is served."""
    parts = version.split(".")
    return ".".join(parts[:2]) == VERSION and all(part.isdecimal() for part in parts[2:3])
