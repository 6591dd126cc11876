"""What a live view does when its copy, the log or it itself fails."""

from __future__ import annotations

import resource
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

from streams.engine.log import Log
from streams.engine.records import TopicPartition
from streams.errors import StoreFailed, ViewNotReady
from streams.protocols.apc.queries import packets as apc
from streams.view_store import end_offsets, keeper
from streams.view_store.live import LiveView
from streams.view_store.view import View
from streams.views.positions import ViewBehind
from tests.processes import wait_for
from tests.unit.envelopes import IDEA_ID, idea, packet_id
from tests.unit.views.bench import Bench
from tests.unit.views.living import Outage, live_over, rows_file, rows_of, to_position, until


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at now and then is looked at often."""
    monkeypatch.setattr(end_offsets, "LOOK_S", 0.02)
    monkeypatch.setattr(end_offsets, "CHECK_EVERY", 1)
    monkeypatch.setattr(end_offsets, "TOPICS_EVERY", 1)
    monkeypatch.setattr(keeper, "TICK_S", 0.02)
    monkeypatch.setattr(keeper, "PAUSE_S", 0.02)


@pytest.fixture
def live(bench: Bench) -> Iterator[LiveView]:
    """Ready, with one packet in files."""
    bench.send("apc.packets", idea())
    first = live_over(bench)
    first.start()
    until(first, "ready")
    first.stop()
    view = live_over(bench)
    view.start()
    until(view, "ready")
    yield view
    view.stop()


def _delete(bench: Bench) -> None:
    shutil.rmtree(bench.folder / "live")


def _delete_rows(bench: Bench) -> None:
    shutil.rmtree(bench.folder / "live" / "rows")


def _delete_one_file(bench: Bench) -> None:
    rows_file(bench.folder / "live").unlink()


def _cut_one_file(bench: Bench) -> None:
    rows_file(bench.folder / "live").write_bytes(b"")


@pytest.mark.parametrize("harm", [_delete, _delete_rows, _delete_one_file, _cut_one_file])
def test_a_damaged_copy_is_noticed_and_rebuilt(
    harm: Callable[[Bench], None], bench: Bench, live: LiveView
) -> None:
    since = live.status().since_ms
    bench.now += 1
    with live.reader() as reads:
        before = rows_of(reads)
    harm(bench)
    until(live, "rebuilding", str(bench.folder / "live" / "rows"))
    until(live, "ready")
    assert live.status().since_ms > since
    assert live.stats().rebuilds == 1
    with live.reader() as reads:
        assert rows_of(reads) == before
    assert (bench.folder / "live" / "rows" / "CURRENT").exists()


def test_nobody_is_answered_while_it_is_rebuilt(
    bench: Bench, live: LiveView, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = _Held(monkeypatch)
    _delete(bench)
    until(live, "rebuilding")
    with pytest.raises(ViewNotReady, match="rebuilding"), live.reader():
        pass
    (position,) = bench.send("apc.packets", idea(2))
    with pytest.raises(ViewNotReady):
        live.wait(to_position(position), 0.05)
    gate.clear()
    live.wait(to_position(position), 20)
    with live.reader() as reads:
        assert apc.packet(reads, "s1", packet_id(2))["state"] == "ROUTED"


def test_how_long_it_is_behind(
    bench: Bench, live: LiveView, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (live.status().lag, live.status().behind_ms) == (0, 0)
    gate = _Held(monkeypatch)
    assert gate.met.wait(20)
    before = bench.now
    bench.send("apc.packets", idea(2))
    wait_for(lambda: live.status().lag > 0, "the lag is seen")
    sent = bench.now
    for _ in range(3 * end_offsets.MOST_ENDS):
        bench.now += 100
        wait_for(lambda: _polled_at(live) == bench.now, "the ends are read again")
    assert bench.now - sent <= live.status().behind_ms <= bench.now - before
    gate.clear()
    wait_for(lambda: live.status().lag == 0, "it has caught up")
    assert live.status().behind_ms == 0


def _polled_at(live: LiveView) -> int:
    latest = live._watch.latest
    return 0 if latest is None else latest.at_ms


class _Held:
    """No view reads on until it is cleared.  met: one was to read on, and reads no more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.met, self._over, step = threading.Event(), threading.Event(), View.step

        def slow(view: View, timeout_s: float) -> int:
            if self._over.is_set():
                return step(view, timeout_s)
            self.met.set()
            return 0

        monkeypatch.setattr(View, "step", slow)

    def clear(self) -> None:
        self._over.set()


def _recreate(bench: Bench) -> None:
    bench.log.delete("rtes.rejections")
    bench.create()


def _truncate(bench: Bench) -> None:
    for partition in range(2):
        bench.log.slots(TopicPartition("apc.events", partition)).clear()


@pytest.mark.parametrize(
    ("change", "why"), [(_recreate, "not those of the copy"), (_truncate, "apc.events")]
)
def test_a_log_that_does_not_continue_the_copy_is_read_anew(
    change: Callable[[Bench], None], why: str, bench: Bench, live: LiveView
) -> None:
    change(bench)
    until(live, "rebuilding", why)
    until(live, "ready")
    with View(bench.log, bench.folder / "anew", clock=lambda: bench.now) as other:
        other.catch_up(0)
        with live.reader() as reads:
            assert rows_of(reads) == rows_of(other)


def test_topics_that_were_away_are_looked_at_as_soon_as_they_are_back(
    bench: Bench, live: LiveView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(end_offsets, "TOPICS_EVERY", 1_000_000)
    gate = _Held(monkeypatch)  # Kafka's reader just waits for a topic that is away
    assert gate.met.wait(60)
    wait_for(lambda: live._watch.latest is not None, "the topics were looked at before")
    bench.log.delete("rtes.rejections")
    wait_for(lambda: "rtes.rejections" in (live.status().reason or ""), "it is missed")
    bench.create()
    wait_for(lambda: live.stats().rebuilds == 1, "the copy is begun anew")
    gate.clear()
    until(live, "ready")


def test_a_log_without_the_topics_is_waited_for(bench: Bench) -> None:
    bench.log.delete("saop.tasks")
    view = live_over(bench)
    view.start()
    until(view, "starting", "saop.tasks")
    bench.create()
    until(view, "ready")
    view.stop()


def test_without_a_broker_reads_are_served_and_it_goes_on_later(bench: Bench) -> None:
    outage = Outage(bench)
    view = LiveView(cast(Log, outage), bench.folder / "live", bench.settings, lambda: bench.now)
    view.start()
    until(view, "ready")
    (before,) = bench.send("apc.packets", idea())
    view.wait(to_position(before), 20)
    outage.away.set()
    until(view, "ready", "nobody answers")
    (position,) = bench.send("apc.packets", idea(2))
    with view.reader() as reads:
        assert apc.packet(reads, "s1", IDEA_ID)["state"] == "ROUTED"
    with pytest.raises(ViewBehind):
        view.wait(to_position(position), 0.05)
    outage.away.clear()
    view.wait(to_position(position), 20)
    with view.reader() as reads:
        assert apc.packet(reads, "s1", packet_id(2))["state"] == "ROUTED"
    wait_for(lambda: view.status().reason is None, "no trouble", 20)
    assert view.stats().rebuilds == 1
    view.stop()


@pytest.mark.parametrize(
    "where", ["streams.view_store.apply.WriteBatch", "streams.view_store.end_offsets.Ends"]
)
def test_it_never_dies_in_silence(
    where: str,
    bench: Bench,
    live: LiveView,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(where, _broken)
    (position,) = bench.send("apc.packets", idea(2))
    until(live, "failed", "a defect")
    with pytest.raises(ViewNotReady, match="a defect"):
        live.wait(to_position(position), 20)
    with pytest.raises(ViewNotReady, match="a defect"), live.reader():
        pass
    assert "a defect" in caplog.text
    live.stop()


def _broken(*_: Any) -> None:
    raise RuntimeError("a defect")


def test_rows_that_a_reader_cannot_read_make_it_rebuild(bench: Bench, live: LiveView) -> None:
    with pytest.raises(ViewNotReady, match="rebuilt"), live.reader():
        raise StoreFailed("a bad block")
    until(live, "ready")
    wait_for(lambda: live.stats().rebuilds == 1, "rebuilt", 20)
    until(live, "ready")


@contextmanager
def _no_files() -> Iterator[None]:
    """Let the process open no more files, as many idle connections would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_view_recovers_from_a_lack_of_files(live: LiveView) -> None:
    with live.reader() as reads:
        before = rows_of(reads)
    with _no_files():
        cast(Any, live)._keeper.report("RocksDB cannot flush")
        until(live, "rebuilding", "Too many open files")
    until(live, "ready")
    with live.reader() as reads:
        assert rows_of(reads) == before
