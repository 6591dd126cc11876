"""Limits of one client's requests to a gateway.  Sizes are in bytes, times in seconds."""

from __future__ import annotations

MAX_HEAD = 32 << 10
"""Request line and headers."""
MAX_STRANGER_BODY = 1 << 20
"""Body of a request without a token, if the gateway requires tokens."""
HEAD_S = 30.0
BODY_S = 30.0
"""How long the client may take to send the headers, and the body."""
WRITE_S = 30.0
WRITE_BYTES = 1 << 16
"""How long the client may take to read so much of a response, by default."""
PART_BYTES = 1 << 18
"""A larger response is sent in such parts, each once the client has read of those before."""
KEEP_ALIVE_S = 75
STOP_S = 15
"""How long requests in flight may take once the gateway stops."""
PRODUCE_S = 10.0
"""How long a produce request waits for Kafka before its outcome counts as unknown."""
RETRY_AFTER_S = 1
THREADS = 4
"""Threads for queries of the view, for those of the log, and for validating and producing, each."""
MAX_LOG_READS = 64
"""Requests that read the log, or wait for a thread to do so: each may take seconds."""
EXEMPT = ("/healthz", "/readyz", "/metrics", "/asap/metrics", "/openapi.json", "/v1/rtes/stream")
"""Paths that do not count towards the limit of concurrent requests."""
