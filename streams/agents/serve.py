"""The main loop of the example agent, from its inbox to `sap.results`, at least once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streams.agents.cursor_file import start_of, write_cursor
from streams.agents.echo_agent import EchoAgent
from streams.agents.held_records import HeldRecords
from streams.client import Client, TailRecord
from streams.log.cursors import EARLIEST, CursorAhead, CursorExpired, CursorInvalid
from streams.settings import Settings
from topology.sap import SAP_INBOX, SAP_RESULTS

ATTEMPTS = 20
MOST_HELD = 1000
"""How many tasks the agent reads ahead, to take the most urgent of them."""


async def serve(
    clerk: EchoAgent,
    settings: Settings,
    place: Path,
    *,
    on_ready: Callable[[], object] = lambda: None,
    on_answer: Callable[[str], object] = lambda task_id: None,
) -> None:
    """Answer the tasks of the inbox until cancelled: of those at hand the most urgent first.

    place: a file with the cursor up to which the inbox is answered; without a usable one, the whole
    inbox is answered. It is written after the answers are on the log, so that none is left out.
    Raises BrokerUnavailable, ProduceUnknown.
    """
    start = start_of(place)
    async with Client(settings=settings) as hr:
        while True:
            try:
                await _follow(hr, clerk, start, place, on_ready, on_answer)
            except (CursorExpired, CursorAhead, CursorInvalid):
                start = EARLIEST


async def _follow(
    hr: Client,
    clerk: EchoAgent,
    start: str,
    place: Path,
    on_ready: Callable[[], object],
    on_answer: Callable[[str], object],
) -> None:
    async with hr.tail(SAP_INBOX.name, start=start) as inbox:
        on_ready()
        buffered = HeldRecords()
        async for first in inbox:
            buffered.add([first])
            while buffered:
                if len(buffered) < MOST_HELD:
                    buffered.add(await inbox.take_ready())
                number, record = buffered.take()
                await _answer(hr, clerk, record, on_answer)
                if (cursor := buffered.finish(number)) is not None:
                    write_cursor(place, cursor)


async def _answer(
    hr: Client, clerk: EchoAgent, record: TailRecord, on_answer: Callable[[str], object]
) -> None:
    """Send the results of a record of the inbox, if its task is for this agent."""
    task = record.value
    if isinstance(task, dict) and "target" in task and clerk.takes(task):
        results = clerk.results(task, record.timestamp or 0)
        trace = record.traceparent
        await hr.send(SAP_RESULTS.name, results, traceparent=trace, attempts=ATTEMPTS)
        on_answer(task["taskId"])
