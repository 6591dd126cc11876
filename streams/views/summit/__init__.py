"""Runs, agents and tools of Summit: how records become rows, and queries."""

from streams.views.summit.rows import FOLLOWED

__all__ = ["FOLLOWED"]
