"""Tasks, snapshots, messages, calls and agents of ASAP: how records become rows, and queries."""

from streams.protocols.asap.queries.rows import FOLLOWED, verdict_key

__all__ = ["FOLLOWED", "verdict_key"]
