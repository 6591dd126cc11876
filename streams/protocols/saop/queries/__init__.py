"""The queries about sessions and agents: turns, events, calls, tasks, thoughts, rewinds.

`FOLLOWED` projects the records of this protocol to rows; the other modules read them.
"""

from streams.protocols.saop.queries.rows import FOLLOWED

__all__ = ["FOLLOWED"]
