"""A short story keeps to the machines of its protocols; a step that they do not have is found."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.asap_envelopes import envelope
from tests.e2e.outputs import Json
from tests.e2e.recorded import Recorded
from tests.history import paths
from tests.history.anomalies import Anomaly, render_violations
from tests.history.spoiling import Spoiled, changed
from tests.unit.envelopes import transition
from tests.unit.protocols.saop.queries.stage import turn
from tests.unit.sdk.local_bus.support import START_MS, id_of, result, task
from topology.asap import ASAP_ENVELOPES, ASAP_EVENTS
from topology.core import RTES_RAW
from topology.declarations import Topic
from topology.saop import RTES_EVENTS, SAOP_REWIND_LOG, SAOP_REWINDS, SAOP_TURNS, SAOP_VERDICTS
from topology.sap import SAP_OUTCOMES, SAP_RESULTS, SAP_TASKS

AT = "2026-01-01T00:00:00Z"
COMMIT = "5c0ffee"
HOUR_MS = 3_600_000
PARTIES = "urn:asap:agent:asks", "urn:asap:agent:answers"


class Told(Recorded):
    """A task of SAP that an agent works on, and one that the cache answers; a session with a task
    that is turned back, two calls, one of them told the wrong way round, and a thought; three
    turns, of which one comes early; and a call of ASAP.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, START_MS)
        self._ids = 0
        self.tell(SAP_TASKS, task(1, mode="prefer"))
        self.tell(SAP_RESULTS, result(1, "RUNNING"))
        self.tell(SAP_RESULTS, result(1, output={"n": 1}))
        self.tell(SAP_TASKS, task(2, mode="prefer"))
        self._observe("THOUGHT_STREAM", **_thought("look ", final=False))
        self._observe("THOUGHT_STREAM", **_thought("at it", final=True))
        self._observe("TOOL_LIFECYCLE_INVOKED", call_id="c1", tool="bash", arguments={})
        for call in ("c1", "c2"):
            outcome = {"status": "success", "duration_ms": 2}
            self._observe("TOOL_LIFECYCLE_COMPLETED", call_id=call, tool="bash", **outcome)
        self._observe("TOOL_LIFECYCLE_INVOKED", call_id="c2", tool="bash", arguments={})
        self._moves("t1", "PENDING", "IN_PROGRESS")
        self._moves("t1", "IN_PROGRESS", "COMPLETED", git_hash=COMMIT)
        self._moves("t2", "thinking", "done")
        for number, phase in ((1, "apply"), (2, "prepare"), (2, "abort")):
            target = {} if phase == "abort" else {"task_id": "t1"}
            self.tell(SAOP_REWINDS, _rewind(phase, number) | target)
        for index in (0, 2, 1):
            self.tell(SAOP_TURNS, turn("t1", index))
        tool_call: Json = {
            "request_id": "c3",
            "tool_name": "find",
            "arguments": {},
            "mcp_context": None,
        }
        self.tell(ASAP_ENVELOPES, envelope("e1", "McpToolCall", tool_call, *PARTIES))
        answer = {"request_id": "c3", "result": {}, "success": True, "error": None}
        self.tell(
            ASAP_ENVELOPES,
            envelope("e2", "McpToolResult", answer, *PARTIES[::-1], correlation_id="e1"),
        )
        late = tool_call | {"request_id": "c5"}
        self.tell(ASAP_ENVELOPES, envelope("e3", "McpToolCall", late, *PARTIES))
        self.pass_(HOUR_MS)
        self.host.close()

    def tell(self, topic: Topic, value: Json) -> None:
        """One record, and all that comes of it."""
        self.log.append([self.record(topic, value)])
        self.host.run()

    def _observe(self, kind: str, **payload: Any) -> None:
        self._ids += 1
        event = transition(self._ids)
        stamp = {} if kind == "THOUGHT_STREAM" else {"timestamp": AT}
        self.tell(RTES_RAW, event | {"payload": {"type": kind, **payload, **stamp}})

    def _moves(self, task_id: str, source: str, target: str, **more: Any) -> None:
        transition = {"task_id": task_id, "from_state": source, "to_state": target, **more}
        self._observe("TASK_TRANSITION", **transition)


def _thought(chunk: str, *, final: bool) -> Json:
    return {"agent_id": "researcher", "turn_index": 0, "chunk": chunk, "is_final": final}


def _rewind(phase: str, number: int) -> Json:
    return {
        "rewind_id": id_of(number),
        "session_id": "s1",
        "phase": phase,
        "requested_by": "kim",
    }


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return Told(tmp_path_factory.mktemp("told"))


def test_the_story_takes_the_steps_that_it_is_told_for(recording: Told) -> None:
    assert list(paths.check(recording)) == []
    moves = [
        (move.machine and move.machine.name, move.event, move.end)
        for topic, moves_of in paths.MOVES.items()
        for _, fact in paths.facts(recording, topic)
        for move in moves_of(fact)
    ]
    assert {
        ("sap-task", "RUNNING", "RUNNING"),
        ("sap-task", "SUCCEEDED", "SUCCEEDED"),
        ("sap-task", "cache_hit", "SUCCEEDED"),
        ("sap-task", None, "QUEUED"),
        ("rtes-thought", "chunk", "open"),
        ("rtes-thought", "final_chunk", "closed"),
        ("rtes-call", "invoked", "open"),
        ("rtes-call", "completed", "closed"),
        ("rtes-call", "completed", "unpaired"),
        ("rtes-call", "invoked", "closed"),
        ("devs", "COMPLETED", "COMPLETED"),
        ("devs", "back to IN_PROGRESS", "IN_PROGRESS"),
        (None, None, "DONE"),
        ("saop-turn", "due", "LOGGED"),
        ("saop-turn", "ahead", "HELD"),
        ("asap-call", "call", "open"),
        ("asap-call", "answer", "answered"),
        ("asap-call", "time_out", "timed_out"),
        ("saop-rewind", "apply", "applied"),
        ("saop-rewind", "prepare", "prepared"),
        ("saop-rewind", "abort", "aborted"),
    } <= set(moves)


def _end_of_first(outcome: Json) -> bool:
    return bool(outcome["taskId"] == id_of(1) and outcome["status"] == "SUCCEEDED")


def _hit_at_work(outcome: Json) -> None:
    meta = json.loads(outcome["meta_json"])
    meta["headrace"]["rule"] = "cache_hit"
    outcome["meta_json"] = json.dumps(meta)


def _said(record: str, **members: Any) -> Callable[[Json], bool]:
    """An event with such a payload."""

    def matches(event: Json) -> bool:
        name, payload = event["payload"]
        return bool(
            name == f"headrace.rtes.{record}"
            and all(payload[member] == value for member, value in members.items())
        )

    return matches


def _payload(**members: Any) -> Callable[[Json], None]:
    return lambda event: event["payload"][1].update(members)


def _member(**members: Any) -> Callable[[Json], None]:
    return lambda fact: fact.update(members)


_TURNED_BACK = _said("TaskTransition", from_state="COMPLETED")
FAULTS: Sequence[tuple[str, Topic, Callable[[Json], bool], Callable[[Json], None]]] = (
    ("a hit for a task that an agent works on", SAP_OUTCOMES, _end_of_first, _hit_at_work),
    (
        "RTES hears of a step that SAP does not have",
        RTES_EVENTS,
        _said("TaskTransition", task_id=id_of(1), to_state="SUCCEEDED"),
        _payload(to_state="QUEUED"),
    ),
    ("a way back without a rewind", RTES_EVENTS, _TURNED_BACK, _member(rule="edge")),
    ("a rewind to another state", RTES_EVENTS, _TURNED_BACK, _payload(to_state="FAILED")),
    (
        "a thought goes on behind its end",
        RTES_EVENTS,
        _said("ThoughtStream", is_final=False),
        _payload(is_final=True),
    ),
    (
        "a call ends that nobody began",
        RTES_EVENTS,
        _said("ToolCompleted", call_id="c2"),
        _member(flags=[]),
    ),
    (
        "a call begins twice",
        RTES_EVENTS,
        _said("ToolInvoked", call_id="c2"),
        _payload(call_id="c1"),
    ),
    (
        "a turn is accepted twice",
        SAOP_VERDICTS,
        lambda verdict: bool(verdict["turn_index"] == 1),
        _member(turn_index=2),
    ),
    (
        "a turn that is logged is held",
        SAOP_VERDICTS,
        lambda verdict: bool(verdict["rule"] == "turn_held"),
        _member(turn_index=0),
    ),
    (
        "a call is answered and its time runs out",
        ASAP_EVENTS,
        lambda fact: bool(fact["rule"] == "call_timeout"),
        _member(call_key="e1"),
    ),
    (
        "a call is answered that nobody made",
        ASAP_EVENTS,
        lambda fact: bool(fact["rule"] == "call_answered"),
        _member(call_key="c4"),
    ),
    (
        "an aborted rewind is applied",
        SAOP_REWIND_LOG,
        lambda fact: bool(fact["phase"] == "abort"),
        _member(state="applied"),
    ),
)
"""What is done, to which topic, and the first fact that it is done to."""


@pytest.mark.parametrize(
    ("topic", "event_matches", "spoil"),
    [fault[1:] for fault in FAULTS],
    ids=[fault[0] for fault in FAULTS],
)
def test_a_step_that_no_machine_has_is_found(
    recording: Told,
    topic: Topic,
    event_matches: Callable[[Json], bool],
    spoil: Callable[[Json], None],
) -> None:
    violations = list(paths.check(Spoiled(recording, topic, changed(event_matches, topic, spoil))))
    assert {one.anomaly for one in violations} == {Anomaly.ILLEGAL_STEP}, render_violations(
        violations
    )
