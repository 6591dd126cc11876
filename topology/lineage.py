"""The lineage graph: how nodes are named, and what may lie between two of them.

An edge leads from what came later to what it came of, names or is about; so ancestors lie along
the edges, and descendants against them.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from uuid import UUID

from topology.declarations import NodeKind
from topology.protocols import DECLARED


class Relation(NamedTuple):
    name: str
    meaning: str


REPLACES, RETRACTS = "replaces", "retracts"

NODE_KINDS: tuple[NodeKind, ...] = (
    NodeKind("trace:<id>", "a trace: APC session, SAP correlation, W3C or ASAP trace id"),
    *(kind for each in DECLARED for kind in each.node_kinds),
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
    """Return the prefix of a node's name: `trace`, or protocol and kind, as `apc:packet`."""
    first, _, remainder = node.partition(":")
    return first if first == "trace" else f"{first}:{remainder.partition(':')[0]}"


def node_names(node: str) -> tuple[str, ...]:
    """Return all names of a node, this one first.

    A trace has two when its id has 128 bits: with hyphens, as SAP writes it, and without, as W3C
    Trace Context does.
    """
    match = _TRACE.fullmatch(node)
    if match is None:
        return (node,)
    trace = UUID(match[1])
    other = trace.hex if "-" in node else str(trace)
    return node, f"trace:{other}"
