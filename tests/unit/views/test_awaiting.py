"""Who waits for a row is woken once it is written, and forgotten when it gives up."""

from __future__ import annotations

from concurrent.futures import CancelledError

import pytest

from streams.errors import ViewNotReady
from streams.view_store.row_waiters import RowWaiters
from streams.views.keys import key
from tests.unit.protocols.sap.queries.stage import task
from tests.unit.views.bench import Bench
from tests.unit.views.living import live_over, until
from topology.sap import SAP_TASKS

A, B = b"a", b"b"


def test_a_row_that_is_written_wakes_all_who_wait_for_it() -> None:
    awaiting = RowWaiters()
    with awaiting.row(A) as first, awaiting.row(A) as second, awaiting.row(B) as other:
        awaiting.written({A: None}.keys())
        assert [done.done() for done in (first, second, other)] == [True, True, False]
        assert first.result(0) is None


def test_nobody_waits_on_behind_their_back() -> None:
    awaiting = RowWaiters()
    with awaiting.row(A) as done:
        pass
    assert done.cancelled()
    assert not awaiting._waiting
    awaiting.written({A: None}.keys())
    with pytest.raises(CancelledError):
        done.result(0)


def test_who_gives_up_wakes_no_other() -> None:
    awaiting = RowWaiters()
    with awaiting.row(A) as stays:
        with awaiting.row(A) as leaves:
            leaves.cancel()
        awaiting.written({A: None}.keys())
        assert stays.result(0) is None


def test_after_the_end_nobody_waits() -> None:
    awaiting = RowWaiters()
    end = ViewNotReady("it is stopped")
    with awaiting.row(A) as before:
        awaiting.close(end)
        assert before.exception(0) is end
    with awaiting.row(A) as later:
        awaiting.written({A: None}.keys())  # by a view that still goes on
        assert later.exception(0) is end


def test_a_live_view_tells_what_it_has_written(bench: Bench) -> None:
    live, of = live_over(bench), task()
    live.start()
    try:
        until(live, "ready")
        with live.awaiting(key("sap task", of["taskId"])) as done:
            bench.send(SAP_TASKS.name, of)
            assert done.result(60) is None
        with live.reader() as reads:
            assert reads.get("sap task", of["taskId"]) is not None
    finally:
        live.stop()
