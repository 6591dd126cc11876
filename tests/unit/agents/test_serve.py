"""Where the example agent begins to read."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from streams.agents import EchoAgent, serve
from streams.client import TailRecord
from streams.log.cursors import EARLIEST, CursorAhead, CursorExpired, CursorInvalid
from streams.settings import Settings
from tests.unit.protocols.sap.queries.stage import task


@pytest.mark.parametrize(
    "refusal", [CursorInvalid("not one"), CursorAhead("too far"), CursorExpired("gone", "0:7")]
)
def test_a_cursor_of_no_use_means_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Exception
) -> None:
    starts = []

    class Inbox:
        def __init__(self, settings: Settings) -> None: ...

        async def __aenter__(self) -> Inbox:
            return self

        async def __aexit__(self, *exc: object) -> None: ...

        def tail(self, topic: str, start: str) -> Any:
            starts.append(start)
            raise refusal if start != EARLIEST else asyncio.CancelledError

    monkeypatch.setattr(sys.modules[serve.__module__], "Client", Inbox)
    place = tmp_path / "a.cursor"
    place.write_text("0:x")
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(serve(EchoAgent("A-ml-001"), Settings.load(), place))
    assert starts == ["0:x", EARLIEST]


def test_results_belong_to_the_trace_of_their_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[str, str | None]] = []

    class Inbox:
        def __init__(self, settings: Settings | None = None) -> None:
            self._left = [TailRecord(task(), "sap.inbox", 0, 0, 0, "0:1", "00-a-trace")]

        async def __aenter__(self) -> Inbox:
            return self

        async def __aexit__(self, *exc: object) -> None: ...

        def tail(self, topic: str, start: str) -> Inbox:
            return self

        def __aiter__(self) -> Inbox:
            return self

        async def __anext__(self) -> TailRecord:
            if not self._left:
                raise asyncio.CancelledError
            return self._left.pop()

        async def take_ready(self) -> list[TailRecord]:
            return []

        async def send(self, topic: str, values: Any, *, traceparent: str, attempts: int) -> None:
            sent.append((topic, traceparent))

    monkeypatch.setattr(sys.modules[serve.__module__], "Client", Inbox)
    clerk = EchoAgent("A-ml-001", (task()["target"]["capability"],))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(serve(clerk, Settings(), tmp_path / "a.cursor"))
    assert sent == [("sap.results", "00-a-trace")]
