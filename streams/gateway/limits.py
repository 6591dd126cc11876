"""What one client may ask of a gateway.  Sizes in bytes, times in seconds."""

from __future__ import annotations

MAX_HEAD = 32 << 10
"""Request line and headers."""
MAX_STRANGER_BODY = 1 << 20
"""Body of a request without a token, where tokens are asked for."""
HEAD_S = 30.0
BODY_S = 30.0
"""How long headers and body may take to come."""
KEEP_ALIVE_S = 75
STOP_S = 15
"""How long requests in flight may take to end once the gateway stops."""
PRODUCE_S = 10.0
"""How long a produce request waits for Kafka before its outcome counts as unknown."""
RETRY_AFTER_S = 1
THREADS = 4
"""Threads that answer queries, and as many that check what is to be produced."""
EXEMPT = ("/healthz", "/readyz", "/metrics", "/asap/metrics", "/openapi.json", "/v1/rtes/stream")
"""Paths that the bound on concurrent requests leaves alone."""
