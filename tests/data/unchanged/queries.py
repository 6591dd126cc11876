"""Queries about everything that a scenario has put on the log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

Json = dict[str, Any]

LISTS = (
    "/v1/apc/packets?limit=1000",
    "/v1/apc/throttling",
    "/v1/apc/decisions",
    "/v1/lineage/summary",
    "/v1/lineage/protocols",
    "/v1/lineage/propagation",
    "/v1/lineage/transfer-quality",
    "/v1/lineage/eval-correlation",
    "/v1/lineage/effectiveness",
    "/v1/saop/escalations",
    "/v1/saop/tasks",
    "/v1/saop/tasks?limit=1",
    "/v1/saop/sessions",
    "/v1/saop/rewinds",
    "/v1/sap/learning",
    "/v1/asap/tasks",
    "/v1/asap/tasks?limit=1",
    "/v1/asap/agents",
    "/v1/summit/agents",
    "/v1/summit/runs",
    "/v1/summit/runs?limit=1",
)
"""Asked whatever there is."""

_PACKET = "/v1/apc/sessions/{session_id}/packets/{packet_id}"
_TASK, _RUN, _AGENT = (
    "/v1/asap/tasks/{task_id}",
    "/v1/summit/runs/{runId}",
    "/v1/summit/agents/{agentId}",
)
_SESSION = "session_id={session_id}"
ABOUT: Mapping[str, tuple[str, ...]] = {
    "apc.packet-states": (
        f"{_PACKET}/explain",
        "/v1/apc/replay?run_id={run_id}",
        "/v1/lineage/summary?run_id={run_id}",
        "/v1/lineage/graph?node=apc:packet:{packet_id}",
    ),
    "apc.coordination": ("/v1/apc/sessions/{session_id}/coordination",),
    "apc.lineage": ("/v1/apc/protocols/{protocol_id}",),
    "lineage.edges": (
        "/v1/lineage/graph?node={from_node}&direction=ancestors&depth=3",
        "/v1/lineage/graph?node={to_node}&direction=descendants&limit=3",
        "/v1/lineage/graph?node={to_node}&direction=blast_radius",
    ),
    "rtes.events": (
        f"/v1/rtes/events?{_SESSION}",
        f"/v1/rtes/calls?{_SESSION}",
        f"/v1/saop/thought-audit?{_SESSION}",
    ),
    "rtes.rejections": (f"/v1/rtes/rejections?{_SESSION}",),
    "saop.tasks": ("/v1/saop/sessions/{session_id}/rewind-plan?git_hash={head_hash}",),
    "saop.verdicts": (
        "/v1/saop/turns?task_id={task_id}",
        "/v1/saop/verdicts?task_id={task_id}",
    ),
    "saop.rewind-log": ("/v1/saop/sessions/{session_id}/rewinds/{rewind_id}",),
    "asap.tasks": (
        f"{_TASK}/messages",
        f"{_TASK}/artifacts",
        f"{_TASK}/snapshots",
        "/v1/asap/conversations/{conversation_id}",
        "/v1/asap/calls/{idempotency_key}",
        "/v1/asap/agents/{worker}",
    ),
    "asap.snapshots": (f"{_TASK}/snapshots/{{version}}",),
    "asap.events": ("/v1/asap/envelopes/{envelope_id}",),
    "summit.agents": (_AGENT, f"{_AGENT}/events"),
}
"""About a record of a topic, by the members of its value."""
LOOKING_BACK: Mapping[str, tuple[str, ...]] = {
    "apc.packet-states": (_PACKET, f"{_PACKET}/events"),
    "saop.tasks": (f"/v1/saop/tasks?{_SESSION}&task_id={{task_id}}",),
    "rtes.events": (f"/v1/saop/sessions?{_SESSION}",),
    "sap.task-states": ("/v1/sap/tasks/{taskId}",),
    "sap.cache": ("/v1/sap/cache/{cacheKey}", "/v1/sap/cache/{cacheKey}/versions"),
    "asap.tasks": (_TASK, f"{_TASK}/events"),
    "summit.runs": (_RUN, f"{_RUN}/events"),
}
"""These are also asked about an earlier time."""
MOST = 6
"""Paths of one template in a scenario."""
_NAME = re.compile(r"{(\w+)}")


def paths_about(outputs: Iterable[Json]) -> list[str]:
    """The paths of queries about what was put out, and about what was then half way through."""
    records = [output for output in outputs if isinstance(output.get("value"), dict)]
    plain = [*LISTS, *_fill(ABOUT, records)]
    again = list(_fill(LOOKING_BACK, records))
    if not records:
        return plain
    middle = quote(records[len(records) // 2]["timestamp"], safe="")
    then = (f"{path}{'&' if '?' in path else '?'}as_of={middle}" for path in again)
    return [*plain, *again, *then]


def _fill(about: Mapping[str, tuple[str, ...]], records: Iterable[Json]) -> Iterator[str]:
    """The templates with the members of each record, MOST of each at the most."""
    paths: dict[str, dict[str, None]] = {}
    for record in records:
        for template in about.get(record["topic"], ()):
            ids = {name: record["value"].get(name) for name in _NAME.findall(template)}
            if None not in ids.values():
                texts = {name: quote(str(text), safe="") for name, text in ids.items()}
                paths.setdefault(template, {})[template.format_map(texts)] = None
    return (path for each in paths.values() for path in list(each)[:MOST])
