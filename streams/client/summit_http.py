"""Calls of Summit over a gateway: it waits with us (`Prefer: wait`)."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from schemas.summit import rules
from streams.api.jsonrpc import build_request
from streams.client.answers import GatewayResponse, unsent
from streams.client.summit_transport import WAIT_S
from streams.client.values import parcel_of
from streams.errors import GatewayUnavailable, HeadraceError
from streams.summit.errors import CallRejected, RunPending, VerdictPending

Json = dict[str, Any]
RPC_PATH = "/summit"
MANIFEST_PATH = "/v1/summit/manifests"
MOST_S = 30
"""What one request waits at most; who waits longer asks again, which is safe."""


class Ask(NamedTuple):
    """A request to the gateway for a JSON-RPC call.

    wait_s: whole seconds that the gateway may delay its response.  trace: its traceparent.
    """

    method: str
    path: str
    body: bytes | None
    wait_s: int
    trace: str | None = None


Asked = Callable[[Ask], Awaitable[GatewayResponse]]
"""Raises GatewayUnavailable, ProduceUnknown."""


class HttpSummitTransport:
    """The transport that sends Summit calls over HTTP.

    paths: the routes of each topic.
    """

    wait_s = WAIT_S

    def __init__(self, ask: Asked, paths: Mapping[str, str]) -> None:
        self._ask, self._paths = ask, paths

    async def send_command(self, topic: str, key: str, value: Json | None, wait_s: float) -> Json:
        until = _Until(wait_s)
        while True:
            answer = await self._ask(self._command(topic, key, value, until.next_s()))
            if answer.status not in (200, 202):
                raise unsent(answer, parcel_of(topic, [value], False, None))
            if answer.member("verdicts"):
                event: Json = answer.member("verdicts")[0]
                return event
            if until.over() or value is None:  # a second withdrawal would be refused
                raise VerdictPending((answer.member("positions") or [None])[0])

    def _command(self, topic: str, key: str, value: Json | None, wait_s: int) -> Ask:
        if value is None:
            return Ask("DELETE", f"{MANIFEST_PATH}/{quote(key, safe='')}", None, wait_s)
        (text,) = parcel_of(topic, [value], False, None).texts
        return Ask("POST", self._paths[topic], text, wait_s)

    async def ended(self, call: Json, wait_s: float, traceparent: str | None) -> Json:
        until = _Until(wait_s)
        while True:
            try:
                return await self._rpc(call, until.next_s(), traceparent)
            except RunPending:
                if until.over():
                    raise

    async def status(self, params: Json) -> Json:
        return await self._rpc(build_request("agent.status", params, 1), 0)

    async def _rpc(self, request: Json, wait_s: int, trace: str | None = None) -> Json:
        asking = Ask("POST", RPC_PATH, orjson.dumps(request), wait_s, trace)
        answer = await self._ask(asking)
        if answer.status != 200:
            raise unsent(answer, parcel_of("summit.calls", [request], False, None))
        error = answer.member("error")
        if error is not None:
            raise _error(error)
        result: Json = answer.member("result")
        return result


class _Until:
    """A wait that takes several requests, none of them longer than MOST_S."""

    def __init__(self, wait_s: float) -> None:
        self._end = time.monotonic() + wait_s

    def next_s(self) -> int:
        return max(0, math.ceil(min(MOST_S, self._end - time.monotonic())))

    def over(self) -> bool:
        return time.monotonic() >= self._end


def _error(error: Json) -> HeadraceError:
    data = error.get("data") or {}
    rule = str(data.get("rule"))
    if rule == rules.RUN_PENDING.code:
        return RunPending(data["runId"], data["status"], data["position"])
    if error["code"] == rules.INTERNAL_ERROR:
        return GatewayUnavailable(error["message"])
    return CallRejected(rule, error["message"], data, error["code"])
