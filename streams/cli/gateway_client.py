"""The gateway that commands ask, and requests to it.

A gateway that is named, by `--gateway` or HEADRACE_URL, must answer.  One that is only looked for,
in the state directory and at HEADRACE_GATEWAY, need not be there.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

import click

from streams.errors import GatewayUnavailable, UsageError
from streams.settings import Settings
from streams.settings.addresses import Address, GatewayAddress, read_address

CONNECT_S = 3.0
MORE_S = 50.0
"""How much longer than the gateway's own wait an answer may take, in seconds."""
MAX_TEXT_BYTES = 1 << 20
_JSON, _PROBLEM, _TEXT = "application/json", "application/problem+json", "text/plain"
_NAMED, _OFF = f"{__name__}.url", f"{__name__}.off"


class GatewayChoice(NamedTuple):
    """A gateway to ask.  named: by the user, so that it must answer."""

    url: str
    named: bool


class GatewayResponse(NamedTuple):
    """The status and the body of a response: JSON, or the bytes of a text that was asked for."""

    status: int
    body: Any


class NoGateway(NamedTuple):
    """No gateway was asked.  reason: why one that answers cannot be; empty if none answers."""

    reason: str = ""


def options(function: Any) -> Any:
    """Add `--gateway URL` and `--no-gateway`, which `candidates` reads."""
    off = click.option(
        "--no-gateway",
        is_flag=True,
        expose_value=False,
        callback=_keep(_OFF),
        help="Read the log, even if a gateway runs.",
    )
    return url_option(off(function))


def url_option(function: Any) -> Any:
    """Add `--gateway URL` alone, for a command that does not read the log."""
    return click.option(
        "--gateway",
        metavar="URL",
        expose_value=False,
        callback=_keep(_NAMED),
        help="Ask this gateway.  [default: HEADRACE_URL, else one that runs here]",
    )(function)


def _keep(key: str) -> Any:
    def callback(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
        ctx.meta[key] = value

    return callback


def candidates(settings: Settings) -> list[GatewayChoice]:
    """Return the gateways to ask, the first first; empty: read the log.

    The address file and HEADRACE_GATEWAY count only for the log that the settings name.
    Raises UsageError for a URL that is none.
    """
    ctx = click.get_current_context(silent=True)
    meta = {} if ctx is None else ctx.meta
    named = meta.get(_NAMED)
    if meta.get(_OFF):
        if named:
            raise UsageError("--gateway and --no-gateway exclude each other")
        return []
    if url := named or settings.url:
        return [GatewayChoice(_checked(url), named=True)]
    return [GatewayChoice(url, named=False) for url in _running_here(settings)]


def find_running(settings: Settings) -> str:
    """Return the URL of the first gateway that answers.  Raises GatewayUnavailable."""
    import httpx

    choices = candidates(settings)
    for choice in choices:
        try:
            httpx.get(f"{choice.url}/healthz", timeout=CONNECT_S)
        except httpx.HTTPError:
            continue
        return choice.url
    looked = " nor ".join(choice.url for choice in choices) or "any address"
    raise GatewayUnavailable(f"no gateway answers at {looked}; `headrace up` starts one")


def _running_here(settings: Settings) -> Iterator[str]:
    """Yield the URLs at which a gateway over the log of these settings may run."""
    address = read_address(settings)
    if address is not None and _is_over_log(address, settings):
        yield address.url
    listening = Address.parse(settings.gateway)
    if settings.bootstrap is None and not settings.prefix and listening.port:
        yield listening.url


def _is_over_log(address: GatewayAddress, settings: Settings) -> bool:
    same_prefix = address.prefix == settings.prefix
    return same_prefix and settings.bootstrap in (None, address.bootstrap)


def _checked(url: str) -> str:
    """Return the URL without a slash at its end; `host:port` gets a scheme.  Raises UsageError."""
    whole = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(whole)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise UsageError(f"{url} is not the URL of a gateway, like http://127.0.0.1:8640")
    return whole.rstrip("/")


def ask(
    path: str, query: str, settings: Settings, posted: Any = None, *, text: bool = False
) -> GatewayResponse | NoGateway:
    """Return the response of the first gateway that can be asked.

    posted: JSON to send with POST; None for GET.  text: ask for plain text; problems are JSON.
    Raises GatewayUnavailable if a named one does not answer as a gateway does.
    """
    reasons = []
    for choice in candidates(settings):
        answer = get(choice, path, query, settings, posted, text=text)
        if isinstance(answer, GatewayResponse):
            return answer
        reasons.append(answer.reason)
    return NoGateway(next(filter(None, reasons), ""))


def get(
    choice: GatewayChoice,
    path: str,
    query: str,
    settings: Settings,
    posted: Any = None,
    *,
    text: bool = False,
) -> GatewayResponse | NoGateway:
    """Return the response of this gateway; NoGateway if it was only looked for and cannot answer.

    Raises GatewayUnavailable if it is named and does not answer as a gateway does.
    """
    try:
        answer = _request(choice.url, path, query, settings, posted, _TEXT if text else _JSON)
    except (OSError, http.client.HTTPException, ValueError) as exc:
        if not choice.named:
            return NoGateway()
        raise GatewayUnavailable(f"no gateway answers at {choice.url}: {_reason(exc)}") from exc
    hindrance = None if choice.named else _hindrance(answer, settings)
    return answer if hindrance is None else NoGateway(f"{choice.url} {hindrance}")


def _hindrance(answer: GatewayResponse, settings: Settings) -> str | None:
    """Return why an unnamed gateway cannot answer, None if it can."""
    if answer.status == 401 and settings.token is None:
        return "needs a token; set HEADRACE_TOKEN"
    return "is not ready" if answer.status == 503 else None


def _request(
    url: str, path: str, query: str, settings: Settings, posted: Any, media_type: str
) -> GatewayResponse:
    """Send a request and return the response.  media_type: that of the body, unless of a problem.

    Raises OSError, HTTPException, and ValueError for what is no answer of a gateway.
    """
    parts = urlsplit(url)
    connection = _connection(parts)
    headers = {"Accept": f"{media_type}, {_PROBLEM}"}
    if settings.token is not None:
        headers["Authorization"] = f"Bearer {settings.token}"
    with closing(connection):
        connection.connect()
        connection.sock.settimeout(settings.gateway_wait_s + MORE_S)
        method, body = "GET", None
        if posted is not None:
            method, body = "POST", json.dumps(posted).encode()
            headers["Content-Type"] = "application/json"
        connection.request(method, f"{parts.path}{path}?{query}", body, headers)
        with connection.getresponse() as response:
            return _read(response, media_type)


def _read(response: http.client.HTTPResponse, media_type: str) -> GatewayResponse:
    """Return a response of that type, and a problem unless its status is 200."""
    kind = response.getheader("Content-Type", "").partition(";")[0]
    wants_text = response.status == 200 and media_type == _TEXT
    if kind not in ((_TEXT,) if wants_text else (_JSON, _PROBLEM)):  # a stream has no end
        raise ValueError(f"it answers {response.status} with {kind or 'no content type'}")
    if wants_text:
        return GatewayResponse(200, _read_text(response))
    body = json.loads(response.read())
    if response.status != 200 and not (isinstance(body, dict) and "detail" in body):
        raise ValueError(f"it answers {response.status}, not as headrace does")
    return GatewayResponse(response.status, body)


def _read_text(response: http.client.HTTPResponse) -> bytes:
    body = response.read(MAX_TEXT_BYTES + 1)
    if len(body) > MAX_TEXT_BYTES:
        raise ValueError(f"it answers with a text of more than {MAX_TEXT_BYTES} bytes")
    return body


def _connection(parts: SplitResult) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "https":
        return http.client.HTTPSConnection(host, parts.port, timeout=CONNECT_S)
    return http.client.HTTPConnection(host, parts.port, timeout=CONNECT_S)


def _reason(exc: Exception) -> str:
    return (exc.strerror if isinstance(exc, OSError) else None) or str(exc) or type(exc).__name__
