"""Whatever lookups come in whatever order, the processor does what the model does."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import sap, to_json
from streams.protocols.sap.cache import SapCacheProcessor
from tests.examples import example_count
from tests.unit.protocols.sap.cache.histories import BY_ID, LOOKUPS, OPS, SETTINGS, Op, do
from tests.unit.protocols.sap.cache.model import Ask, Model, Told
from tests.unit.protocols.sap.cache.support import NINE, Cache, task_id
from topology.sap import SAP_VERDICTS

RECORD = "headrace.sap.SapCacheRecord"


def _told(verdict: dict[str, Any]) -> Told:
    until = verdict["waitUntil"]
    return Told(
        BY_ID[verdict["taskId"]],
        verdict["verdict"],
        verdict["leader"],
        verdict["version"],
        None if until is None else until - NINE,
    )


def _expect(model: Model, op: Op, at: int) -> list[Told]:
    if op.kind == "read":
        deadline = None if op.deadline_in is None else max(0, at + op.deadline_in)
        return model.read(Ask(op.task, op.mode, op.max_age, deadline, op.strict), at)
    if op.kind == "store":
        return model.store(op.task, op.strict, at)
    return model.release(op.task, at) if op.kind == "release" else []


def _check(cache: Cache, model: Model) -> None:
    """Rows, timers and the chain are what the model says."""
    head = cache.head or {"version": 0, "flight": None, "waiters": []}
    leader = head["flight"] and BY_ID[head["flight"]["leaderTaskId"]]
    assert leader == model.leader
    assert [BY_ID[waiter] for waiter in cache.waiting()] == [ask.task for ask in model.queue]
    assert [BY_ID[w["taskId"]] for w in head["waiters"]] == [ask.task for ask in model.queue]
    assert len(cache.timers) == len(model.queue) + (leader is not None)
    previous = "0" * 64
    for number, row in enumerate(cache.versions(), 1):
        assert (row["version"], row["previousSha256"]) == (number, previous)
        previous = row["recordSha256"]
        assert sap.record_sha256(to_json(RECORD, row)) == previous
    assert head["version"] == len(model.stored) == len(cache.versions())


@settings(max_examples=example_count(150), deadline=None)
@given(st.lists(OPS, max_size=40))
def test_any_history(ops: list[Op]) -> None:
    cache, model, at = Cache(**SETTINGS), Model(), 0
    for op in ops:
        at += op.after
        # A record of the very time of a timer is decided before it fires.
        assert [_told(v) for v in cache.until(at - 1)] == model.tick(at - 1)
        rows_before = [row["recordSha256"] for row in cache.versions()]
        lookups_before = len(cache.of(SAP_VERDICTS))
        assert [_told(v) for v in do(cache, op, at)] == _expect(model, op, at)
        if op.kind != "tick":
            first = cache.of(SAP_VERDICTS)[lookups_before]
            assert first.value["taskId"] == task_id(op.task)
        assert [row["recordSha256"] for row in cache.versions()][: len(rows_before)] == rows_before
        _check(cache, model)
    assert [_told(v) for v in cache.until(at + 10**6)] == model.tick(at + 10**6)
    assert (cache.waiting(), cache.timers) == ([], {})


@settings(max_examples=example_count(60), deadline=None)
@given(LOOKUPS, st.data())
def test_batches_and_restarts_change_nothing(ops: list[Op], data: st.DataObject) -> None:
    """One by one, with a new processor each time, or in batches: the same records."""
    single, batched = Cache(**SETTINGS), Cache(**SETTINGS)
    pending: list[Any] = []
    at = 0
    for op in ops:
        at += min(op.after, 100)
        single.processor = SapCacheProcessor()
        before = len(single.inputs)
        do(single, op, at)
        pending += single.inputs[before:]
        if data.draw(st.booleans()):
            batched.decide(*pending)
            pending = []
    if pending:
        batched.decide(*pending)
    assert batched.sent == single.sent
    assert batched.tables == single.tables
    assert batched.timers == single.timers
