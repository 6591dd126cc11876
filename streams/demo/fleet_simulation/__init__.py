"""A generated run of a fleet: swarms that teach each other protocols over forty generations.

Four use cases are worked on by five swarms each.  For ten generations they research; then the
transfer windows open, and swarms teach each other what worked.  Receivers measure what they were
taught, some of them generations later; agents veto, retract and arbitrate; and again and again
somebody sends what the rules of APC/1.0 refuse.  Some protocols turn bad and decay, one recovers.

The same seed makes the same packets.  Every packet is sent with the rules that may decide it, so
that a run checks itself.
"""

from streams.demo.fleet_simulation.account import Account, Sums
from streams.demo.fleet_simulation.run import FleetStatus, Run, run
from streams.demo.fleet_simulation.story import ENDS, GENERATIONS, Generation, Sent, Story, tell
from streams.demo.fleet_simulation.world import PROTOCOLS, SWARMS, USE_CASES, Protocol

__all__ = [
    "ENDS",
    "GENERATIONS",
    "PROTOCOLS",
    "SWARMS",
    "USE_CASES",
    "Account",
    "FleetStatus",
    "Generation",
    "Protocol",
    "Run",
    "Sent",
    "Story",
    "Sums",
    "run",
    "tell",
]
