"""Reading what lies before a client's place while the log grows."""

from __future__ import annotations

from typing import Any

import pytest

from streams.errors import BrokerUnavailable
from streams.gateway.live_tail.catch_up import CatchUp
from streams.gateway.live_tail.hub import NEAR
from streams.log.filters import Filters
from streams.log.tail_positions import OffsetPosition
from tests.unit.gateway.sse.harness import Bench, connect, run
from topology.saop import RTES_EVENTS

PAGES = 10


def test_partitions_that_grow_do_not_keep_others_waiting() -> None:
    """What is beyond the target of one would else fill each poll."""
    bench = Bench(2)
    quick, slow = (next(s for s in "abcdef" if bench.number(s) == number) for number in (0, 1))
    bench.send(quick, 10)
    bench.send(slow, 10)
    target = {tp.partition: end for tp, end in bench.log.ends(bench.tps).items()}
    bench.send(quick, 2000)
    begin = {0: 0, 1: 0}
    catch_up = CatchUp(bench.log, RTES_EVENTS.name, Filters(), OffsetPosition(begin), begin)
    frames = [frame for _ in range(PAGES) for frame in catch_up.page(target)]
    catch_up.close()
    assert catch_up.distance(target) == 0
    assert len(frames) == 20


def test_a_later_target_is_reached_with_the_same_reader() -> None:
    bench = Bench(2)
    sessions = [next(s for s in "abcdef" if bench.number(s) == number) for number in (0, 1)]
    begin = {0: 0, 1: 0}
    catch_up = CatchUp(bench.log, RTES_EVENTS.name, Filters(), OffsetPosition(begin), begin)
    count = 0
    for session in [*sessions, *sessions]:
        bench.send(session, 5)
        target = {tp.partition: end for tp, end in bench.log.ends(bench.tps).items()}
        count += sum(len(catch_up.page(target)) for _ in range(PAGES))
        assert catch_up.distance(target) == 0
    catch_up.close()
    assert count == 20


@pytest.mark.parametrize("error", [BrokerUnavailable("away"), ValueError("odd")], ids=str)
def test_a_client_ends_when_what_lies_before_cannot_be_read(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not left with nothing but heartbeats: it comes again, and is told then."""
    bench = Bench()
    bench.send("a", NEAR + 100)

    def page(self: CatchUp, target: dict[int, int]) -> Any:
        raise error

    async def scenario() -> None:
        async with bench.hub(max_recent=0) as hub:
            monkeypatch.setattr(CatchUp, "page", page)
            client = await connect(hub, start="earliest")
            while await client.frame() is not None:
                pass
            await client.close()

    run(scenario())
