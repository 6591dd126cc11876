"""Records on their way: who waits for what, and a client that fails for good."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from streams.engine.appender import Appender, Report
from streams.engine.records import LogRecord, Output
from streams.errors import OutputTooLarge, ProduceUnknown


class Scripted:
    """A client that reports when it is told to; `broken`: it has failed for good."""

    def __init__(self) -> None:
        self.broken = False
        self.held = False
        self._due: list[tuple[Output, Report]] = []
        self._lock = threading.Lock()
        self._placed = 0

    def produce(self, output: Output, report: Report) -> bool:
        if self.broken:
            report(ProduceUnknown("fatal"))
            return False
        with self._lock:
            self._due.append((output, report))
        return True

    def poll(self, timeout_s: float) -> Any:
        with self._lock:
            due, self._due = ([], self._due) if self.held else (self._due, [])
        for output, report in due:
            self._placed += 1
            if output.value == b"large":
                report(OutputTooLarge("large"))
            else:
                report(LogRecord(output.topic, 0, self._placed, 0, output.key, output.value))
        threading.Event().wait(0.001)

    def flush(self, timeout_s: float) -> Any:
        self.held = False
        self.poll(0)

    def idle(self) -> bool:
        return not self._due


def outputs(*values: str) -> list[Output]:
    return [Output("t", b"k", value.encode()) for value in values]


def test_nobody_waits_for_the_records_of_others() -> None:
    clients = [Scripted(), Scripted()]
    turn = iter(clients)
    appender = Appender(lambda: next(turn))
    clients[0].held = True
    first = appender.submit(outputs("a", "b"))
    clients[0].broken = True
    assert isinstance(appender.submit(outputs("c")).exception(5), ProduceUnknown)
    placed = appender.submit(outputs("d")).result(60)
    assert [record.value for record in placed] == [b"d"]
    assert not first.done()
    clients[0].held = False
    assert [record.value for record in first.result(60)] == [b"a", b"b"]
    appender.close()


def test_one_record_that_is_refused_speaks_for_all() -> None:
    appender = Appender(Scripted)
    with pytest.raises(OutputTooLarge):
        appender.submit(outputs("a", "large", "b")).result(60)
    appender.close()


def test_who_does_not_wait_any_more_is_left_alone() -> None:
    client = Scripted()
    client.held = True
    appender = Appender(lambda: client)
    given_up = appender.submit(outputs("a"))
    assert given_up.cancel()
    pending = appender.submit(outputs("b"))
    client.held = False
    assert [record.value for record in pending.result(60)] == [b"b"]
    appender.close()


def test_closing_waits_for_what_is_on_its_way() -> None:
    client = Scripted()
    client.held = True
    appender = Appender(lambda: client)
    sent = appender.submit(outputs("a"))
    appender.close()
    assert sent.done()


def test_with_nothing_to_send_it_connects() -> None:
    made: list[Scripted] = []

    def make() -> Scripted:
        made.append(Scripted())
        return made[-1]

    appender = Appender(make)
    assert appender.submit(()).result(0) == []
    assert len(made) == 1
    appender.close()
