"""The documented views over an export, and the table macros.

Each protocol brings its part as data, `streams/protocols/<protocol>/analytics.sql`: blocks that
begin with a line `-- <view>: <topic>, <topic>`, followed by one SELECT with the view's columns.  A
view is all of its blocks, one after the other.  A block whose topics were not exported is left
out.  The views of this package, over those of the protocols, and the macros stand in
`analytics.sql` beside this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

from schemas.protocols import SPECS

_FILE, _FUNCTIONS = "analytics.sql", "functions.sql"
_HEAD = re.compile(r"^-- (\w+(?:\(.*\))?): (.+)$", re.MULTILINE)
VIEWS: Mapping[str, str] = {
    "verdicts": "judged record",
    "packets": "accepted APC packet",
    "transfers": "accepted APC packet that is a TRANSFER, counted or not",
    "protocols": "APC protocol: its totals over all runs",
    "tasks": "task of SAP, ASAP or SAOP",
    "runs": "Summit run",
    "budgets": "limit of a Summit run or a SAP task",
    "cache": "version of a vetted answer",
    "sessions": "RTES session",
    "tool_calls": "tool call of a session",
    "spans": "accepted span of OpenTelemetry",
    "edges": "edge of the lineage graph",
}
"""The documented views, each after those that it reads: what a row is about."""
MACROS: Mapping[str, str] = {
    "ancestors": "The nodes that a node descends from, by the shortest distance; itself at 0.",
    "descendants": "The nodes that descend from a node, by the shortest distance; itself at 0.",
    "states_at": "The last state of each packet, ASAP task, Summit run and SAOP task that a fact"
    " bearing a time not later than `ts` gave it. SAP has none: its facts do not name states.",
    "effectiveness": "The effectiveness of each APC protocol, from facts alone: what"
    " `GET /v1/lineage/summary` says of it.",
}
COLUMNS: Mapping[str, str] = {
    "position": "topic/partition/offset of the judged record",
    "key": "record key of the fact",
    "decided_at": "the time that the fact bears: the append time of the judged record",
    "written_at": "when the fact was written",
    "latency_s": "`written_at` minus `decided_at`",
    "fault": "sender, service or infrastructure; null when accepted",
    "principal": "who was authenticated, if tokens are used",
    "counted": "whether lineage counts it: not rejected, expired or retracted",
    "state": "after the last fact about it in the export",
    "taken": "`payload.accepted`",
    "task_outcome_nano": "mean outcome of the evaluations of its task, in units of 10⁻⁹",
    "task_drift_nano": "mean drift risk of the evaluations of its task, in units of 10⁻⁹",
    "kind": "capability, skill or profile of a task; invoke or tool of a run",
    "duration_s": "from creation, or start of a call, to the end",
    "cost_usd": "exact decimal",
    "used": "of a run with children: by its whole tree; null where it is unknown",
    "exceeded": "null where `used` is unknown",
    "hits": "verdicts that gave this version to a task",
    "failed_calls": "completed otherwise than with success",
    "first_at": "of the first event, or of the first record of the edge",
    "cause": "of the first record of the edge",
}
"""What columns mean, where the name does not say it."""
_FOR_MACROS = ("states", "counted_transfers", "counted_evaluations")


class Block(NamedTuple):
    """A part of a view, or a macro.

    name: of the view; of a macro with its parameters.  sources: topics, or views above.
    """

    name: str
    sources: frozenset[str]
    select: str


def table_name(topic: str) -> str:
    """Return the name that a topic has in SQL."""
    return topic.replace(".", "_").replace("-", "_")


@cache
def blocks() -> tuple[Block, ...]:
    """Return the blocks of all protocols, then those of this package."""
    packages = [f"streams.protocols.{spec.name}" for spec in SPECS]
    parsed: list[Block] = []
    for package in [*packages, "streams.analytics"]:
        file = resources.files(package).joinpath(_FILE)
        if file.is_file():
            parsed += _parse(file.read_text("utf-8"))
    return tuple(parsed)


def _parse(text: str) -> Iterator[Block]:
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        sources = frozenset(each.strip() for each in head[2].split(","))
        yield Block(head[1], sources, text[head.end() : end].strip().rstrip(";"))


def definitions(topics: Iterable[str]) -> Iterator[str]:
    """Yield the statements that create the views and macros over these exported topics."""
    known = set(topics)
    yield resources.files("streams.analytics").joinpath(_FUNCTIONS).read_text("utf-8")
    for name in (*VIEWS, *_FOR_MACROS):
        parts = [each for each in blocks() if each.name == name and each.sources <= known]
        if parts:
            selects = "\nUNION ALL BY NAME\n".join(f"({each.select})" for each in parts)
            yield f"CREATE VIEW {name} AS {selects}"
            known.add(name)
    for each in macros():
        if each.sources <= known:
            yield f"CREATE MACRO {each.name} AS TABLE {each.select}"


def macros() -> list[Block]:
    return [each for each in blocks() if "(" in each.name]
