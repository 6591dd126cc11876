"""One line for each record of ASAP's topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.api.lines import Line, LineOf, count_of, one_line, parts, short, verdict_line
from topology import asap as topics

Json = Mapping[str, Any]

_URN = "urn:asap:agent:"


def _agent(urn: str | None) -> str:
    return "-" if urn is None else short(urn.removeprefix(_URN))


def _parties(value: Json) -> str:
    return f"{_agent(value['sender'])} → {_agent(value['recipient'])}"


def _envelope(value: Json) -> Line:
    payload = value["payload"]
    task_id = payload.get("task_id")
    return Line(
        who=f"{value['payload_type']} {short(value.get('id'))}",
        what=_parties(value),
        text=parts(
            payload.get("status"),
            payload.get("skill_id"),
            payload.get("tool_name"),
            payload.get("resource_uri"),
            payload.get("name"),
        ),
        reason=parts(
            f"task {short(task_id)}" if task_id else None,
            one_line(payload.get("reason") or payload.get("error")),
        ),
    )


def _inbox(value: Json) -> Line:
    line = _envelope(value)
    return Line(
        who=_agent(value["recipient"]),
        what=f"{line.who} from {_agent(value['sender'])}",
        text=line.text,
        reason=line.reason,
    )


def _event(value: Json) -> Line:
    kind, task_id = value["kind"], value["task_id"]
    subject = value["payload_type"] or kind
    who = f"{subject} {short(value['envelope_id'])}" if value["envelope_id"] else subject
    what = parts(
        f"task {short(task_id)}" if task_id else None,
        _parties(value) if value["sender"] and value["recipient"] else None,
    )
    verdict = value["verdict"] or parts("timer" if task_id else kind, value["status"])
    return verdict_line(who, what, verdict, value["rule"], value["detail"] or _states(value))


def _states(value: Json) -> str:
    """Return the states that the event's task went through."""
    steps = value["transitions"]
    if not steps:
        return ""
    first = steps[0]["from_status"]
    return " → ".join([*([first] if first else []), *(step["to_status"] for step in steps)])


def _manifest(value: Json) -> Line:
    return Line(
        who=_agent(value["id"]),
        what=value["name"],
        text=f"version {value['version']}",
        reason=count_of(len(value["capabilities"].get("skills") or ()), "skill"),
    )


def _task(value: Json) -> Line:
    return Line(
        who=f"task {short(value['task_id'])}",
        what=f"{_agent(value['requester'])} → {_agent(value['worker'])}, {value['skill_id']}",
        text=value["status"],
        reason=value["error_code"] or "",
    )


def _snapshot(value: Json) -> Line:
    restored = value["restored_from"]
    return Line(
        who=f"task {short(value['task_id'])}",
        text=f"version {value['version']}{', checkpoint' if value['checkpoint'] else ''}",
        reason=f"restored from version {restored}" if restored is not None else "",
    )


LINES: Mapping[str, LineOf] = {
    topics.ASAP_ENVELOPES.name: _envelope,
    topics.ASAP_MANIFESTS.name: _manifest,
    topics.ASAP_EVENTS.name: _event,
    topics.ASAP_INBOX.name: _inbox,
    topics.ASAP_TASKS.name: _task,
    topics.ASAP_SNAPSHOTS.name: _snapshot,
}
