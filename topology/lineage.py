"""The lineage graph: how nodes are named, and what may lie between two of them.

An edge leads from what came later to what it came of, names or is about; so ancestors lie along
the edges, and descendants against them.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from uuid import UUID


class NodeKind(NamedTuple):
    """form: of a node's name; what stands in angle brackets is an id.  escaped: the ids in it are,
    as parts of a composite key, with `%2F` for `/` and `%25` for `%`."""

    form: str
    meaning: str
    escaped: bool = False

    @property
    def name(self) -> str:
        return self.form.partition(":<")[0]


class Relation(NamedTuple):
    name: str
    meaning: str


REPLACES, RETRACTS = "replaces", "retracts"

NODE_KINDS: tuple[NodeKind, ...] = (
    NodeKind("trace:<id>", "a trace: APC session, SAP correlation, W3C or ASAP trace id"),
    NodeKind("apc:packet:<packet_id>", "an APC packet"),
    NodeKind("apc:protocol:<protocol_id>", "a method that swarms teach each other"),
    NodeKind("summit:run:<runId>", "a Summit run", True),
    NodeKind("summit:reply:<runId>/<replyId>", "an answer to a Summit run", True),
    NodeKind("summit:call:<topic>/<partition>/<offset>", "a Summit call that took a run back"),
    NodeKind("summit:manifest:<agentId>/<version>", "a version of an agent's manifest", True),
    NodeKind("saop:session:<session_id>", "a session of tasks"),
    NodeKind("saop:task:<task_id>", "a task of a session"),
    NodeKind("saop:turn:<task_id>/<turn_index>", "a logged turn of a task"),
    NodeKind("saop:rewind:<rewind_id>", "a rewind that was applied"),
    NodeKind("saop:escalation:<escalation_id>", "an escalation"),
    NodeKind("sap:task:<taskId>", "a SAP task"),
    NodeKind("sap:outcome:<taskId>/<n>", "the n-th outcome of a SAP task"),
    NodeKind("sap:signal:<signalId>", "what an operator said of a SAP task"),
    NodeKind("sap:cache:<cacheKey>/<version>", "a version of a vetted answer"),
    NodeKind("sap:heuristics:<capability>/<version>", "a version of what guides a capability"),
    NodeKind("sap:playbook:<capability>/<territory>/<fingerprint>", "what was learned", True),
    NodeKind("asap:task:<task_id>", "an ASAP task", True),
    NodeKind("asap:envelope:<id>", "an ASAP envelope", True),
    NodeKind("asap:snapshot:<task_id>/<version>", "a snapshot of an ASAP task", True),
    NodeKind("asap:artifact:<task_id>/<artifact_id>", "an artifact of an ASAP task", True),
    NodeKind("asap:call:<key>", "an MCP call", True),
    NodeKind("asap:conversation:<conversation_id>", "a conversation of ASAP tasks", True),
)

RELATIONS: tuple[Relation, ...] = (
    Relation("acknowledges", "says that it was received"),
    Relation("answers", "is the answer to"),
    Relation("child_of", "was made for, as a part of its work"),
    Relation("derived_from", "was made from"),
    Relation("evaluates", "says how good it is"),
    Relation("part_of", "belongs to"),
    Relation(REPLACES, "stands in its place"),
    Relation("restores", "brings back"),
    Relation(RETRACTS, "takes back"),
    Relation("same_trace", "happened in"),
    Relation("transfers", "hands over"),
)


_TRACE = re.compile(r"trace:([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})")


def kind_of(node: str) -> str:
    """What a node's name begins with: `trace`, or protocol and kind, as `apc:packet`."""
    first, _, rest = node.partition(":")
    return first if first == "trace" else f"{first}:{rest.partition(':')[0]}"


def spellings(node: str) -> tuple[str, ...]:
    """All names of a node, this one first.

    A trace has two when its id has 128 bits: with hyphens, as SAP writes it, and without, as W3C
    Trace Context does.
    """
    found = _TRACE.fullmatch(node)
    if found is None:
        return (node,)
    trace = UUID(found[1])
    other = trace.hex if "-" in node else str(trace)
    return node, f"trace:{other}"
