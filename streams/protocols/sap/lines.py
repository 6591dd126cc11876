"""One line for each record of SAP's topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.api.lines import Line, LineOf, count_of, one_line, parts, short, verdict_line
from topology import sap as topics

Json = Mapping[str, Any]


def _task_name(value: Json) -> str:
    return f"task {short(value.get('taskId'))}"


def _target(target: Json) -> str:
    agent = target.get("agentId")
    return f"{target['capability']} of {agent}" if agent else str(target["capability"])


def _task(value: Json) -> Line:
    telemetry = value.get("telemetry") or {}
    priority = telemetry.get("priority")
    return Line(
        who=_task_name(value),
        what=f"{value['issuer']['agentId']} → {_target(value['target'])}",
        text=f"priority {priority}" if priority else "",
        reason=f"due {telemetry['deadline']}" if telemetry.get("deadline") else "",
    )


def _inbox(value: Json) -> Line:
    target = value["target"]
    return Line(
        who=target.get("agentId") or target["capability"],
        what=f"{_task_name(value)} from {value['issuer']['agentId']}",
        text=target["capability"],
    )


def _result(value: Json) -> Line:
    evidence = value.get("constitutionalEvidence") or {}
    error = value.get("error") or {}
    code, message = error.get("code"), one_line(error.get("message"))
    service = (value.get("meta") or {}).get("headrace") or {}
    return Line(
        who=_task_name(value),
        what=f"by {value['producer']['agentId']}",
        text=parts(value["status"], evidence.get("alignment")),
        rule=service.get("rule") or "",
        reason=f"{code}: {message}" if code and message else code or message,
    )


def _signal(value: Json) -> Line:
    rating = value.get("rating")
    return Line(
        who=_task_name(value),
        what=f"by {value['operator']['agentId']}",
        text=parts(
            f"{value['kind']} {rating}" if rating is not None else value["kind"],
            value.get("decision"),
        ),
        reason=one_line(value.get("note")),
    )


def _ack(value: Json) -> Line:
    return verdict_line(
        _task_name(value),
        value["subject"].lower(),
        value["verdict"],
        value["rule"],
        value.get("reason") or parts(*value["warnings"]),
    )


def _cache_verdict(value: Json) -> Line:
    return Line(
        who=_task_name(value),
        what=f"key {short(value.get('cacheKey'))}",
        text=value["verdict"],
        reason=parts(value.get("reason"), "computes it" if value.get("leader") else None),
    )


def _task_state(value: Json) -> Line:
    return Line(
        who=_task_name(value),
        what=f"{value['issuer']['agentId']} → {_target(value['target'])}",
        text=value["state"],
        rule=value.get("lastRule") or "",
        reason=value.get("errorCode") or "",
    )


def _cache_record(value: Json) -> Line:
    return Line(
        who=f"key {short(value['cacheKey'])}",
        what=value["capability"],
        text=f"version {value['version']}, {value['alignment']}",
        reason=f"by {value['producer']} for {_task_name(value)}",
    )


def _subject(value: Json) -> str:
    """Name the tasks that were learned from: their territory and fingerprint."""
    return parts(value.get("territory"), value["fingerprint"].partition(".")[2][:8])


def _learning(value: Json) -> Line:
    ratings = value["ratings"]["count"]
    return Line(
        who=value["capability"],
        what=_subject(value),
        text=count_of(value["outcomes"], "outcome"),
        reason=parts(
            *(f"{count} {status}" for status, count in value["statusCounts"].items()),
            count_of(ratings, "rating") if ratings else None,
        ),
    )


def _heuristics(value: Json) -> Line:
    return Line(
        who=value["capability"],
        text=f"version {value['version']}",
        reason=parts(
            count_of(len(value["volatileKeys"]), "volatile key"),
            count_of(len(value["thresholds"]), "threshold"),
            count_of(len(value["extraChecks"]), "check"),
        ),
    )


def _playbook(value: Json) -> Line:
    return Line(
        who=value["capability"],
        what=_subject(value),
        text=f"{value['kind']} version {value['version']}"
        f"{', active' if value['active'] else ', inactive'}",
        reason=f"{count_of(value['samples'], 'sample')}, {value['successShare']:.0%} succeeded",
    )


LINES: Mapping[str, LineOf] = {
    topics.SAP_TASKS.name: _task,
    topics.SAP_RESULTS.name: _result,
    topics.SAP_SIGNALS.name: _signal,
    topics.SAP_ACKS.name: _ack,
    topics.SAP_OUTCOMES.name: _result,
    topics.SAP_INBOX.name: _inbox,
    topics.SAP_VERDICTS.name: _cache_verdict,
    topics.SAP_TASK_STATES.name: _task_state,
    topics.SAP_CACHE.name: _cache_record,
    topics.SAP_LEARNING.name: _learning,
    topics.SAP_HEURISTICS.name: _heuristics,
    topics.SAP_KNOWLEDGE.name: _playbook,
}
