"""Faust as the host of tasks: group membership, rebalances, life cycle, signals.

Its agents, streams and tables are not used.  What it fetches is handed to tasks as whole lists;
delivery, state and exactly-once are the tasks' own.  The only package that imports faust and
aiokafka, whose internals it touches in six places, each marked with why.
"""

from streams.engine.faust_host.run import run as run
