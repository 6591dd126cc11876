"""Who waits for a row is woken once it is written, and forgotten when it gives up."""

from __future__ import annotations

from concurrent.futures import CancelledError
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    assert not awaiting._by_key
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


def test_a_row_whose_key_begins_so_wakes_who_waits_for_any() -> None:
    awaiting, prefix = RowWaiters(), key("rewind", "s", "r")
    with awaiting.rows(prefix) as waits, awaiting.rows(key("rewind", "s")) as more:
        awaiting.written({key("rewind", "s", "q", 9): b"", key("rewind", "t"): b"", A: b""}.keys())
        assert (waits.done(), more.done()) == (False, True)
        awaiting.written({key("rewind", "s", "rr"): b"", key("rewind", "s", "r", 9): b""}.keys())
        assert waits.result(0) is None
    with awaiting.rows(prefix) as later:
        awaiting.close(ViewNotReady("it is stopped"))
        assert isinstance(later.exception(0), ViewNotReady)


@given(st.sets(st.binary(max_size=3)), st.sets(st.binary(max_size=3), max_size=5))
def test_who_waits_for_any_is_woken_by_those_that_begin_so(
    keys: set[bytes], prefixes: set[bytes]
) -> None:
    awaiting = RowWaiters()
    with ExitStack() as stack:
        waits = {each: stack.enter_context(awaiting.rows(each)) for each in prefixes}
        awaiting.written(keys)
        woken = {each for each, done in waits.items() if done.done()}
    assert woken == {each for each in prefixes if any(key.startswith(each) for key in keys)}


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
