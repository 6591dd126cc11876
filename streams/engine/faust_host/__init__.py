"""Faust as the host of tasks: group membership, rebalances, life cycle, signals.

Its agents, streams and tables are not used.  Fetched records are handed to tasks as whole lists;
tasks do delivery, state and exactly-once themselves.  The only package that imports faust and
aiokafka; it uses their internals in seven places, each marked with the reason.
"""

from streams.engine.faust_host.run import run as run
