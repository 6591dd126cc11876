"""The headers Host and Origin, by which a web page that reaches a gateway on loopback is known."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from starlette.types import Scope

from streams.api.problems import Response, problem
from streams.errors import Forbidden, SettingsError
from streams.settings import Settings
from streams.settings.addresses import Address

ORIGIN_FOREIGN = "origin_foreign"
HOST_FOREIGN = "host_foreign"


class LocalHosts:
    """The hosts by which a gateway without tokens is reached: loopback, and those of settings."""

    def __init__(self, settings: Settings) -> None:
        """Read the hosts of the address and of the public URL.  Raises SettingsError."""
        self._public = _parse_public_host(settings.public_url)
        self._names = {Address.parse(settings.gateway).host.lower(), self._public}

    def check_host(self, scope: Scope) -> Response | None:
        """Return the response to a request for another host, which DNS rebinding sends, else None.

        The browser believes that it asks the page's own server, so it sends no foreign Origin.
        """
        values = [value for name, value in scope["headers"] if name.lower() == b"host"]
        host = _parse_host(f"//{values[0].decode('latin-1')}") if len(values) == 1 else None
        if host is not None and (host in self._names or _is_loopback(host)):
            return None
        detail = (
            "the gateway takes no tokens, and so is asked as localhost or by the host of"
            " HEADRACE_PUBLIC_URL only"
        )
        return problem(421, detail, HOST_FOREIGN)

    def check_origin(self, scope: Scope) -> None:
        """Refuse a request that a browser on this machine sends for a page of another origin.

        Browsers name the page's origin in every request that may change something.
        Raises Forbidden.
        """
        for name, value in scope["headers"]:
            if name.lower() == b"origin" and not self._is_own_origin(value.decode("latin-1")):
                raise Forbidden(
                    "a page from elsewhere asks, and the gateway takes no tokens",
                    ORIGIN_FOREIGN,
                    advice="Set HEADRACE_TOKENS; docs/security.md says how.",
                )

    def _is_own_origin(self, origin: str) -> bool:
        host = _parse_host(origin)
        return host is not None and (host == self._public or _is_loopback(host))


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
