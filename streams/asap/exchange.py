"""One send, without the network: what is posted, when it is tried again, what an answer says.

Shared by the clients that wait with a loop and without one (asap spec 6.4).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx
import orjson

from schemas.asap import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Envelope,
    generate_id,
    json_form,
)
from schemas.asap.spelling import dotted
from streams.access.callers import bearer as bearer
from streams.api.jsonrpc import build_request, error_of
from streams.asap.errors import ASAPConnectionError, ASAPRemoteError, ASAPTimeoutError
from streams.asap.jsonrpc import METHOD, dumped

KEY_HEADER = "X-Idempotency-Key"
_JITTER = 0.1


def checked_url(base_url: str) -> str:
    """Without a slash at the end.  Raises ValueError for what is no http or https address."""
    try:
        url = httpx.URL(base_url)
    except (httpx.InvalidURL, TypeError) as exc:
        raise ValueError(f"Invalid base_url format: {base_url}") from exc
    if not url.scheme or not url.host:
        raise ValueError(f"Invalid base_url format: {base_url}")
    if url.scheme not in ("http", "https"):
        raise ValueError(f"Invalid URL scheme: {url.scheme} (http and https are taken)")
    return base_url.rstrip("/")


class Backoff(NamedTuple):
    """attempts: at most, at least one.  base_s, most_s: between them the pauses double."""

    attempts: int
    base_s: float
    most_s: float
    rng: random.Random

    def pause_s(self, failed: int) -> float:
        """Before the next attempt; failed: how many there were, from 1."""
        doubled = self.base_s * 2.0 ** min(failed - 1, 64)
        return min(self.most_s, doubled) * (1 + self.rng.uniform(0.0, _JITTER))


class Sending(NamedTuple):
    """One request for `POST /asap`, the same on each attempt."""

    envelope: Envelope
    key: str
    body: bytes
    headers: Mapping[str, str]

    @classmethod
    def of(
        cls,
        envelope: Envelope,
        request_id: str,
        key: str | None = None,
        token: str | None = None,
        wait: int | None = None,
    ) -> Sending:
        """key: generated where none is given.  wait: seconds for `Prefer`."""
        key = key or generate_id()
        params = {"envelope": json_form(envelope), "idempotency_key": key}
        request = build_request(METHOD, params, request_id)
        headers = {"Content-Type": "application/json", KEY_HEADER: key, **bearer(token)}
        if wait is not None:
            headers["Prefer"] = f"wait={wait}"
        return cls(envelope, key, dumped(request), headers)


def in_old_spelling(envelope: Envelope, refusal: ASAPRemoteError) -> Envelope | None:
    """The envelope as a peer may know it that looks its handlers up by `task.request` alone.

    None when the refusal is about something else (an unknown method, or what a handler raised), or
    that spelling was the one refused.
    """
    name = envelope.canonical_type
    data = refusal.data if isinstance(refusal.data, dict) else {}
    if refusal.code != METHOD_NOT_FOUND or name is None or "method" in data or "type" in data:
        return None
    old = dotted(name)
    return (
        None if old == envelope.payload_type else envelope.model_copy(update={"payload_type": old})
    )


class Result(NamedTuple):
    """A successful answer.  more: what stands beside the envelope."""

    envelope: Envelope
    more: Mapping[str, Any]


def result_of(response: httpx.Response) -> Result:
    """Raises ASAPRemoteError; and pydantic.ValidationError for an envelope that is none."""
    try:
        answer = orjson.loads(response.content)
    except orjson.JSONDecodeError as exc:
        raise ASAPRemoteError(PARSE_ERROR, f"Invalid JSON in the answer: {exc}") from exc
    if not isinstance(answer, dict):
        raise ASAPRemoteError(INTERNAL_ERROR, "Missing envelope")
    if (error := error_of(answer)) is not None:
        raise ASAPRemoteError(*error)
    result = answer.get("result")
    if not isinstance(result, dict) or result.get("envelope") is None:
        raise ASAPRemoteError(INTERNAL_ERROR, "Missing envelope")
    more = {name: value for name, value in result.items() if name != "envelope"}
    return Result(Envelope.model_validate(result["envelope"]), more)


def judged(
    outcome: httpx.Response | Exception, failed: int, backoff: Backoff, url: str, timeout: float
) -> httpx.Response | float:
    """The answer below 500, or the pause in seconds before the next attempt.

    outcome: of the last attempt, which is number `failed` if it is one.
    Raises ASAPConnectionError, ASAPTimeoutError where no other attempt is due.
    """
    last = failed >= max(1, backoff.attempts)
    if isinstance(outcome, httpx.Response):
        if outcome.status_code < 500:
            return outcome
        if last:
            check_status(outcome)
    elif last or not isinstance(outcome, httpx.ConnectError):
        raise _lost(outcome, url, timeout) from outcome
    return backoff.pause_s(failed)


def check_status(response: httpx.Response) -> None:
    """Raises ASAPConnectionError for anything but a 2xx."""
    if response.is_success:
        return
    status = f"HTTP {response.status_code} {response.reason_phrase}".rstrip()
    cause = httpx.HTTPStatusError(status, request=response.request, response=response)
    raise ASAPConnectionError(f"{status} from {response.request.url}", cause)


def _lost(exc: Exception, url: str, timeout: float) -> ASAPConnectionError | ASAPTimeoutError:
    """What an attempt that brought no answer comes to."""
    if isinstance(exc, httpx.TimeoutException):
        return ASAPTimeoutError(f"timeout: no answer from {url} within {timeout:g} s", timeout)
    said = str(exc) or type(exc).__name__
    if isinstance(exc, httpx.ConnectError):
        return ASAPConnectionError(f"no connection to {url}: {said}", exc)
    return ASAPConnectionError(f"the exchange with {url} failed: {said}", exc)
