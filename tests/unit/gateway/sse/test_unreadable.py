"""A record on `rtes.events` that nobody can read keeps no client from those behind it."""

from __future__ import annotations

import pytest

from streams.engine.records import Output
from streams.log.filters import Filters
from tests.unit.gateway.sse.harness import Bench, connect, places, run
from topology.saop import RTES_EVENTS


@pytest.mark.parametrize("value", [b"no record", b"\x00\x7f\xff\xff\xff\x01", b"", None])
@pytest.mark.parametrize("start", ["latest", "earliest"])
def test_a_session_is_followed_over_it(value: bytes | None, start: str) -> None:
    bench = Bench()
    bench.send("a")
    unreadable = Output(RTES_EVENTS.name, b"a", value)

    async def scenario() -> None:
        async with bench.hub() as hub:
            client = await connect(hub, Filters({"a"}), start)
            bench.commit(unreadable)
            bench.send("a")
            read = places(await client.records(1 if start == "latest" else 2))
            assert read == [("a", 1), ("a", 2)][-len(read) :]
            await client.close()
            again = await connect(hub, Filters({"a"}), "earliest")
            assert places(await again.records(2)) == [("a", 1), ("a", 2)]
            await again.close()

    run(scenario())
