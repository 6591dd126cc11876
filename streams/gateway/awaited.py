"""`Prefer: wait=N`: hold the answer back until what comes of an envelope is there.

Nobody is asked again and again, and no thread waits: the view wakes who waits, first for the
verdict on the record, then for a row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from streams.api import prefer
from streams.api.problems import Response
from streams.api.route import AwaitOutcome, AwaitVerdicts, Call
from streams.errors import ViewNotReady
from streams.gateway.context import Gateway
from streams.views.parse import parse_position
from streams.views.positions import ViewBehind

T = TypeVar("T")


async def judged(
    gateway: Gateway, wait: AwaitVerdicts, headers: Mapping[str, str], sent: Response
) -> Response:
    """The verdicts on all that was sent, if its sender waits for them.

    headers: of the request.  sent: what is said without waiting.
    """
    seconds = prefer.wait_s(headers, wait.most_s(gateway.settings))
    if seconds is None:
        return sent

    def look() -> Response:
        with gateway.view.reader() as reads:
            return wait.answer(reads, sent)

    try:
        async with asyncio.timeout(seconds):
            for cause in sent.body["positions"]:
                await gateway.view.wait_async(parse_position(cause), seconds)
            found = await asyncio.get_running_loop().run_in_executor(gateway.queries, look)
    except (TimeoutError, ViewBehind, ViewNotReady):
        found = sent
    return found._replace(headers={**found.headers, **prefer.applied(seconds)})


async def awaited(
    gateway: Gateway,
    wait: AwaitOutcome,
    call: Call,
    value: Any,
    headers: Mapping[str, str],
    sent: Response,
) -> Response:
    """The answer to the sender of one envelope.

    call: without a view.  headers: of the request.  sent: what is said without waiting.
    """
    seconds = prefer.wait_s(headers, wait.most_s(gateway.settings))
    if seconds is None:
        return sent
    waiting = _Waiting(gateway, wait, call, value, sent.body["positions"][0])
    try:
        async with asyncio.timeout(seconds):
            found = await waiting.answer(seconds)
    except (TimeoutError, ViewBehind, ViewNotReady):
        found = Response(202, {**sent.body, **await waiting.late()})
    return found._replace(headers={**found.headers, **prefer.applied(seconds)})


class _Waiting:
    """cause: the position of the envelope."""

    def __init__(
        self, gateway: Gateway, wait: AwaitOutcome, call: Call, value: Any, cause: str
    ) -> None:
        self._gateway, self._wait, self._call, self._value = gateway, wait, call, value
        self._cause = cause

    async def answer(self, seconds: float) -> Response:
        """Once it is there, with all that was written beside it."""
        view, position = self._gateway.view, parse_position(self._cause)
        with view.awaiting(self._wait.row(self._value)) as written:
            await view.wait_async(position, seconds)
            found = await self._in_thread(self._look)
            if found is not None:
                return found
            await asyncio.wrap_future(written)
        return await self.answer(seconds)

    def _look(self) -> Response | None:
        with self._gateway.view.reader() as reads:
            return self._wait.answer(replace(self._call, view=reads), self._value, self._cause)

    async def late(self) -> Mapping[str, Any]:
        """What is known so far."""
        try:
            return await self._in_thread(self._known)
        except ViewNotReady:
            return self._wait.late(None, self._value)

    def _known(self) -> Mapping[str, Any]:
        with self._gateway.view.reader() as reads:
            return self._wait.late(reads, self._value)

    async def _in_thread(self, look: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._gateway.queries, look)
