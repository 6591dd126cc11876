"""One line for each record of the topics of SAOP and RTES."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.api.lines import Line, LineOf, Sign, count_of, one_line, parts, short, verdict_line
from streams.protocols.saop.rtes.event_lines import (
    recorded_line,
    rejection_line,
    sent_line,
    turn_name,
)
from topology import saop as topics
from topology.core import RTES_RAW

Json = Mapping[str, Any]


def _turn(value: Json) -> Line:
    content, metadata = value["content"], value["metadata"]
    thought, action = one_line(content["thought"]), one_line(content["action"])
    return Line(
        who=turn_name(metadata["task_id"], value["turn_index"]),
        what=f"{value['agent_id']}, confidence {metadata['confidence']:g}",
        sign=Sign.THOUGHT,
        text=thought or action,
        reason=f"action: {action}" if thought and action else "",
    )


def _logged(value: Json) -> Line:
    line, gap = _turn(value["turn"]), value["gap"]
    if gap is None:
        return line
    missing = f"turns {gap['missing_from']} to {gap['missing_to']} are missing"
    return Line(
        who=line.who, what=line.what, sign=line.sign, text=line.text, rule="gap", reason=missing
    )


def _verdict(value: Json) -> Line:
    errors = value["errors"]
    who = turn_name(value["task_id"], value["turn_index"])
    reason = errors[0]["message"] if errors else None
    if value["disposition"] == "held":
        reason = "waits for earlier turns"
    return verdict_line(who, value["agent_id"] or "", value["verdict"], value["rule"], reason)


def _escalation(value: Json) -> Line:
    confidences, failures, run = value["confidences"], value["failures"], value["run_length"]
    measured = parts(
        f"confidence {confidences[0]:g} → {confidences[-1]:g}" if confidences else None,
        count_of(failures, "failure") if failures is not None else None,
        f"{count_of(run, 'equal observation')} in a row" if run is not None else None,
    )
    return Line(
        who=turn_name(value["task_id"], value["turn_index"]),
        what=value["agent_id"] or "",
        text=value["outcome"],
        rule=", ".join(value["rules"]),
        reason=measured,
    )


def _task(value: Json) -> Line:
    before = value["previous_state"]
    return Line(
        who=short(value["task_id"]),
        what=f"session {short(value['session_id'])}",
        text=value["state"],
        reason=parts(
            f"after {before}" if before else None,
            count_of(value["transitions"], "transition"),
            count_of(value["failures"], "failure") if value["failures"] else None,
        ),
    )


def _rewind(value: Json) -> Line:
    return Line(
        who=f"rewind {short(value['rewind_id'])}",
        what=parts(f"session {short(value['session_id'])}", f"by {value['requested_by']}"),
        text=value["phase"],
        reason=parts(value.get("git_hash"), one_line(value.get("reason"))),
    )


def _rewind_logged(value: Json) -> Line:
    who = f"rewind {short(value['rewind_id'])} {value['phase']}"
    what = parts(f"session {short(value['session_id'])}", f"by {value['requested_by']}")
    tasks = count_of(len(value["moved"]), "task") + " moved" if value["moved"] else None
    reason = parts(f"the rewind is {value['state']}", tasks)
    return verdict_line(who, what, value["verdict"], value["rule"], reason)


def _control(value: Json) -> Line:
    return Line(
        who=f"{value['action']} task {short(value['task_id'])}",
        what=parts(f"session {short(value['session_id'])}", f"by {value['requested_by']}"),
        text=value["action"],
        reason=one_line(value.get("reason")),
    )


def _control_logged(value: Json) -> Line:
    who = f"{value['action']} task {short(value['task_id'])}"
    what = parts(f"session {short(value['session_id'])}", f"by {value['requested_by']}")
    states = None if value["to_state"] is None else f"{value['from_state']} → {value['to_state']}"
    return verdict_line(who, what, value["verdict"], value["rule"], states)


LINES: Mapping[str, LineOf] = {
    RTES_RAW.name: sent_line,
    topics.RTES_EVENTS.name: recorded_line,
    topics.RTES_REJECTIONS.name: rejection_line,
    topics.SAOP_TASKS.name: _task,
    topics.SAOP_TURNS.name: _turn,
    topics.SAOP_VERDICTS.name: _verdict,
    topics.SAOP_LOG.name: _logged,
    topics.SAOP_ESCALATIONS.name: _escalation,
    topics.SAOP_REWINDS.name: _rewind,
    topics.SAOP_REWIND_LOG.name: _rewind_logged,
    topics.SAOP_CONTROLS.name: _control,
    topics.SAOP_CONTROL_LOG.name: _control_logged,
}
