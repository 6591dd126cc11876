"""Tests of the store of subscriptions on the log."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streams.doors.push.subscriptions import Delivery, Entry, State, Subscription
from streams.engine.records import Output
from tests.unit.doors.push.support import Clock, new_log, new_service, run, subscription
from topology.core import PUSH_DELIVERIES, PUSH_SUBSCRIPTIONS

TIMES = st.integers(0, 10)


def test_what_one_gateway_writes_another_knows() -> None:
    async def work() -> None:
        clock = Clock()
        log = new_log(clock)
        first, second = new_service(log, clock), new_service(log, clock)
        for each in (first, second):
            each.store.start()
        stored = subscription(first, "https://example.com/", verified_at=7, refresh_before=9)
        delivery = Delivery("sub_1", 1, "4", State.ACTIVE, 3, attempts=2, last_error="timeout")
        await first.store.put(stored)
        await first.store.put_delivery(delivery)
        assert first.store.entry("sub_1") == Entry(stored, delivery)
        await second.store.catch_up()
        assert second.store.entries() == {"sub_1": Entry(stored, delivery)}
        await second.store.remove("sub_1")
        assert second.store.entries() == {}
        await first.store.catch_up()
        assert first.store.entry("sub_1") == Entry()
        for each in (first, second):
            each.store.stop()

    run(work)


def test_records_that_no_gateway_wrote_are_left_out() -> None:
    async def work() -> None:
        clock = Clock()
        log = new_log(clock)
        for topic in (PUSH_SUBSCRIPTIONS, PUSH_DELIVERIES):
            log.append([Output(topic.name, b"sub_1", b"\0junk"), Output(topic.name, None, b"")])
        service = new_service(log, clock)
        service.store.start()
        await service.store.catch_up()
        assert service.store.entries() == {}
        service.store.stop()

    run(work)


@given(
    st.integers(1, 3), st.integers(0, 3), st.sampled_from(State), TIMES, TIMES, st.none() | TIMES
)
def test_the_state_is_that_of_the_revision(
    revision: int, delivered: int, state: State, granted_at: int, at: int, before: int | None
) -> None:
    stored = Subscription(
        "s", revision, "mcp", "kim", "n", "{}", "u", b"", "since", granted_at, refresh_before=before
    )
    entry = Entry(stored, Delivery("s", delivered, "here", state, at))
    if delivered < revision:
        assert (entry.state, entry.cursor) == (State.ACTIVE, "since")
    elif granted_at > at:
        assert (entry.state, entry.cursor) == (State.ACTIVE, "here")
    else:
        assert (entry.state, entry.cursor) == (state, "here")
    assert entry.last_revision == max(revision, delivered)
    has_time = before is None or before > 5
    assert entry.is_live(5) == (has_time and entry.state is not State.ENDED)
