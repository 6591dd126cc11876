"""Answers what sessions and agents did: turns, events, calls, tasks, thoughts, rewinds.

`FOLLOWED` says how the records of this protocol become rows, the other modules ask about them.
"""

from streams.protocols.saop.queries.rows import FOLLOWED

__all__ = ["FOLLOWED"]
