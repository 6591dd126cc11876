"""Tasks, vetted answers and what was learned: how SAP's records become rows, and queries."""

from streams.protocols.sap.queries.rows import FOLLOWED

__all__ = ["FOLLOWED"]
