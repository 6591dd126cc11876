"""The limit of open files, of which connections leave some to the view and to Kafka's client."""

from __future__ import annotations

import logging
import resource

log = logging.getLogger("streams.gateway")

MAX_FILES = 65_536
"""The soft limit is raised to at most this: some systems have a hard limit of a billion."""
RESERVE = 512
"""Files that connections leave: RocksDB keeps 256 open, the rest is for compaction and Kafka."""


def raise_file_limit() -> int:
    """Raise the soft limit of open files towards the hard one, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft == resource.RLIM_INFINITY or soft >= target:
        return MAX_FILES if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    return target


def bound_connections(max_connections: int, files: int) -> int:
    """Return how many connections may be open at once, with so many files."""
    bound = min(max_connections, max(files - RESERVE, files // 4, 1))
    if bound < max_connections:
        log.warning(
            "%d files may be open, so %d connections and not %d (HEADRACE_GATEWAY_MAX_CONNECTIONS)",
            *(files, bound, max_connections),
        )
    return bound
