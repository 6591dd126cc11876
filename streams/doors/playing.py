"""The doors that a scenario serves, beside the routes."""

from __future__ import annotations

from streams.api.query_side import PlayServer
from streams.doors.a2a import playing as a2a
from streams.doors.mcp import playing as mcp
from streams.doors.otlp import playing as otlp

SERVERS: tuple[PlayServer, ...] = (mcp.serve, a2a.serve, otlp.serve)
