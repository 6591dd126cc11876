"""An HTTP client of the gateway for rewinds."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

import httpx

from streams.access.callers import bearer
from streams.ops.rewind.errors import RewindUsage
from streams.ops.rewind.service import Json, OutcomeUnknown, Refused, Target, Unreachable

ANSWER_S = 15.0
"""Timeout of a response; the gateway itself waits 10 s for the fact."""
ABORT_S = 5.0
"""Timeout of the response to an abort, which is best effort."""
CONNECT_S = 3.0
_NEVER_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.ProxyError,
)


class HttpService:
    """A `RewindService` over HTTP.

    gateway: host:port, or a URL.  token: a bearer token, if there is one.  Raises RewindUsage.
    """

    def __init__(self, gateway: str, answer_s: float = ANSWER_S, token: str | None = None) -> None:
        base = gateway if "://" in gateway else f"http://{gateway}"
        self._answer_s = answer_s
        try:
            self._client = httpx.Client(base_url=base, headers=bearer(token), trust_env=False)
        except httpx.InvalidURL as exc:
            raise RewindUsage(f"the gateway {gateway} is no address: {exc}") from exc

    def plan(self, session_id: str, target: Target) -> Json:
        query = urlencode(target.as_json())
        return self._request("GET", f"{_session(session_id)}/rewind-plan?{query}")

    def prepare(self, session_id: str, rewind_id: str, target: Target, reason: str | None) -> Json:
        body = {"phase": "prepare", "rewind_id": rewind_id, **target.as_json()}
        if reason is not None:
            body["reason"] = reason
        return self._request("POST", f"{_session(session_id)}/rewind", body)

    def confirm(self, session_id: str, rewind_id: str) -> Json:
        return self._request("POST", f"{_session(session_id)}/rewinds/{rewind_id}/confirm")

    def abort(self, session_id: str, rewind_id: str) -> Json:
        path = f"{_session(session_id)}/rewinds/{rewind_id}/abort"
        return self._request("POST", path, answer_s=ABORT_S)

    def find(self, session_id: str, rewind_id: str) -> Json | None:
        try:
            return self._request("GET", f"{_session(session_id)}/rewinds/{rewind_id}")
        except Refused as exc:
            if exc.rule == "not_found":
                return None
            raise

    def _request(
        self, method: str, path: str, body: Json | None = None, answer_s: float | None = None
    ) -> Json:
        timeout = httpx.Timeout(answer_s or self._answer_s, connect=CONNECT_S)
        try:
            response = self._client.request(method, path, json=body, timeout=timeout)
        except _NEVER_SENT as exc:
            raise Unreachable(f"no gateway at {self._client.base_url}: {exc}") from exc
        except httpx.HTTPError as exc:
            raise OutcomeUnknown(f"no answer from {self._client.base_url}: {exc}") from exc
        return _parse_response(response)

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


def _parse_response(response: httpx.Response) -> Json:
    try:
        body = response.json()
    except ValueError:
        body = None
    value: Json = body if isinstance(body, dict) else {}
    if response.status_code == 200 and value:
        return value
    detail = str(value.get("detail") or f"the answer was {response.status_code}")
    if 400 <= response.status_code < 500:
        raise Refused(detail, _text(value.get("rule")), _text(_fact(value).get("state")))
    raise OutcomeUnknown(detail)


def _fact(value: Json) -> Json:
    fact = value.get("fact")
    return fact if isinstance(fact, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _session(session_id: str) -> str:
    """Return a session's path.  A dot is encoded too, because `..` in a path is resolved."""
    return f"/v1/saop/sessions/{quote(session_id, safe='').replace('.', '%2E')}"
