"""The client over the HTTP gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import parse_qs

import httpx
import orjson

from streams.access.callers import bearer
from streams.api.route import Produce
from streams.client.answers import GatewayResponse, problems_of, unanswered, unsent
from streams.client.batches import Batches, Outcome
from streams.client.sse import Events
from streams.client.summit_http import Ask, HttpSummitTransport
from streams.client.transport import Following, ProduceRequest, Step
from streams.errors import GatewayUnavailable, HeadraceError, ProduceUnknown, UsageError
from streams.protocols.queries import LIVE_TAIL
from streams.routes.table import ROUTES

PATHS: Mapping[str, str] = {
    route.action.topic.name: route.template for route in ROUTES if isinstance(route.action, Produce)
}
"""Where envelopes of each topic are sent to."""

_TIMEOUT = httpx.Timeout(60.0, connect=5.0)
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_READ_PAUSES_S = (0.1, 0.5)
_MOST_QUERIES = 64
"""Connections for queries at a time; each tail has one more."""
_JSON = {"content-type": "application/json"}


def checked_url(url: str) -> str:
    """Return the address of a gateway unchanged.  Raises UsageError for anything else."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as exc:
        raise UsageError(f"{url} is not an address", advice=_FORM) from exc
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise UsageError(f"{url} is not the address of a gateway", advice=_FORM)
    return url


_FORM = "It has the form http://127.0.0.1:8640."


class HttpTransport:
    """The transport to a gateway over HTTP; `token` is sent as bearer, if there is one."""

    def __init__(self, url: str, patience_s: float, token: str | None = None) -> None:
        self._url = url
        self._patience_s = patience_s
        self._batches = Batches(self._deliver)
        self._queries = asyncio.Semaphore(_MOST_QUERIES)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=_MOST_QUERIES)
        # Only the settings read the environment, so no proxy is taken from there.
        self._http = httpx.AsyncClient(
            base_url=url,
            timeout=_TIMEOUT,
            limits=limits,
            headers=bearer(token),
            trust_env=False,
        )
        self._desk = HttpSummitTransport(self._request, PATHS)

    async def open(self) -> None:
        pass

    async def send(self, parcel: ProduceRequest) -> list[str]:
        if parcel.topic not in PATHS:
            raise UsageError(
                f"{parcel.topic} is not sent through a gateway",
                advice=f"Topics to send to: {', '.join(PATHS)}.",
            )
        return await self._batches.send(parcel)

    async def _deliver(self, parcels: Sequence[ProduceRequest]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for _, group in groupby(parcels, lambda parcel: (parcel.topic, parcel.traceparent)):
            outcomes += await self._post(list(group))
        return outcomes

    async def _post(self, parcels: Sequence[ProduceRequest]) -> list[Outcome]:
        """Send parcels of one topic and trace in one request, without those that were refused."""
        try:
            answer = await self._answer(parcels)
        except _NOT_SENT as exc:
            return [self._unreachable(exc) for _ in parcels]
        except httpx.TransportError as exc:
            return [self._unknown(exc) for _ in parcels]
        if answer.status == 202:
            return _split_positions(answer, parcels)
        if len(parcels) == 1:
            return [unsent(answer, parcels[0])]
        if answer.status == 422 and (refused := _refused_parcels(answer, parcels)):
            good = [parcel for n, parcel in enumerate(parcels) if n not in refused]
            sent = iter(await self._post(good) if good else ())
            return [refused[n] if n in refused else next(sent) for n in range(len(parcels))]
        if answer.status == 413:
            return [outcome for parcel in parcels for outcome in await self._post([parcel])]
        return [unsent(answer, parcel) for parcel in parcels]

    async def _answer(self, parcels: Sequence[ProduceRequest]) -> GatewayResponse:
        body = b"[" + b",".join(text for parcel in parcels for text in parcel.texts) + b"]"
        headers = dict(_JSON)
        if parcels[0].traceparent is not None:
            headers["traceparent"] = parcels[0].traceparent
        path = PATHS[parcels[0].topic]
        return _parsed(await self._http.post(path, content=body, headers=headers))

    def follow(self, what: Following) -> AsyncGenerator[Step, None]:
        if what.topic != LIVE_TAIL.topic.name:
            raise UsageError(
                f"a gateway follows {LIVE_TAIL.topic.name} alone, not {what.topic}",
                advice="A client on Kafka, `Client()`, follows every topic.",
            )
        return Events(self._http, what, self._patience_s).steps()

    async def query(self, path: str, query: str) -> Any:
        async with self._queries:
            answer = await self._get(f"{path}?{query}" if query else path)
        if answer.status != 200:
            raise unanswered(answer, parse_qs(query).get("after", [None])[0])
        return answer.body

    async def _get(self, url: str) -> GatewayResponse:
        """Send a GET; repeat it after a lost connection, which is safe for reads."""
        for pause_s in _READ_PAUSES_S:
            try:
                return _parsed(await self._http.get(url))
            except httpx.TimeoutException as exc:
                raise self._unreachable(exc) from exc
            except httpx.TransportError:
                await asyncio.sleep(pause_s)
        try:
            return _parsed(await self._http.get(url))
        except httpx.TransportError as exc:
            raise self._unreachable(exc) from exc

    async def close(self) -> None:
        await self._batches.close()
        await self._http.aclose()

    def summit(self) -> HttpSummitTransport:
        return self._desk

    async def _request(self, ask: Ask) -> GatewayResponse:
        headers = {**_JSON, "prefer": f"wait={ask.wait_s}"}
        if ask.trace is not None:
            headers["traceparent"] = ask.trace
        try:
            sending = self._http.request(ask.method, ask.path, content=ask.body, headers=headers)
            return _parsed(await sending)
        except _NOT_SENT as exc:
            raise self._unreachable(exc) from exc
        except httpx.TransportError as exc:
            raise self._unknown(exc) from exc

    def _unknown(self, exc: Exception) -> ProduceUnknown:
        return ProduceUnknown(f"no answer came from {self._url}: {_reason(exc)}")

    def _unreachable(self, exc: Exception) -> GatewayUnavailable:
        return GatewayUnavailable(f"no gateway answers at {self._url}: {_reason(exc)}")


def _reason(exc: Exception) -> str:
    return str(exc) or type(exc).__name__


def _parsed(response: httpx.Response) -> GatewayResponse:
    try:
        return GatewayResponse(response.status_code, orjson.loads(response.content))
    except orjson.JSONDecodeError:
        return GatewayResponse(response.status_code, None)


def _split_positions(answer: GatewayResponse, parcels: Sequence[ProduceRequest]) -> list[Outcome]:
    """Split the positions in a response among the parcels."""
    positions = answer.member("positions") or []
    if len(positions) != sum(len(parcel.texts) for parcel in parcels):
        return [ProduceUnknown("the answer to a send is not understood") for _ in parcels]
    remaining = iter(positions)
    return [[position_of(next(remaining)) for _ in parcel.texts] for parcel in parcels]


def position_of(written: Any) -> str:
    """Return the position in a gateway's JSON about one record."""
    return str(written["position"] if isinstance(written, dict) else written)


def _refused_parcels(
    answer: GatewayResponse, parcels: Sequence[ProduceRequest]
) -> dict[int, HeadraceError]:
    """Return the error of each parcel that holds a refused value, by the parcel's index."""
    refused: dict[int, HeadraceError] = {}
    first = 0
    for number, parcel in enumerate(parcels):
        last = first + len(parcel.texts)
        errors = [
            {"index": index - first, **problem._asdict()}
            for index, problem in problems_of(answer)
            if first <= index < last
        ]
        if errors:
            refused[number] = unsent(GatewayResponse(422, {"errors": errors}), parcel)
        first = last
    return refused
