"""Tests of the sender: order, repetition, suspension, ends, and what a crash leaves."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from streams.doors.push.courier import Pace
from streams.doors.push.subscriptions import State
from tests.unit.doors.push.receivers import Received, receiving
from tests.unit.doors.push.support import (
    Clock,
    Counts,
    NumberedDoor,
    bodies,
    new_log,
    new_service,
    run,
    serving,
    subscription,
    until,
    wait_for_entry,
)

HOUR_MS = 3_600_000


def ok(received: Received) -> tuple[int, bytes]:
    return 204, b""


def test_events_are_posted_in_order_and_the_next_gateway_goes_on() -> None:
    async def work() -> None:
        clock, counts = Clock(), Counts()
        log, door = new_log(clock), NumberedDoor(last=3)
        async with receiving(ok) as receiver:
            async with serving(new_service(log, clock, counts), door) as service:
                await service.store.put(subscription(service, receiver.url()))
                await receiver.wait_for(3)
                door.last = 5
                await receiver.wait_for(5)
                entry = await wait_for_entry(service, lambda each: each.cursor == "5")
                assert entry.delivery is not None
                assert (entry.state, entry.delivery.attempts) == (State.ACTIVE, 0)
                assert entry.delivery.last_delivery_at == clock.now
            assert counts.attempts == {("mcp", "delivered"): 5}
            door.last = 6
            async with serving(new_service(log, clock), door):
                await receiver.wait_for(6)
            assert bodies(receiver.requests) == ["1", "2", "3", "4", "5", "6"]
            assert door.began_at == [0, 5]

    run(work)


@pytest.mark.parametrize("status", [301, 400, 404, 500, 503])
def test_a_failed_event_is_posted_again_before_the_next(status: int) -> None:
    async def work() -> None:
        clock, counts = Clock(), Counts()
        log, door = new_log(clock), NumberedDoor(last=2)
        async with receiving(lambda received: (status, b"")) as receiver:
            receiver.location = receiver.url("/elsewhere")
            async with serving(new_service(log, clock, counts), door) as service:
                await service.store.put(subscription(service, receiver.url()))
                await receiver.wait_for(3)
                entry = await wait_for_entry(
                    service, lambda each: each.delivery is not None and each.delivery.attempts >= 3
                )
                assert entry.delivery is not None
                assert entry.delivery.last_error == f"http_{status}"
                assert entry.delivery.failing_since == clock.now
                assert entry.cursor == "0"
                receiver.answer = ok
                await wait_for_entry(service, lambda each: each.cursor == "2")
            assert set(bodies(receiver.requests)[:-1]) == {"1"}
            assert bodies(receiver.requests)[-1] == "2"
            assert {each.path for each in receiver.requests} == {"/hook"}
            assert counts.attempts["mcp", "failed"] >= 3
            assert counts.attempts["mcp", "delivered"] == 2

    run(work)


def test_a_slow_receiver_delays_itself_alone() -> None:
    async def work() -> None:
        clock = Clock()
        log, door = new_log(clock), NumberedDoor(last=4)
        async with receiving(lambda received: None) as slow, receiving(ok) as quick:
            async with serving(new_service(log, clock, answer_s=5), door) as service:
                await service.store.put(subscription(service, slow.url(), id="sub_slow"))
                await slow.wait_for(1)
                await service.store.put(subscription(service, quick.url()))
                await quick.wait_for(4)
            assert bodies(slow.requests) == ["1"]

    run(work)


def test_what_is_too_large_is_given_up() -> None:
    async def work() -> None:
        clock, counts = Clock(), Counts()
        log, door = new_log(clock), NumberedDoor(last=2)

        def answer(received: Received) -> tuple[int, bytes]:
            return (413, b"") if received.body == b"1" else (200, b"")

        async with receiving(answer) as receiver:
            async with serving(new_service(log, clock, counts), door) as service:
                await service.store.put(subscription(service, receiver.url()))
                await wait_for_entry(service, lambda each: each.cursor == "2")
            assert bodies(receiver.requests) == ["1", "2"]
            assert counts.attempts == {("mcp", "too_large"): 1, ("mcp", "delivered"): 1}

    run(work)


def test_a_receiver_that_is_gone_ends_it() -> None:
    async def work() -> None:
        clock = Clock()
        log, door = new_log(clock), NumberedDoor(last=2)
        async with receiving(lambda received: (410, b"")) as receiver:
            async with serving(new_service(log, clock), door) as service:
                await service.store.put(subscription(service, receiver.url()))
                entry = await wait_for_entry(service, lambda each: each.state is State.ENDED)
                assert entry.delivery is not None
                assert (entry.delivery.reason, entry.cursor) == ("gone", "0")
                clock.now += 24 * HOUR_MS
                await wait_for_entry(service, lambda each: each.subscription is None)
            assert len(receiver.requests) == 1

    run(work)


def test_what_fails_for_a_day_is_suspended_until_it_is_asked_for_again() -> None:
    async def work() -> None:
        clock, counts = Clock(), Counts()
        log, door = new_log(clock), NumberedDoor(last=2)
        async with (
            receiving(lambda received: (500, b"")) as receiver,
            serving(new_service(log, clock, counts), door) as service,
        ):
            first = subscription(service, receiver.url())
            await service.store.put(first)
            await receiver.wait_for(2)
            clock.now += 24 * HOUR_MS
            entry = await wait_for_entry(service, lambda each: each.state is State.SUSPENDED)
            assert entry.delivery is not None
            assert (entry.delivery.reason, entry.cursor) == ("failing", "0")
            count = len(receiver.requests)
            await until(lambda: counts.figures.subscriptions.get(("mcp", "suspended")), bool)
            assert len(receiver.requests) == count
            receiver.answer = ok
            clock.now += 1
            await service.store.put(first._replace(granted_at=clock.now))
            await wait_for_entry(service, lambda each: each.cursor == "2")

    run(work)


def test_a_refresh_tries_again_at_once_with_both_secrets() -> None:
    async def work() -> None:
        clock = Clock()
        log, door = new_log(clock), NumberedDoor(last=1)
        async with receiving(lambda received: (500, b"")) as receiver:
            pace = Pace(first=3600, longest=3600)
            async with serving(new_service(log, clock, pace=pace), door) as service:
                first = subscription(service, receiver.url())
                await service.store.put(first)
                await receiver.wait_for(1)
                await wait_for_entry(service, lambda each: each.delivery is not None)
                receiver.answer = ok
                again = first._replace(
                    secret=service.sealer.seal(b"s2", "sub_1"),
                    previous_secret=first.secret,
                    previous_until=clock.now + 600_000,
                    granted_at=clock.now + 1,
                )
                await service.store.put(again)
                await receiver.wait_for(2)
                await wait_for_entry(service, lambda each: each.cursor == "1")
                clock.now += 600_000
                door.last = 2
                await receiver.wait_for(3)
            secrets = [each.headers["x-secrets"] for each in receiver.requests]
            assert secrets == ["s1", "s2,s1", "s2"]

    run(work)


def test_what_is_not_refreshed_ends() -> None:
    async def work() -> None:
        clock = Clock()
        log, door = new_log(clock), NumberedDoor(last=1)
        async with receiving(ok) as receiver:
            async with serving(new_service(log, clock), door) as service:
                first = subscription(service, receiver.url(), refresh_before=clock.now + 1000)
                await service.store.put(first)
                await receiver.wait_for(1)
                clock.now += 1000
                door.last = 2
                entry = await wait_for_entry(service, lambda each: each.state is State.ENDED)
                assert entry.delivery is not None
                assert entry.delivery.reason == "expired"
                anew = first._replace(revision=2, since_cursor="7", refresh_before=None)
                door.last = 8
                await service.store.put(anew)
                await wait_for_entry(service, lambda each: each.cursor == "8")
            assert bodies(receiver.requests)[-1] == "8"

    run(work)


def test_a_principal_without_a_token_is_told_once() -> None:
    async def work() -> None:
        clock = Clock()
        log, door = new_log(clock), NumberedDoor(last=1)
        async with receiving(ok) as receiver:
            async with serving(new_service(log, clock), door) as service:
                await service.store.put(subscription(service, receiver.url()))
                await receiver.wait_for(1)
                receiver.answer = lambda received: (500, b"")
                door.principals.clear()
                clock.now += 60_000
                entry = await wait_for_entry(service, lambda each: each.state is State.ENDED)
                assert entry.delivery is not None
                assert entry.delivery.reason == "terminated"
            assert bodies(receiver.requests) == ["1", "farewell"]

    run(work)


def test_a_subscription_that_is_removed_gets_no_more() -> None:
    async def work() -> None:
        clock = Clock()
        log, door = new_log(clock), NumberedDoor(last=1)
        async with receiving(ok) as receiver:
            async with serving(new_service(log, clock), door) as service:
                await service.store.put(subscription(service, receiver.url()))
                await wait_for_entry(service, lambda each: each.cursor == "1")
                await service.store.remove("sub_1")
                await service.store.put(subscription(service, receiver.url(), id="sub_2"))
                await receiver.wait_for(2)
                door.last = 2
                await wait_for_entry(service, lambda each: each.cursor == "2", "sub_2")
            assert bodies(receiver.requests) == ["1", "1", "2"]

    run(work)


def test_a_door_that_has_no_more_ends_it_and_one_that_fails_is_tried_again() -> None:
    async def work() -> None:
        clock = Clock()
        log, door = new_log(clock), NumberedDoor(last=1)
        door.fault = ValueError("a fault of the door")
        async with receiving(ok) as receiver:
            async with serving(new_service(log, clock), door) as service:
                await service.store.put(subscription(service, receiver.url()))
                await until(lambda: len(door.began_at), lambda count: count > 1)
                door.fault, door.ends = None, True
                entry = await wait_for_entry(service, lambda each: each.state is State.ENDED)
                assert entry.delivery is not None
                assert (entry.delivery.reason, entry.cursor) == ("done", "1")
            assert bodies(receiver.requests) == ["1"]

    run(work)


def test_a_secret_of_another_key_is_a_failure_and_nothing_is_posted() -> None:
    async def work() -> None:
        clock = Clock()
        log, door = new_log(clock), NumberedDoor(last=1)
        async with receiving(ok) as receiver:
            async with serving(new_service(log, clock), door) as service:
                await service.store.put(subscription(service, receiver.url())._replace(secret=b"x"))
                entry = await wait_for_entry(service, lambda each: each.delivery is not None)
                assert entry.delivery is not None
                assert entry.delivery.last_error == "secret_unreadable"
            assert receiver.requests == []

    run(work)


def test_the_figures_show_states_and_how_long_an_event_waits() -> None:
    async def work() -> None:
        clock, counts = Clock(), Counts()
        log, door = new_log(clock), NumberedDoor(last=1)
        async with (
            receiving(lambda received: (500, b"")) as receiver,
            serving(new_service(log, clock, counts), door) as service,
        ):
            await service.store.put(subscription(service, receiver.url()))
            await receiver.wait_for(1)
            await until(lambda: counts.figures.lag_s.get("mcp"), bool)
            assert counts.figures.subscriptions["mcp", "active"] == 1
            assert counts.figures.lag_s == {"mcp": clock.now / 1000}

    run(work)


def test_pauses_double_up_to_five_minutes() -> None:
    pace = Pace()
    for attempts, seconds in ((0, 1), (1, 2), (5, 32), (8, 256), (9, 300), (1000, 300)):
        assert 0.8 * seconds <= pace.pause_s(attempts) <= 1.2 * seconds


def test_two_gateways_never_leave_an_event_out() -> None:
    """Stop and start gateways over and over: events come in order, perhaps some twice."""

    async def work() -> None:
        clock = Clock()
        log, door = new_log(clock), NumberedDoor(last=0)
        async with receiving(ok) as receiver:
            for number in range(1, 6):
                async with serving(new_service(log, clock), door) as service:
                    if number == 1:
                        await service.store.put(subscription(service, receiver.url()))
                    door.last = number * 3
                    await receiver.wait_for(number * 3 - 1)
                    await asyncio.sleep(0)
            async with serving(new_service(log, clock), door) as service:
                await wait_for_entry(service, lambda each: each.cursor == "15")
        numbers = [int(each) for each in bodies(receiver.requests)]
        assert sorted(set(numbers)) == list(range(1, 16))
        assert all(later - earlier in (0, 1) for earlier, later in pairwise(numbers))

    run(work)
