"""The wait of a request with `Prefer: wait=N` for the outcome of an envelope.

The view is not polled and no thread is blocked: the view wakes the waiters, first when it has
read the record's verdict, then when a row is written.
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


async def await_verdicts(
    gateway: Gateway, wait: AwaitVerdicts, headers: Mapping[str, str], sent: Response
) -> Response:
    """Return the verdicts on all records sent, or `sent` if the client does not wait or time is up.

    headers: headers of the request.  sent: the response without waiting.
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
            response = await asyncio.get_running_loop().run_in_executor(gateway.queries, look)
    except (TimeoutError, ViewBehind, ViewNotReady):
        response = sent
    return response._replace(headers={**response.headers, **prefer.applied_header(seconds)})


async def await_outcome(
    gateway: Gateway,
    wait: AwaitOutcome,
    call: Call,
    value: Any,
    headers: Mapping[str, str],
    sent: Response,
) -> Response:
    """Return the outcome of one envelope, or `sent` if the client does not wait.

    When time is up, the response is 202 with what is known so far.
    call: the call without a view.  headers: headers of the request.  sent: the response without
    waiting.
    """
    seconds = prefer.wait_s(headers, wait.most_s(gateway.settings))
    if seconds is None:
        return sent
    waiting = _OutcomeWait(gateway, wait, call, value, sent.body["positions"][0])
    try:
        async with asyncio.timeout(seconds):
            response = await waiting.wait(seconds)
    except (TimeoutError, ViewBehind, ViewNotReady):
        response = Response(202, {**sent.body, **await waiting.describe_pending()})
    return response._replace(headers={**response.headers, **prefer.applied_header(seconds)})


class _OutcomeWait:
    """The wait for one outcome.  cause: the position of the envelope."""

    def __init__(
        self, gateway: Gateway, wait: AwaitOutcome, call: Call, value: Any, cause: str
    ) -> None:
        self._gateway, self._wait, self._call, self._value = gateway, wait, call, value
        self._cause = cause

    async def wait(self, seconds: float) -> Response:
        """Wait until the view has the envelope's verdict, then for its row; return the response."""
        view, position = self._gateway.view, parse_position(self._cause)
        with view.awaiting(self._wait.row(self._value)) as written:
            await view.wait_async(position, seconds)
            response = await self._in_thread(self._read_response)
            if response is not None:
                return response
            await asyncio.wrap_future(written)
        return await self.wait(seconds)

    def _read_response(self) -> Response | None:
        with self._gateway.view.reader() as reads:
            return self._wait.answer(replace(self._call, view=reads), self._value, self._cause)

    async def describe_pending(self) -> Mapping[str, Any]:
        """Return the members that describe what is known so far."""
        try:
            return await self._in_thread(self._read_pending)
        except ViewNotReady:
            return self._wait.pending_members(None, self._value)

    def _read_pending(self) -> Mapping[str, Any]:
        with self._gateway.view.reader() as reads:
            return self._wait.pending_members(reads, self._value)

    async def _in_thread(self, look: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._gateway.queries, look)
