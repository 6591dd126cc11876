from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import decode
from streams.engine.kafka_clients import PRODUCER
from streams.engine.processor import ProcessorContext, Timer, TooLarge
from streams.engine.rows import store_key
from streams.engine.trace_context import delivery_traceparent
from streams.engine.work import Context, StepContext, timer_key, timer_of
from tests.toy import COUNTS, FACTS, INPUT, OPEN, RECORD, ToyProcessor
from topology import topics
from topology.core import TIMERS
from topology.declarations import TopicKind

TRACE = f"00-{'a' * 32}-{'b' * 16}-01".encode()
text = st.text(st.characters(blacklist_categories=["Cs"]), max_size=8)
timers = st.tuples(st.integers(0, 10**14), text, text)


def work() -> StepContext:
    context = Context(3, 8, "p.", {})
    return StepContext(ToyProcessor().declaration, context, lambda keys: [None] * len(keys))


@given(timers, timers)
def test_timer_keys_order_by_due_time(one: tuple[int, str, str], two: tuple[int, str, str]) -> None:
    first, second = (timer_key("toy", *timer).encode() for timer in (one, two))
    if one[0] != two[0]:
        assert (first < second) == (one[0] < two[0])
    assert (first == second) == (one == two)


@given(text.filter(bool), timers)
def test_a_timer_key_tells_the_timer(processor: str, timer: tuple[int, str, str]) -> None:
    due, kind, key = timer
    row_key = timer_key(processor, due, kind, key)
    assert timer_of(row_key, {"x": "y"}) == (processor, Timer(due, kind, key, {"x": "y"}))


def test_everything_goes_to_its_place() -> None:
    step = work()
    step.cause = "p.toy.in/3/0"
    step.send(FACTS, "k", {"data": {"a": "1"}}, id="i", at=0, cause="p.toy.in/3/0")
    step.rows(COUNTS).put("k", {"data": {"n": "1"}})
    step.rows(OPEN).delete("k")
    step.set_timer(Timer(5, "toy.wait", "k", {}))
    effects = step.encode()
    assert [(o.topic, o.key, o.partition) for o in effects.outputs] == [
        ("p.toy.facts", b"k", 3),
        ("p.toy.rows", b"k", 3),
        ("p.headrace.changelog", b"toy-open\0k", 3),
        ("p.headrace.changelog", b"timers\0" + timer_key("toy", 5, "toy.wait", "k").encode(), 3),
    ]
    assert effects.rows[store_key("toy-open", "k")] is None
    stored = effects.rows[store_key("toy.rows", "k")]
    assert decode(stored, RECORD).value == {"data": {"n": "1"}}
    assert all(dict(o.headers)["headrace-cause"] == b"p.toy.in/3/0" for o in effects.outputs)


@pytest.mark.parametrize("is_on", [False, True])
def test_only_deliveries_get_a_parent_of_their_own_and_only_while_tracing_is_on(
    is_on: bool,
) -> None:
    toy = ToyProcessor().declaration
    inbox = replace(FACTS, name="toy.inbox", kind=TopicKind.INBOX)
    declaration = replace(toy, outputs=(*toy.outputs, inbox))
    context = Context(3, 8, "p.", {}, traces_deliveries=is_on)
    step = StepContext(declaration, context, lambda keys: [None] * len(keys))
    for topic in (FACTS, inbox):
        value = {"data": {"a": "1"}}
        step.send(topic, "k", value, id="i", at=0, cause="p.toy.in/3/0", traceparent=TRACE)
        step.send(topic, "k", value, id="i", at=0, cause="p.toy.in/3/0")
    sent = [dict(output.headers).get("traceparent") for output in step.encode().outputs]
    delivered = [
        delivery_traceparent(parent, "p.toy.inbox", "i", "p.toy.in/3/0") for parent in (TRACE, None)
    ]
    assert sent == [TRACE, None, *(delivered if is_on else [TRACE, None])]


def test_a_part_counts_as_a_whole_or_not_at_all() -> None:
    step = work()
    step.cause = "before"
    step.rows(COUNTS).put("k", {"data": {"n": "1"}})

    def part(ctx: ProcessorContext) -> None:
        ctx.cause = "p.toy.in/3/1"
        row = ctx.rows(COUNTS).get("k")
        assert row == {"data": {"n": "1"}}
        row["data"]["n"] = "2"
        ctx.rows(COUNTS).put("k", row)
        ctx.set_timer(Timer(5, "toy.wait", "k", {}))
        ctx.send(FACTS, "k", {"data": {}}, id="i", at=0, cause=ctx.cause)

    def wide(ctx: ProcessorContext) -> None:
        part(ctx)
        value = {"data": {"a": "x" * FACTS.max_bytes}}
        ctx.send(FACTS, "k", value, id="j", at=0, cause=ctx.cause)

    assert isinstance(step.savepoint(wide), TooLarge)
    assert step.rows(COUNTS).get("k") == {"data": {"n": "1"}}
    assert step.cause == "before"
    assert step.savepoint(part) is None
    step.rows(OPEN).delete("k")
    outputs = step.encode().outputs
    assert len(outputs) == 4
    assert all(dict(o.headers)["headrace-cause"] == b"p.toy.in/3/1" for o in outputs)


def test_headers_of_the_processors_own_come_after_the_engines() -> None:
    step = work()
    value, more = {"data": {"a": "1"}}, [("headrace-own", b"x")]
    step.send(FACTS, "k", value, id="i", at=0, cause="p.toy.in/3/0", headers=more)
    (output,) = step.encode().outputs
    assert output.headers[0] == ("headrace-cause", b"p.toy.in/3/0")
    assert output.headers[-1] == ("headrace-own", b"x")
    step = work()
    wide = [("headrace-own", b"x" * FACTS.max_bytes)]
    step.send(FACTS, "k", value, id="i", at=0, cause="p.toy.in/3/0", headers=wide)
    with pytest.raises(TooLarge):
        step.encode()


def test_a_timer_set_and_deleted_in_one_step_is_a_tombstone() -> None:
    step = work()
    step.set_timer(Timer(5, "toy.wait", "k", {}))
    step.delete_timer(5, "toy.wait", "k")
    key = store_key(TIMERS.name, timer_key("toy", 5, "toy.wait", "k"))
    assert step.encode().rows == {key: None}


def test_a_topic_that_is_not_declared_is_refused() -> None:
    step = work()
    step.send(INPUT, "k", {"data": {}}, id="i", at=0, cause="c")
    with pytest.raises(KeyError, match=r"toy\.in"):
        step.encode()


@pytest.mark.parametrize(
    ("key", "text", "ok"), [(1, 62_000, True), (1, 63_900, False), (40_000, 1, False)]
)
def test_what_exceeds_the_topics_limit_raises(key: int, text: int, ok: bool) -> None:
    step = work()
    step.send(FACTS, "k" * key, {"data": {"t": "x" * text}}, id="i", at=0, cause="c")
    if ok:
        (output,) = step.encode().outputs
        assert dict(output.headers)["ce_id"] == b"i"
        return
    with pytest.raises(TooLarge) as caught:
        step.encode()
    assert caught.value.topic == FACTS
    assert caught.value.size > FACTS.max_bytes


def test_no_producer_batch_exceeds_the_limit_of_a_topic() -> None:
    """The broker's limit is on batches, and the client does not split what is refused."""
    batch = PRODUCER["batch.size"]
    assert isinstance(batch, int)
    assert batch <= min(t.max_bytes for t in topics.ALL)
