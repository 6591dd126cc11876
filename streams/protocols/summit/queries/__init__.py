"""Runs, agents and tools of Summit: how records become rows, and queries."""

from streams.protocols.summit.queries.rows import FOLLOWED

__all__ = ["FOLLOWED"]
