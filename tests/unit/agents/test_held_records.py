"""What an agent holds of its inbox: taken by priority, its cursor behind what is finished."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.agents import EchoAgent, serve
from streams.agents.held_records import HeldRecords
from streams.client import TailRecord
from streams.settings import Settings
from tests.unit.protocols.sap.queries.stage import task

PRIORITIES = (None, "low", "normal", "high", "urgent")
ORDER = ("urgent", "high", "normal", "low")
priorities = st.lists(st.sampled_from(PRIORITIES), min_size=1, max_size=12)


def record(number: int, priority: str | None) -> TailRecord:
    telemetry = {} if priority is None else {"priority": priority}
    value = {**task(), "taskId": f"00000000-0000-4000-8000-{number:012}", "telemetry": telemetry}
    return TailRecord(value, "sap.inbox", 0, number, 0, f"0:{number + 1}")


def expected_order(listed: list[str | None]) -> list[int]:
    ranks = [ORDER.index(priority or "normal") for priority in listed]
    return sorted(range(len(listed)), key=lambda number: (ranks[number], number))


@given(priorities)
def test_they_are_taken_by_priority_then_in_log_order(listed: list[str | None]) -> None:
    records = HeldRecords()
    records.add(record(number, priority) for number, priority in enumerate(listed))
    assert [records.take()[0] for _ in listed] == expected_order(listed)
    assert not records


@given(st.permutations(range(8)), st.integers(0, 8))
def test_the_cursor_is_behind_no_record_that_is_unfinished(order: list[int], count: int) -> None:
    records = HeldRecords()
    records.add(record(number, None) for number in range(8))
    cursor = None
    for number in order[:count]:
        cursor = records.finish(number) or cursor
    finished = set(order[:count])
    first_open = next(number for number in range(9) if number not in finished)
    assert cursor == (f"0:{first_open}" if first_open else None)


def test_the_agent_takes_an_urgent_task_that_came_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = [None, "low", "normal", "urgent", "high"]
    records = [record(number, priority) for number, priority in enumerate(listed)]
    arrivals = [records[1:3], records[3:], [], [], []]
    sent: list[int] = []
    cursors: list[str] = []
    place = tmp_path / "a.cursor"

    class Inbox:
        def __init__(self, settings: Settings | None = None) -> None:
            self._first = records[:1]

        async def __aenter__(self) -> Inbox:
            return self

        async def __aexit__(self, *exc: object) -> None: ...

        def tail(self, topic: str, start: str) -> Inbox:
            return self

        def __aiter__(self) -> Inbox:
            return self

        async def __anext__(self) -> TailRecord:
            if not self._first:
                raise asyncio.CancelledError
            return self._first.pop()

        async def take_ready(self) -> list[TailRecord]:
            return arrivals.pop(0)

        async def send(self, topic: str, values: Any, *, traceparent: str, attempts: int) -> None:
            cursors.append(place.read_text() if place.exists() else "")
            sent.append(int(values[0]["taskId"][-12:]))

    monkeypatch.setattr(sys.modules[serve.__module__], "Client", Inbox)
    agent = EchoAgent("A-ml-001", (task()["target"]["capability"],))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(serve(agent, Settings(), place))
    assert sent == [0, 3, 4, 2, 1]
    assert cursors == ["", "0:1", "0:1", "0:1", "0:1"]
    assert place.read_text() == "0:5"
