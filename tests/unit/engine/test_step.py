"""What of a topic reaches the decide step."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from schemas import encode
from schemas.codec import MAX_SENT_ITEMS
from schemas.encoder import varint
from streams.engine.processor import Message, ProcessorContext, Timer
from streams.engine.records import LogRecord
from streams.engine.step import Step
from streams.engine.work import Context
from streams.errors import InternalUnreadable
from tests.toy import RECORD, ToyProcessor
from topology.declarations import Topic, TopicKind

LATEST = Topic("toy.in", TopicKind.COMMAND, RECORD, "id", "the latest counts", keeps_latest=True)
ALL = Topic("toy.in", TopicKind.COMMAND, RECORD, "id", "each counts")
BOTH = Topic("toy.in", TopicKind.COMMAND, RECORD, "id", "each counts", withdraws=True)


class Listener(ToyProcessor):
    """Keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Message] = []

    def decide(self, batch: Sequence[Message], ctx: ProcessorContext) -> None:
        self.given += batch

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        raise AssertionError("no timer is set")


@pytest.mark.parametrize(("topic", "count"), [(LATEST, 2), (ALL, 1), (BOTH, 2)])
def test_a_null_value_is_a_withdrawal_where_the_topic_takes_it(topic: Topic, count: int) -> None:
    values = [encode(RECORD, {"data": {"id": "a"}}), None, b"no record"]
    records = [LogRecord("toy.in", 0, i, 7, b"a", value) for i, value in enumerate(values)]
    listener = Listener()
    step = Step(listener, Context(0, 1, "", {}), lambda keys: [None for _ in keys])
    assert step.records([(topic, record) for record in records]) == []
    assert [m.record.value for m in listener.given] == values[:count]
    assert [m.value for m in listener.given] == [{"data": {"id": "a"}}, {}][:count]
    assert step.undecodable == 3 - count
    dead = [out.headers for out in step.effects.outputs if out.topic == "toy.in.dlq"]
    assert len(dead) == 3 - count


def test_a_record_of_more_items_than_clients_may_send_is_a_dead_letter() -> None:
    frame, count = encode(RECORD, {"data": {}})[:5], MAX_SENT_ITEMS + 1
    value = frame + varint(count) + bytes(2 * count) + b"\0"
    step = Step(Listener(), Context(0, 1, "", {}), lambda keys: [None for _ in keys])
    assert step.records([(ALL, LogRecord("toy.in", 0, 7, 0, b"a", value))]) == []
    assert [out.topic for out in step.effects.outputs] == ["toy.in.dlq"]


@pytest.mark.parametrize("again", [True, False])
def test_what_cannot_be_read_between_processors_stops_the_task_or_is_asked_for_again(
    again: bool, caplog: pytest.LogCaptureFixture
) -> None:
    between = Topic("toy.in", TopicKind.INTERNAL, RECORD, "id", "questions", retried=again)
    step = Step(Listener(), Context(0, 1, "", {}), lambda keys: [None for _ in keys])
    records = [(between, LogRecord("toy.in", 0, 7, 0, b"a", b"no record"))]
    if again:
        assert step.records(records) == []
        assert step.undecodable == 1
        assert [out.topic for out in step.effects.outputs] == ["toy.in.dlq"]
        assert "toy.in/0/7" in caplog.text
    else:
        with pytest.raises(InternalUnreadable, match=r"toy\.in/0/7"):
            step.records(records)
