"""Any line of commands, in any order and with any repetition, against a second opinion.

Every command gets exactly one ack; every task goes one way through the machine and ends once.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.engine.processor import Message
from tests.examples import example_count
from tests.unit.protocols.sap.processor.support import (
    START_MS,
    Bench,
    Json,
    cached,
    result,
    signal,
    task,
    uuid,
)
from topology.core import RTES_RAW
from topology.machines.sap_task import MACHINE
from topology.sap import (
    SAP_ACKS,
    SAP_INBOX,
    SAP_LEARNING_SIGNALS,
    SAP_LOOKUPS,
    SAP_OUTCOMES,
    SAP_RESULTS,
    SAP_SIGNALS,
    SAP_TASKS,
    SAP_VERDICTS,
)

pytestmark = pytest.mark.slow

IDS = st.integers(1, 2).map(uuid)
STATUSES = ("QUEUED", "RUNNING", "PARTIAL", "SUCCEEDED", "FAILED", "ESCALATED", "CANCELLED")
PRODUCERS = st.sampled_from(
    [
        {"agentId": "A-ml-001", "agentKind": "agent"},
        {"agentId": "A-ml-002", "agentKind": "agent"},
        {"agentId": "scheduler", "agentKind": "system"},
    ]
)


class Step(NamedTuple):
    """topic: None lets time pass, up to the cache's answer to the oldest open lookup."""

    what: str
    value: Any


TASKS = st.builds(
    lambda n, mode, deadline, tags: task(
        mode,
        taskId=n,
        constitutionalContext={"constraints": ["No PII"]},
        **({"telemetry": {"deadline": f"2026-01-01T00:00:{deadline:02d}Z"}} if deadline else {}),
        **({"tags": ["other"]} if tags else {}),
    ),
    IDS,
    st.sampled_from([None, "prefer", "only"]),
    st.sampled_from([0, 0, 3, 9]),
    st.sampled_from([False, False, False, True]),
)
RESULTS = st.builds(
    lambda n, status, producer, output, step: result(
        status, taskId=n, producer=producer, output=output, metrics={"step": step}
    ),
    IDS,
    st.sampled_from(STATUSES) | st.sampled_from(["RUNNING", "SUCCEEDED"]),
    PRODUCERS,
    st.sampled_from(["fine", "fine", "ana@example.org"]),
    st.integers(0, 2),
)
SIGNALS = st.builds(
    lambda n, kind, who, number: signal(
        kind, taskId=n, signalId=uuid(100 + number), operator={"agentId": who}
    ),
    IDS,
    st.sampled_from(["rating", "note", "approval", "cancel"]),
    st.sampled_from(["ana", "A-ml-001"]),
    st.integers(0, 3),
)
COMMANDS = st.one_of(
    TASKS.map(lambda value: Step("task", value)),
    RESULTS.map(lambda value: Step("result", value)),
    RESULTS.map(lambda value: Step("result", value)),
    SIGNALS.map(lambda value: Step("signal", value)),
)
STEPS = st.one_of(
    COMMANDS,
    st.sampled_from(["hit", "miss", "waiting", "wait_expired"]).map(lambda v: Step("cache", v)),
    st.sampled_from([1, 1000, 2999, 7000]).map(lambda ms: Step("time", ms)),
    st.integers(0, 30).map(lambda n: Step("again", n)),
)
TOPICS = {"task": SAP_TASKS, "result": SAP_RESULTS, "signal": SAP_SIGNALS}


class Player:
    """Plays a line; remembers what was sent, so that it can come again."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.sent: list[Step] = []
        self.messages: list[Message] = []
        self.open: list[Json] = []

    def play(self, steps: list[Step]) -> None:
        for step in steps:
            match step.what:
                case "time":
                    self.bench.advance(step.value)
                case "cache":
                    self._answer(step.value)
                case "again":
                    if self.sent:
                        self._command(self.sent[step.value % len(self.sent)])
                case _:
                    self._command(step)
                    self.sent.append(step)
        self.bench.advance(60_000)

    def _command(self, step: Step) -> None:
        message = self.bench.record(TOPICS[step.what], step.value)
        before = len(self.bench.of(SAP_ACKS))
        self._take(self.bench.decide(message))
        self.messages.append(message)
        assert len(self.bench.of(SAP_ACKS)) == before + 1

    def _take(self, sent: list[Any]) -> None:
        reads = [one for one in self.bench.of(SAP_LOOKUPS, sent) if one.value["op"] == "READ"]
        self.open += [one.value for one in reads]

    def _answer(self, name: str) -> None:
        """The cache answers what waits longest; a waiting task is answered once more."""
        if not self.open:
            return
        lookup = self.open[0]
        if name != "waiting":
            self.open.pop(0)
        record = cached(lookup) if name == "hit" else None
        value = {
            "at": self.bench.now, "verdictId": uuid(800), "lookupId": lookup["lookupId"],
            "taskId": lookup["taskId"], "cacheKey": lookup["cacheKey"], "verdict": name,
            "reason": "", "leader": name == "miss", "leaderTaskId": None, "waitUntil": None,
            "version": 1 if record else None, "ageSec": 0 if record else None, "record": record,
            "checks": None, "violations": None, "candidates": [], "constitution": "",
        }  # fmt: skip
        message = self.bench.message(value, self.bench.now, avro=True, topic=SAP_VERDICTS)
        self._take(self.bench.decide(message))


@settings(max_examples=example_count(150), deadline=None)
@given(st.lists(STEPS, max_size=40))
def test_any_line_of_commands(steps: list[Step]) -> None:
    player = Player()
    player.play(steps)
    bench = player.bench
    acks = bench.json_of(SAP_ACKS)
    positions = [f"{m.topic.name}/{m.record.partition}/{m.record.offset}" for m in player.messages]
    assert [ack["position"] for ack in acks] == positions
    assert len({ack["ackId"] for ack in acks}) == len(acks)
    paths = _paths(bench)
    for key, row in bench.rows(_states()).items():
        moves, outcomes = paths.get(key, []), _of(bench, key)
        assert moves[0] == ("none", "QUEUED")
        assert [before for before, _ in moves[1:]] == [after for _, after in moves[:-1]]
        assert moves[-1][1] == row["state"]
        assert [o["meta"]["headrace"]["seq"] for o in outcomes] == list(range(1, len(outcomes) + 1))
        assert row["outcomeSeq"] == len(outcomes)
        _is_legal(outcomes)
        closed = row["state"] in MACHINE.terminal
        learned = [s for s in bench.learned() if s["taskId"] == key and s["kind"] == "outcome"]
        assert len(learned) == [o["status"] in MACHINE.terminal for o in outcomes].count(True)
        assert len(learned) == int(closed)
        assert len([i for i in bench.inbox() if i["taskId"] == key]) == int(row["dispatched"])
        _gives_back(bench, row)
    accepted = {ack["taskId"] for ack in acks if ack["subject"] == "TASK" and ack["accepted"]}
    assert accepted == set(bench.rows(_states()))
    assert bench.timers == {}


def _states() -> Any:
    return Bench().processor.declaration.tables[0]


def _of(bench: Bench, task_id: str) -> list[Json]:
    return [one.json for one in bench.of(SAP_OUTCOMES) if one.key == task_id]


def _paths(bench: Bench) -> dict[str, list[tuple[str, str]]]:
    paths = defaultdict(list)
    for one in bench.of(RTES_RAW):
        payload = one.value["payload"][1]
        paths[payload["task_id"]].append((payload["from_state"], payload["to_state"]))
    return paths


def _is_legal(outcomes: list[Json]) -> None:
    """The outcomes of one task, one edge of the machine each."""
    state = "QUEUED"
    for outcome in outcomes:
        rule = outcome["meta"]["headrace"]["rule"]
        event = outcome["status"] if rule == "agent_status" else rule
        assert MACHINE.edges[state, event] == outcome["status"]
        state = outcome["status"]


def _gives_back(bench: Bench, row: Json) -> None:
    """A closed task holds no lead: it stored an answer, or said that it will not."""
    ops = [one["op"] for one in bench.lookups() if one["taskId"] == row["taskId"]]
    if row["state"] in MACHINE.terminal and row["flightLeader"]:
        assert ops[-1] in ("STORE", "RELEASE")


@settings(max_examples=example_count(60), deadline=None)
@given(st.lists(STEPS, max_size=25), st.data())
def test_batches_change_nothing(steps: list[Step], data: st.DataObject) -> None:
    """The same commands in one batch, and one by one: the same facts."""
    commands = [step for step in steps if step.what in TOPICS]
    one, all_at_once = Bench(), Bench()
    for step in commands:
        one.decide(one.record(TOPICS[step.what], step.value))
    messages = [all_at_once.record(TOPICS[step.what], step.value) for step in commands]
    while messages:
        count = data.draw(st.integers(1, len(messages)))
        all_at_once.decide(*messages[:count])
        messages = messages[count:]
    assert one.sent == all_at_once.sent
    assert one.stored() == all_at_once.stored()
    assert one.timers == all_at_once.timers
    assert one.now == START_MS
    for topic in (SAP_INBOX, SAP_LEARNING_SIGNALS):
        assert len(one.of(topic)) <= len(commands)
