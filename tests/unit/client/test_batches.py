"""Sends that share their way."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from streams.api.route import MAX_VALUES
from streams.client.batches import MOST_BYTES, Batches, Outcome
from streams.client.transport import ProduceRequest
from streams.client.values import parcel_of
from streams.errors import ProduceUnknown, UsageError
from tests.unit.client.loops import Run


class Way:
    """Deliveries that were asked for; each takes until `go` is set."""

    def __init__(self) -> None:
        self.batches: list[list[ProduceRequest]] = []
        self.go = asyncio.Event()

    async def deliver(self, parcels: Sequence[ProduceRequest]) -> list[Outcome]:
        self.batches.append(list(parcels))
        await self.go.wait()
        return [[text.decode() for text in parcel.texts] for parcel in parcels]


def parcel(*values: object) -> ProduceRequest:
    return parcel_of("apc.packets", values, True, None)


def sizes(way: Way) -> list[int]:
    return [len(batch) for batch in way.batches]


def test_a_thousand_sends_take_few_deliveries_and_keep_their_order(run: Run) -> None:
    async def test() -> None:
        way = Way()
        way.go.set()
        batches = Batches(way.deliver)
        positions = await asyncio.gather(*[batches.send(parcel(n)) for n in range(2500)])
        assert positions == [[str(n)] for n in range(2500)]
        assert sizes(way) == [MAX_VALUES, MAX_VALUES, 500]
        order = [one.values[0] for batch in way.batches for one in batch]
        assert order == list(range(2500))

    run(test())


def test_what_comes_meanwhile_leaves_together(run: Run) -> None:
    async def test() -> None:
        way = Way()
        batches = Batches(way.deliver)
        sends = [asyncio.create_task(batches.send(parcel(n))) for n in range(3)]
        await asyncio.sleep(0)
        sends += [asyncio.create_task(batches.send(parcel(n))) for n in range(2)]
        await asyncio.sleep(0)
        way.go.set()
        await asyncio.gather(*sends)
        assert sizes(way) == [3, 2]

    run(test())


@pytest.mark.parametrize("one", [["x" * MOST_BYTES], [1] * MAX_VALUES])
def test_a_large_parcel_goes_alone(run: Run, one: list[object]) -> None:
    async def test() -> None:
        way = Way()
        way.go.set()
        batches = Batches(way.deliver)
        parcels = [parcel(1), parcel(*one), parcel(2), parcel(3)]
        await asyncio.gather(*[batches.send(each) for each in parcels])
        assert sizes(way) == [1, 1, 2]

    run(test())


def test_each_send_gets_its_own_outcome(run: Run) -> None:
    async def deliver(parcels: Sequence[ProduceRequest]) -> list[Outcome]:
        return [["p"], ProduceUnknown("no answer"), ["q", "r"]]

    async def test() -> None:
        batches = Batches(deliver)
        sends = [batches.send(parcel(n)) for n in range(3)]
        first, second, third = await asyncio.gather(*sends, return_exceptions=True)
        assert (first, third) == (["p"], ["q", "r"])
        assert isinstance(second, ProduceUnknown)

    run(test())


def test_a_delivery_that_fails_fails_its_sends_alone(run: Run) -> None:
    async def deliver(parcels: Sequence[ProduceRequest]) -> list[Outcome]:
        if parcels[0].values[0] == 1:
            raise UsageError("no such thing")
        return [["p"] for _ in parcels]

    async def test() -> None:
        batches = Batches(deliver)
        with pytest.raises(UsageError):
            await batches.send(parcel(1))
        assert await batches.send(parcel(2)) == ["p"]

    run(test())


def test_a_send_that_is_cancelled_in_time_is_not_delivered(run: Run) -> None:
    async def test() -> None:
        way = Way()
        batches = Batches(way.deliver)
        first = asyncio.create_task(batches.send(parcel(1)))
        await asyncio.sleep(0)
        second, third = (asyncio.create_task(batches.send(parcel(n))) for n in (2, 3))
        await asyncio.sleep(0)
        first.cancel()
        second.cancel()
        way.go.set()
        assert await third == ["3"]
        await batches.close()
        assert [one.values[0] for batch in way.batches for one in batch] == [1, 3]

    run(test())


def test_closing_waits_for_what_is_on_its_way(run: Run) -> None:
    async def test() -> None:
        way = Way()
        batches = Batches(way.deliver)
        send = asyncio.create_task(batches.send(parcel(1)))
        await asyncio.sleep(0)
        closing = asyncio.create_task(batches.close())
        await asyncio.sleep(0)
        assert not closing.done()
        way.go.set()
        await closing
        assert await send == ["1"]

    run(test())
