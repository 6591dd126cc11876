"""The headers Host and Origin, by which a web page that reaches a gateway on loopback is known."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.types import Scope

from streams.api.problems import Response, problem
from streams.errors import Forbidden, SettingsError
from streams.settings import Settings
from streams.settings.addresses import Address

ORIGIN_FOREIGN = "origin_foreign"
HOST_FOREIGN = "host_foreign"


_PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """An origin, as browsers compare them."""

    scheme: str
    host: str
    port: int


class LocalHosts:
    """The hosts by which a gateway without tokens is reached: loopback, and those of settings."""

    def __init__(self, settings: Settings) -> None:
        """Read the hosts of the address and of the public URL.  Raises SettingsError."""
        self._public = _parse_public_host(settings.public_url)
        self._public_origin = _parse_origin(settings.public_url or "")
        self._names = {Address.parse(settings.gateway).host.lower(), self._public}

    def check_host(self, scope: Scope) -> Response | None:
        """Return the response to a request for another host, which DNS rebinding sends, else None.

        The browser believes that it asks the page's own server, so it sends no foreign Origin.
        """
        host = _parse_host(f"//{_read_host(scope)}")
        if host is not None and (host in self._names or _is_loopback(host)):
            return None
        detail = (
            "the gateway takes no tokens, and so is asked as localhost or by the host of"
            " HEADRACE_PUBLIC_URL only"
        )
        return problem(421, detail, HOST_FOREIGN)

    def check_origin(self, scope: Scope, further: Collection[Origin] | None = None) -> None:
        """Refuse a request that a browser on this machine sends for a page of another origin.

        Browsers name the page's origin in every request that may change something.
        further: origins of pages that may ask too, where tokens are no reason to let others pass.
        Raises Forbidden.
        """
        for name, value in scope["headers"]:
            if name.lower() != b"origin":
                continue
            origin = value.decode("latin-1")
            if self._is_own_origin(origin) or _parse_origin(origin) in (further or ()):
                continue
            if further is None:
                detail = "a page from elsewhere asks, and the gateway takes no tokens"
                advice = "Set HEADRACE_TOKENS; docs/security.md says how."
            else:
                detail = "a page from elsewhere asks"
                advice = "HEADRACE_MCP_ORIGINS lists the origins of pages that may."
            raise Forbidden(detail, ORIGIN_FOREIGN, advice=advice)

    def is_sign_in_host(self, scope: Scope) -> bool:
        """Return whether browsers may sign in at the host of the request."""
        host = _parse_host(f"//{_read_host(scope)}")
        return host is not None and (host == self._public or _is_loopback(host))

    def is_same_origin(self, scope: Scope, origin: str) -> bool:
        """Return whether an origin, with its port, is the gateway's own, as the request names it.

        A TLS proxy may forward another `Host` than that of HEADRACE_PUBLIC_URL.
        """
        parsed = _parse_origin(origin)
        if parsed is None:
            return False
        here = _parse_origin(f"http://{_read_host(scope)}")
        is_local = here is not None and _is_loopback(here.host)
        return parsed == self._public_origin or (is_local and parsed == here)

    def _is_own_origin(self, origin: str) -> bool:
        host = _parse_host(origin)
        return host is not None and (host == self._public or _is_loopback(host))


def parse_origins(text: str | None) -> frozenset[Origin]:
    """Return the origins of a list with commas.  Raises SettingsError."""
    origins = set()
    for part in (text or "").split(","):
        origin = _parse_origin(part.strip())
        if origin is not None:
            origins.add(origin)
        elif part.strip():
            raise SettingsError(f"HEADRACE_MCP_ORIGINS is origins https://…, not {part.strip()!r}")
    return frozenset(origins)


def _read_host(scope: Scope) -> str:
    """Return the header Host; an empty text without one, or with several."""
    values = [value for name, value in scope["headers"] if name.lower() == b"host"]
    return values[0].decode("latin-1") if len(values) == 1 else ""


def _parse_origin(url: str) -> Origin | None:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not parts.hostname or port is None:
        return None
    return Origin(parts.scheme, parts.hostname, port)


def _parse_host(url: str) -> str | None:
    """Return the host of a URL in small letters, without brackets; None if it has none."""
    try:
        return urlsplit(url).hostname or None
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _parse_public_host(url: str | None) -> str | None:
    if url is None:
        return None
    host = _parse_host(url)
    if host is None or not url.startswith(("http://", "https://")):
        raise SettingsError(f"HEADRACE_PUBLIC_URL is an address https://…, not {url!r}")
    return host
