"""The HTTP client of the demo, which uses the system as any program would."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urlencode

import httpx

from streams.api.jsonrpc import build_request
from streams.api.problems import Response
from streams.api.route import Produce
from streams.client.http import position_of
from streams.engine.headers import TRACEPARENT
from streams.errors import BrokerUnavailable
from streams.routes.table import ROUTES

Json = dict[str, Any]
PATHS: Mapping[str, str] = {
    route.action.topic.name: route.template for route in ROUTES if isinstance(route.action, Produce)
}
"""The path to which envelopes of each topic are sent."""
_SEEN = "/v1/apc/packets"
_PAUSE_S = 0.05
_TIMEOUT_S = 60.0


class SystemClient(Protocol):
    def send(self, topic: str, values: Sequence[Json], trace: str = "") -> list[str]:
        """Send the values and return their positions once the answers to all are seen.

        trace: W3C trace context of the records, if any.
        """

    def see(self, positions: Iterable[str]) -> None:
        """Wait until the answers to these records are seen."""

    def wait(self, topic: str, value: Json, seconds: int) -> Response:
        """Send a value and wait for its outcome."""

    def call(self, envelope: Json) -> Json:
        """Send an envelope to `POST /asap` and return the JSON-RPC response."""

    def rpc(self, request: Json) -> Json:
        """Send a request to `POST /summit` and return the JSON-RPC response."""

    def get(self, path: str, query: str) -> Response: ...

    def pause(self) -> None:
        """Let the system work for a moment."""


class HttpSystemClient:
    """A client of the gateway at `url`."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=_TIMEOUT_S)

    def send(self, topic: str, values: Sequence[Json], trace: str = "") -> list[str]:
        headers = {TRACEPARENT: trace} if trace else {}
        answer = self._ask("POST", PATHS[topic], json=list(values), headers=headers)
        answer.raise_for_status()
        positions = [position_of(written) for written in answer.json()["positions"]]
        self.see(positions)
        return positions

    def see(self, positions: Iterable[str]) -> None:
        """Wait for the answer to the last record of each partition; answers are in order."""
        last = {position.rpartition("/")[0]: position for position in positions}
        for position in last.values():
            query = {"after": position, "limit": "1", "include_events": "false"}
            self._ask("GET", f"{_SEEN}?{urlencode(query)}").raise_for_status()

    def wait(self, topic: str, value: Json, seconds: int) -> Response:
        headers = {"Prefer": f"wait={seconds}"}
        answer = self._ask("POST", PATHS[topic], json=value, headers=headers)
        return Response(answer.status_code, answer.json())

    def call(self, envelope: Json) -> Json:
        request = build_request("asap.send", {"envelope": envelope}, envelope["id"])
        return self._rpc("/asap", request)

    def rpc(self, request: Json) -> Json:
        return self._rpc("/summit", request)

    def _rpc(self, path: str, request: Json) -> Json:
        response: Json = self._ask("POST", path, json=request).raise_for_status().json()
        return response

    def get(self, path: str, query: str) -> Response:
        answer = self._ask("GET", f"{path}?{query}" if query else path)
        return Response(answer.status_code, answer.json())

    def pause(self) -> None:
        time.sleep(_PAUSE_S)

    def close(self) -> None:
        self._http.close()

    def _ask(self, method: str, target: str, **more: Any) -> httpx.Response:
        try:
            return self._http.request(method, target, **more)
        except httpx.HTTPError as exc:
            advice = "Look at its log; `headrace up` starts one."
            raise BrokerUnavailable(f"the gateway does not answer: {exc}", advice=advice) from exc
