"""The queries of Summit for runs, agents and tools, and the projection of records to rows."""

from streams.protocols.summit.queries.rows import FOLLOWED

__all__ = ["FOLLOWED"]
