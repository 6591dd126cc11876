"""The projection of SAP's records to rows, and queries of tasks, cached and learned values."""

from streams.protocols.sap.queries.rows import FOLLOWED

__all__ = ["FOLLOWED"]
