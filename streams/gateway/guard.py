"""Who may pass: the token of a request, the role that its route needs, how many at a time."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from starlette.types import Scope

from streams.access.callers import AccessRule, Caller
from streams.access.tokens import TokenFile
from streams.api.problems import problem
from streams.api.route import Refused
from streams.errors import Forbidden, Unauthenticated
from streams.gateway.access import ANY_TOKEN, needs
from streams.gateway.answer import RETRY_AFTER
from streams.gateway.caller import answering, caller
from streams.gateway.sse.route import PATH as STREAM
from streams.settings import Settings

ORIGIN_FOREIGN = "origin_foreign"
_SCHEME = "bearer"


class Guard:
    """tokens: None lets everybody do everything."""

    def __init__(self, tokens: TokenFile | None, settings: Settings) -> None:
        self._tokens = tokens
        self._needs = needs()
        self._most = {
            True: settings.gateway_principal_streams,
            False: settings.gateway_principal_requests,
        }
        self._active: Counter[tuple[str | None, bool]] = Counter()

    @contextmanager
    def admitted(self, scope: Scope) -> Iterator[Caller | None]:
        """While a request is answered.

        Raises Unauthenticated, Forbidden, and Refused (429) where a principal has too many.
        """
        need = self._needs.find(scope["method"], scope["path"]) or ANY_TOKEN
        if self._tokens is None:
            _check_page(scope)
        if self._tokens is None or need.is_open:
            yield None
            return
        found = self._caller(self._tokens, scope, need)
        with answering(found), self._counted(found, scope["path"] == STREAM):
            yield found

    def _caller(self, tokens: TokenFile, scope: Scope, need: AccessRule) -> Caller | None:
        given = token_of(scope)
        found = tokens.caller(given) if given else None
        if need.own:
            return found
        if given is None:
            raise Unauthenticated("a bearer token is needed, in the header Authorization")
        if found is None:
            raise Unauthenticated("the token is not known, or has expired", "token_unknown")
        _check(found, need)
        return found

    @contextmanager
    def _counted(self, found: Caller | None, is_stream: bool) -> Iterator[None]:
        """Whoever has no token is one principal with all others who have none."""
        name = None if found is None else found.principal
        key, most = (name, is_stream), self._most[is_stream]
        if self._active[key] >= most:
            what = "streams" if is_stream else "requests"
            detail = f"{name or 'who has no token'} has {most} {what} at once"
            refused = problem(429, detail, "too_many_requests")
            raise Refused(refused._replace(headers=RETRY_AFTER))
        self._active[key] += 1
        try:
            yield
        finally:
            self._active[key] -= 1
            if not self._active[key]:
                del self._active[key]

    def still(self) -> bool:
        """Whether the token of the request that is being answered still counts."""
        found = caller()
        return self._tokens is None or found is None or self._tokens.holds(found)


def _check_page(scope: Scope) -> None:
    """Without tokens a browser on this machine must not send for a page from elsewhere.

    Browsers name the page's origin with all that changes something.  Raises Forbidden.
    """
    for name, value in scope["headers"]:
        if name.lower() == b"origin" and not _is_local(value.decode("latin-1")):
            raise Forbidden(
                "a page from elsewhere asks, and the gateway takes no tokens",
                ORIGIN_FOREIGN,
                advice="Set HEADRACE_TOKENS; docs/security.md says how.",
            )


def _is_local(origin: str) -> bool:
    try:
        host = urlsplit(origin).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check(found: Caller, need: AccessRule) -> None:
    if not found.has(need.roles):
        wanted = " or ".join(need.roles)
        raise Forbidden(f"the token of {found.principal} has not the role {wanted}", need.rule)


def token_of(scope: Scope) -> str | None:
    """The token of a request; None without one, or with two."""
    given = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
    if len(given) != 1:
        return None
    scheme, _, token = given[0].decode("latin-1").strip().partition(" ")
    return token.strip() or None if scheme.lower() == _SCHEME else None
