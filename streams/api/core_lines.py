"""One line for each record of the topics that belong to no protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from streams.api.lines import Line, LineOf, Sign, count_of, one_line, parts, short
from topology.core import AUDIT_CHECKPOINTS, AUDIT_REDRIVES, AUDIT_REPAIRS, LINEAGE_EDGES

Json = Mapping[str, Any]


def short_node(node: str) -> str:
    """Return a lineage node with its id shortened."""
    kind, colon, id = node.rpartition(":")
    parts_of_id = "/".join(short(part) for part in id.split("/"))
    return f"{kind}{colon}{parts_of_id}"


def _edge(value: Json) -> Line:
    return Line(
        who=short_node(value["from_node"]),
        text=f"{value['relation']} {short_node(value['to_node'])}",
    )


def _redrive(value: Json) -> Line:
    return Line(
        who=value["dead_letter"],
        what=f"by {value['operator']}",
        text=f"sent again to {value['topic']}",
        rule=value["code"],
        reason=one_line(value["reason"]),
    )


def _repair(value: Json) -> Line:
    return Line(
        who=value["topic"],
        what=value["key"],
        text=f"{value['action']} in the place of {value['refused']}",
        reason=one_line(value["reason"]),
    )


def _checkpoint(value: Json) -> Line:
    return Line(
        who=f"{value['topic']}/{value['partition']}",
        what=f"checkpoint {value['sequence']}",
        text=f"sealed up to {value['offset']}",
        reason=f"{count_of(value['records'], 'record')}, key {value['key_id'][:8]}",
    )


CORE_LINES: Mapping[str, LineOf] = {
    LINEAGE_EDGES.name: _edge,
    AUDIT_REDRIVES.name: _redrive,
    AUDIT_REPAIRS.name: _repair,
    AUDIT_CHECKPOINTS.name: _checkpoint,
}


def dead_letter_line(source: str, code: str, message: str) -> Line:
    """Return the line of a dead letter.  source: the position of the record, None for a timer."""
    return Line(
        who=source, sign=Sign.REFUSED, text="dead letter", rule=code, reason=one_line(message)
    )


def other_line(value: Any) -> Line:
    """Return the line of a record without a form of its own: its members, as they are."""
    if not isinstance(value, Mapping):
        return Line(who=json.dumps(value, ensure_ascii=False))
    members = (f"{name} {_scalar(member)}" for name, member in value.items() if member is not None)
    return Line(who=parts(*members))


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return short(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
