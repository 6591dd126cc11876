"""The view and the queries of ASAP: tasks, snapshots, messages, calls and agents."""

from streams.protocols.asap.queries.rows import FOLLOWED, verdict_key

__all__ = ["FOLLOWED", "verdict_key"]
