"""The worked run of ASAP guide, 5.8, and the ids of ASAP guide, 1."""

from __future__ import annotations

from schemas import asap, uuid5_url
from streams.protocols.asap.processor import admission, verdicts
from streams.protocols.asap.processor.command import Command
from streams.protocols.asap.processor.decision import DecisionContext
from tests.unit.processing.harness import StepWork
from tests.unit.protocols.asap.processor.support import (
    INDEXER,
    PLANNER,
    SERVICE,
    SNAPSHOT,
    Bench,
    Json,
)
from topology.asap import ASAP_EVENTS, ASAP_INBOX
from topology.core import LINEAGE_EDGES, RTES_RAW

T = "01M7YRRRS4RFVVVX9QRHKJ8E9C"
AT = 1_795_255_200_000
"""2026-11-21T10:00:00Z."""

REQUEST: Json = {
    "id": T,
    "asap_version": "0.1",
    "timestamp": "2026-11-21T09:59:58.500000Z",
    "sender": PLANNER,
    "recipient": INDEXER,
    "payload_type": "TaskRequest",
    "payload": {
        "conversation_id": "conv-7f",
        "parent_task_id": None,
        "skill_id": "index.build",
        "input": {"pages": 42},
        "config": {"timeout_seconds": 90},
    },
    "correlation_id": None,
    "trace_id": "tr-19",
    "extensions": None,
}


def make_envelope(id: str, kind: str, payload: Json, **more: object) -> Json:
    return {
        **REQUEST,
        "id": id,
        "sender": INDEXER,
        "recipient": PLANNER,
        "payload_type": kind,
        "payload": payload,
        "trace_id": None,
        **more,
    }


def update(id: str, status: str, page: int, **payload: object) -> Json:
    members = {"task_id": "job-5", "progress": None, "input_request": None, "status": status}
    return make_envelope(
        id,
        "TaskUpdate",
        {**members, "update_type": "status_change", **payload},
        correlation_id=T,
        extensions={SNAPSHOT: {"data": {"page": page}}},
    )


FIRST = update("u1", "working", 17, update_type="progress", progress={"percent": 40})
RUN: list[tuple[int, Json]] = [
    (0, REQUEST),
    (2250, FIRST),
    (2900, FIRST),
    (4000, update("u2", "paused", 31)),
    (5500, make_envelope("q", "StateQuery", {"task_id": T, "version": None}, recipient=SERVICE)),
    (
        9000,
        make_envelope(
            "r",
            "TaskResponse",
            {
                "task_id": "job-5",
                "status": "completed",
                "result": None,
                "final_state": {"version": 9, "data": {"page": 42}},
                "metrics": None,
            },
            correlation_id=T,
        ),
    ),
    (
        11_000,
        make_envelope(
            "c", "TaskCancel", {"task_id": T, "reason": None}, sender=PLANNER, recipient=INDEXER
        ),
    ),
]


def run() -> tuple[Bench, list[Json]]:
    bench = Bench()
    bench.now = AT
    return bench, [bench.send(value, AT + ms) for ms, value in RUN]


def test_the_run() -> None:
    bench, facts = run()
    assert [(fact["rule"], fact["sequence"]) for fact in facts] == [
        ("task_created", 1),
        ("status_changed", 2),
        ("same_envelope", None),
        ("status_changed", 3),
        ("state_read", 4),
        ("response_recorded", 5),
        ("task_already_terminal", None),
    ]
    moves = [
        [(s["from_status"], s["to_status"], s["implied"]) for s in fact["transitions"]]
        for fact in facts
    ]
    assert moves == [
        [(None, "submitted", False)],
        [("submitted", "working", False)],
        [],
        [("working", "paused", False)],
        [],
        [("paused", "working", True), ("working", "completed", False)],
        [],
    ]
    assert [fact["snapshot_version"] for fact in facts] == [None, 1, None, 2, None, 3, None]
    assert facts[2]["figures"] == {"first_sequence": 2}
    assert facts[0]["figures"] == {
        "depth": 0,
        "parent_known": None,
        "recipient_known": False,
        "manifests": 0,
        "timeout_ms": 90_000,
    }
    assert [(bench.snapshot(v, T) or {})["data"] for v in (1, 2, 3)] == [
        {"page": 17},
        {"page": 31},
        {"page": 42},
    ]
    row = bench.task(T)
    assert (row["aliases"], row["status"], row["snapshot_mark"]) == (["job-5"], "completed", 3)
    assert row["timeout_at"] == "2026-11-21T10:01:30.000Z"
    assert bench.armed() == []
    assert bench.moves() == [
        ("none", "submitted"),
        ("submitted", "working"),
        ("working", "paused"),
        ("paused", "working"),
        ("working", "completed"),
    ]


def test_the_inboxes() -> None:
    bench, _ = run()
    assert [one["id"] for one in bench.inbox(PLANNER)] == ["u1", "u2", "r"]
    request, answer = bench.inbox(INDEXER)
    assert request == REQUEST
    assert answer["extensions"][SNAPSHOT]["data"] == {"page": 31}
    assert (answer["correlation_id"], answer["payload"]["task_id"]) == ("q", T)
    assert answer["payload"]["status"] == "paused"


def test_the_request_while_its_timer_runs() -> None:
    bench = Bench()
    bench.now = AT
    bench.send(REQUEST, AT)
    assert bench.armed() == [(AT + 90_000, "task", T)]


def test_the_ids_of_the_spec() -> None:
    """The request stands at offset 1207 of partition 3, where no count of partitions puts its key:
    so it is judged without asking where it lies.
    """
    bench = Bench()
    value, cause = bench.record(REQUEST, AT).value, "asap.envelopes/3/1207"

    def judge(work: StepWork) -> None:
        ctx = DecisionContext(work, cause, AT)
        command = Command(value, T.encode(), AT, cause, None, work.settings)
        outcome = admission.handle_request(command, ctx)
        assert outcome is not None
        verdicts.publish(command, outcome, ctx)

    sent = bench._step(judge, 0)
    (fact,) = bench.of(ASAP_EVENTS, sent)
    (event,) = bench.of(RTES_RAW, sent)
    assert (fact.cause, fact.id) == ("asap.envelopes/3/1207", "01M7YRRT807KCQZZ2XJGCRN5VD")
    assert event.id == "d2547e88-d488-5de4-a5b6-6d1e63199ad8"
    assert event.id == uuid5_url("headrace:asap.envelopes/3/1207/0")
    assert asap.derived_id(fact.cause, 1, AT) == "01M7YRRT80FSPB6S13JQ2N5AF1"
    assert fact.json["envelope_hash"] == (
        "6bdf1de1c400722410fb9f7890c5ac97f7e8911cad87040d44c245bc83f2bfb6"
    )
    edges = {one.id for one in bench.of(LINEAGE_EDGES, sent)}
    assert "6e1c02e667638577d3cbbbdf7a2e4f218c8cb6cf48a9f4634a217a1f63eb8544" in edges
    assert [one.key for one in bench.of(ASAP_INBOX, sent)] == [INDEXER]
