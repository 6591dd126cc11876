"""Sessions of browsers: a token is exchanged for a cookie, which scripts of a page cannot read.

    __Host-headrace = v1.<token id>.<issued>.<expires>.<mac>

The MAC covers the token id, both times and the token's hash in the token file.  Nothing is stored:
each request looks the token up, so a session ends with its token.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from starlette.types import Scope

from streams.access.callers import Caller
from streams.access.tokens import TokenFile, TokenRecord
from streams.engine.principals import split_keys
from streams.errors import Forbidden, Unauthenticated
from streams.gateway.hosts import LocalHosts
from streams.settings import Settings

COOKIE = "__Host-headrace"
ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Strict"
CLEARED = f"{COOKIE}=; {ATTRIBUTES}; Max-Age=0"
"""The header that makes a browser forget the cookie."""
_INFO = b"headrace console session"
_VALUE = re.compile(
    r"v1\.(?P<id>[a-z0-9]{1,64})\.(?P<issued>[0-9]{1,12})\.(?P<expires>[0-9]{1,12})"
    r"\.(?P<mac>[A-Za-z0-9_-]{43})",
    re.ASCII,
)
_SAFE = ("GET", "HEAD")


class _Ticket(NamedTuple):
    """A session, as the MAC covers it.

    issued, expires: seconds since the epoch.  digest: of the token.
    """

    token_id: str
    issued: int
    expires: int
    digest: str

    def make_mac(self, key: bytes) -> str:
        text = f"{self.token_id}.{self.issued}.{self.expires}.{self.digest}".encode()
        return urlsafe_b64encode(hmac.digest(key, text, sha256)).rstrip(b"=").decode()


class Sessions:
    """The sessions of one gateway.  clock: returns seconds since the epoch."""

    def __init__(
        self, tokens: TokenFile, settings: Settings, clock: Callable[[], float] = time.time
    ) -> None:
        """Derive the keys from HEADRACE_PRINCIPAL_KEY; without one they are of this process."""
        self._tokens = tokens
        self._clock = clock
        self._lifetime_s = settings.console_session_h * 3600
        self._hosts = LocalHosts(settings)
        keys = split_keys(settings.principal_key)
        self._keys: Sequence[bytes] = [_derive(key) for key in keys] or [secrets.token_bytes(32)]

    def open(self, token: str) -> str | None:
        """Return the header that sets the cookie for a token; None if the token is unknown."""
        caller = self._tokens.caller(token)
        record = None if caller is None else self._tokens.find(caller.token_id)
        if record is None:
            return None
        issued = int(self._clock())
        expires = issued + self._lifetime_s
        if record.expires is not None:
            expires = min(expires, int(record.expires.timestamp()))
        ticket = _Ticket(record.id, issued, expires, record.digest)
        mac = ticket.make_mac(self._keys[0])
        return f"{COOKIE}=v1.{record.id}.{issued}.{expires}.{mac}; {ATTRIBUTES}"

    def find_caller(self, scope: Scope) -> Caller | None:
        """Return the caller of a request by its cookie; None without one.

        Raises Unauthenticated if the session has ended or never was, Forbidden if another page
        sends the request.
        """
        values = read_cookies(scope)
        if not values:
            return None
        caller = self._verify(values[0]) if len(values) == 1 else None
        if caller is None:
            raise Unauthenticated("the session has ended; sign in again", "token_unknown")
        self.check_page(scope)
        return caller

    def check_page(self, scope: Scope) -> None:
        """Check that a page of this gateway sends the request.  Raises Forbidden."""
        site, origin = _read_header(scope, b"sec-fetch-site"), _read_header(scope, b"origin")
        if site is not None:
            is_own = site == "same-origin" or (site == "none" and scope["method"] in _SAFE)
        else:
            is_own = origin is not None and self._hosts.is_same_origin(scope, origin)
        if not is_own:
            raise Forbidden("a session counts for the pages of this gateway only", "csrf")

    def check_place(self, scope: Scope) -> None:
        """Check that browsers may sign in where the request was sent to.  Raises Forbidden."""
        site, origin = _read_header(scope, b"sec-fetch-site"), _read_header(scope, b"origin")
        is_own = site in (None, "same-origin", "none")
        if origin is not None and site is None:
            is_own = self._hosts.is_same_origin(scope, origin)
        if not is_own or not self._hosts.is_sign_in_host(scope):
            raise Forbidden(
                "sign-in is for pages at localhost and at the host of HEADRACE_PUBLIC_URL",
                "session_origin",
                advice="Set HEADRACE_PUBLIC_URL to the address in the browser.",
            )

    def _verify(self, value: str) -> Caller | None:
        parts = _VALUE.fullmatch(value)
        record = None if parts is None else self._tokens.find(parts["id"])
        if parts is None or record is None:
            return None
        ticket = _Ticket(record.id, int(parts["issued"]), int(parts["expires"]), record.digest)
        macs = [ticket.make_mac(key) for key in self._keys]
        if not any(hmac.compare_digest(parts["mac"], mac) for mac in macs):
            return None
        ends = min(ticket.expires, ticket.issued + self._lifetime_s)
        return None if ends <= self._clock() else _caller_of(record, ends)


def _caller_of(record: TokenRecord, ends: int) -> Caller:
    until = datetime.fromtimestamp(ends, UTC)
    return Caller(record.principal, record.roles, record.id, until)


def _derive(key: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=_INFO).derive(key)


def read_cookies(scope: Scope) -> list[str]:
    """Return the values of the session's cookie in a request; a browser sends one."""
    headers = [value for name, value in scope["headers"] if name.lower() == b"cookie"]
    pairs = (part.strip().partition("=") for header in headers for part in _split_pairs(header))
    return [value for name, _, value in pairs if name == COOKIE]


def _split_pairs(header: bytes) -> list[str]:
    return header.decode("latin-1").split(";")


def _read_header(scope: Scope, name: bytes) -> str | None:
    """Return the value of a header, all values joined if there are several, None without one."""
    values = [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]
    return ", ".join(values) if values else None
