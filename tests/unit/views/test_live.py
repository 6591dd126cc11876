from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import cast

import pytest

from streams.engine.log import Log
from streams.errors import NotFound, StateLocked, ViewNotReady
from streams.protocols.apc.queries import packets as apc
from streams.view_store.live import LiveView
from streams.views.positions import ViewBehind
from tests.unit.envelopes import IDEA_ID, idea, packet_id
from tests.unit.views.bench import Bench
from tests.unit.views.living import Outage, live_over, rows_of, to_position, until


@pytest.fixture
def live(bench: Bench) -> Iterator[LiveView]:
    view = live_over(bench)
    view.start()
    yield view
    view.stop()


def test_nobody_is_answered_before_everything_was_read(bench: Bench) -> None:
    view = live_over(bench)
    assert view.status().state == "starting"
    with pytest.raises(ViewNotReady, match="starting"), view.reader():
        pass
    view.stop()


def test_what_was_written_before_the_start_is_there_when_it_is_ready(
    bench: Bench, live: LiveView
) -> None:
    bench.send("apc.packets", idea())
    until(live, "ready")
    (position,) = bench.send("apc.packets", idea(2))
    live.wait(to_position(position), 20)
    with live.reader() as reads:
        assert apc.packet(reads, "s1", IDEA_ID)["state"] == "ROUTED"
        assert apc.packet(reads, "s1", packet_id(2))["state"] == "ROUTED"


def test_a_live_view_and_a_driven_one_hold_the_same_rows(bench: Bench, live: LiveView) -> None:
    until(live, "ready")
    positions = bench.send("apc.packets", *[idea(number) for number in range(1, 30)])
    live.wait(to_position(positions[-1]), 20)
    bench.view.catch_up(0)
    with live.reader() as reads:
        assert rows_of(reads) == rows_of(bench.view)


def test_a_reader_sees_one_state_of_all_rows(bench: Bench, live: LiveView) -> None:
    until(live, "ready")
    with live.reader() as before:
        rows = rows_of(before)
        (position,) = bench.send("apc.packets", idea())
        live.wait(to_position(position), 20)
        with pytest.raises(NotFound):
            apc.packet(before, "s1", IDEA_ID)
        assert rows_of(before) == rows
        with live.reader() as now:
            assert apc.packet(now, "s1", IDEA_ID)["state"] == "ROUTED"
            assert now.get("no", "such") is None
            assert now.get_many([]) == []


def test_who_waits_is_served_once_the_answer_is_written(bench: Bench, live: LiveView) -> None:
    until(live, "ready")
    (position,) = bench.append("apc.packets", idea())
    with pytest.raises(ViewBehind) as caught:
        live.wait(to_position(position), 0)
    assert caught.value.lag == 0
    served = threading.Thread(target=live.wait, args=(to_position(position), 20))
    served.start()
    bench.host.run()
    served.join()
    with live.reader() as reads:
        assert apc.packet(reads, "s1", IDEA_ID)["state"] == "ROUTED"


def test_many_may_wait_at_once_without_threads(bench: Bench, live: LiveView) -> None:
    positions = [to_position(p) for p in bench.send("apc.packets", *map(idea, range(1, 40)))]
    far = positions[-1]._replace(offset=10**6)

    async def wait() -> list[BaseException | None]:
        waiting = [live.wait_async(position, 20) for position in positions]
        late = asyncio.create_task(live.wait_async(far, 20))
        done = await asyncio.gather(*waiting, live.wait_async(far, 0.05), return_exceptions=True)
        late.cancel()
        return done

    before = threading.active_count()
    *served, behind = asyncio.run(wait())
    assert served == [None] * len(positions)
    assert isinstance(behind, ViewBehind)
    assert threading.active_count() == before


def test_who_asks_afresh_sees_all_that_was_written_before(bench: Bench, live: LiveView) -> None:
    until(live, "ready")
    for number in range(1, 4):
        bench.send("apc.packets", idea(number))
        asyncio.run(live.wait_for_ends(20))
        with live.reader() as reads:
            assert apc.packet(reads, "s1", packet_id(number))["state"] == "ROUTED"


def test_one_request_to_the_broker_serves_all_who_ask_at_once(bench: Bench) -> None:
    outage = Outage(bench)
    view = LiveView(cast(Log, outage), bench.folder / "live", bench.settings, lambda: bench.now)
    view.start()
    until(view, "ready")

    async def wait() -> list[BaseException | None]:
        waiting = [asyncio.create_task(view.wait_for_ends(0.2)) for _ in range(20)]
        return await asyncio.gather(*waiting, return_exceptions=True)

    assert asyncio.run(wait()) == [None] * 20
    outage.away.set()
    assert all(isinstance(exc, ViewBehind) for exc in asyncio.run(wait()))
    outage.away.clear()
    asyncio.run(view.wait_for_ends(20))
    view.stop()


def test_who_waits_when_it_stops_is_refused(bench: Bench, live: LiveView) -> None:
    (position,) = bench.append("apc.packets", idea())
    until(live, "ready")
    refused: list[Exception] = []

    def wait() -> None:
        try:
            live.wait(to_position(position), 20)
        except ViewNotReady as exc:
            refused.append(exc)

    waiting = threading.Thread(target=wait)
    waiting.start()
    live.stop()
    waiting.join()
    assert len(refused) == 1
    with pytest.raises(ViewNotReady):
        live.wait(to_position(position), 20)


def test_starting_and_stopping_twice_changes_nothing(bench: Bench) -> None:
    view = live_over(bench)
    view.start()
    view.start()
    until(view, "ready")
    view.stop()
    view.stop()
    view.start()
    assert not [t for t in threading.enumerate() if t.name.startswith("view-")]


def test_a_copy_that_was_closed_goes_on(bench: Bench) -> None:
    bench.send("apc.packets", idea())
    for rebuilds in (1, 0):
        view = live_over(bench)
        view.start()
        until(view, "ready")
        with view.reader() as reads:
            assert apc.packet(reads, "s1", IDEA_ID)["state"] == "ROUTED"
        view.stop()
        assert view.stats().rebuilds == rebuilds


def test_a_directory_serves_one_process(bench: Bench, live: LiveView) -> None:
    until(live, "ready")
    with pytest.raises(StateLocked):
        live_over(bench).start()


def test_figures_are_kept(bench: Bench, live: LiveView) -> None:
    until(live, "ready")
    (position,) = bench.send("apc.packets", idea())
    live.wait(to_position(position), 20)
    live.stop()
    stats = live.stats()
    assert stats.applied == sum(
        len(bench.records(tp.topic)) for tp, _ in stats.positions if tp.partition == 0
    )
    assert stats.batches > 0
    assert stats.apply_s > 0
    assert dict(stats.positions) == bench.log.ends([tp for tp, _ in stats.positions])
