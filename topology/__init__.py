"""The declarations of topics, tables, processors, keys and state machines.

Pure data and one interpreter.  Each protocol declares its part in a file of its own, and
`topology.protocols` lists them; `topology.topics`, `topology.tables` and `topology.processors` are
made from that list.  Machines are in `topology.machines`, one file each.
"""

from topology import processors, tables, topics
from topology.asap_status import (
    VALID_TRANSITIONS,
    can_transition,
    next_status,
    next_version,
    transition,
)
from topology.declarations import ProcessorDeclaration, Table, Topic, TopicKind
from topology.diagrams import mermaid, mermaid_processors, mermaid_profile
from topology.keys import KeyUnknown, composite, key_of, murmur2, partition_of, split
from topology.machine import ANY, Machine, define, step
from topology.machines.task_profiles import PROFILES, Profile

__distribution__ = "headrace"
__all__ = [
    "ANY",
    "PROFILES",
    "VALID_TRANSITIONS",
    "KeyUnknown",
    "Machine",
    "ProcessorDeclaration",
    "Profile",
    "Table",
    "Topic",
    "TopicKind",
    "can_transition",
    "composite",
    "define",
    "key_of",
    "mermaid",
    "mermaid_processors",
    "mermaid_profile",
    "murmur2",
    "next_status",
    "next_version",
    "partition_of",
    "processors",
    "split",
    "step",
    "tables",
    "topics",
    "transition",
]
