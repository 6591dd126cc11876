"""Authentication and authorisation: token, role, and concurrent requests of a principal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from starlette.types import Scope

from streams.access.callers import AccessRule, Caller
from streams.access.tokens import TokenFile
from streams.api.problems import Response, problem
from streams.api.route import Refused
from streams.errors import Forbidden, Unauthenticated
from streams.gateway.access import ANY_TOKEN
from streams.gateway.caller import get_caller, set_caller
from streams.gateway.hosts import LocalHosts, parse_origins
from streams.gateway.http_response import RETRY_AFTER
from streams.gateway.live_tail.route import PATH as STREAM
from streams.gateway.paths import RouteMatch
from streams.gateway.slots import on_stream
from streams.settings import Settings

_SCHEME = "bearer"
_MCP_METHOD = b"mcp-method"
_MCP_STREAMS = frozenset({b"events/stream", b"subscriptions/listen"})
"""The methods of MCP whose answers are streams."""
_API = "/v1/"
_WITHOUT_COOKIE = ("POST", "/v1/traces")
"""The one request of programs under /v1 whose form others have fixed."""
FindSession = Callable[[Scope], Caller | None]
"""Returns the caller by the cookie of a session, None without a cookie.

Raises Unauthenticated for a session that is none, Forbidden for a request of another page.
"""


class Guard:
    """The check of each request.

    tokens: None allows every request.  find_session: None if no cookie counts.
    """

    def __init__(
        self, tokens: TokenFile | None, settings: Settings, find_session: FindSession | None = None
    ) -> None:
        self._tokens = tokens
        self._find_session = find_session
        self._hosts = LocalHosts(settings)
        self._door_origins = parse_origins(settings.mcp_origins)
        self._limits = {
            True: settings.gateway_principal_streams,
            False: settings.gateway_principal_requests,
        }
        self._active: Counter[tuple[str | None, bool]] = Counter()
        self._max_of_peer = settings.gateway_peer_requests
        self._max_strangers = max(1, settings.gateway_max_requests // 2)
        self._strangers: Counter[str] = Counter()

    def check_host(self, scope: Scope) -> Response | None:
        """Return the response to a request for a foreign host; None with tokens."""
        return self._hosts.check_host(scope) if self._tokens is None else None

    @contextmanager
    def admit(self, scope: Scope, match: RouteMatch) -> Iterator[Caller | None]:
        """Check the caller of a request and count the request until it is answered.

        Raises Unauthenticated, Forbidden, and Refused (429) if a principal has too many requests.
        """
        entry = match.entry
        rule = ANY_TOKEN if entry is None else entry.rule
        if self._tokens is None or rule.checks_origin:
            self._hosts.check_origin(scope, self._door_origins if rule.checks_origin else None)
        if self._tokens is None or (match.exempt and rule.is_open):
            yield None
            return
        caller = None if rule.is_open else self._authenticate(self._tokens, scope, rule)
        is_stream = answers_by_stream(scope, match)
        with ExitStack() as stack:
            if caller is None:
                stack.enter_context(self._count_stranger(scope))
            if not rule.is_open:
                stack.enter_context(set_caller(caller))
                stack.enter_context(self._count_request(caller, is_stream))
            yield caller

    def _authenticate(self, tokens: TokenFile, scope: Scope, rule: AccessRule) -> Caller | None:
        token = read_token(scope)
        caller = tokens.caller(token) if token else self._authenticate_session(scope, rule)
        if rule.checked_by_endpoint or rule.optional:
            return caller
        if token is None and caller is None:
            raise Unauthenticated("a bearer token is needed, in the header Authorization")
        if caller is None:
            raise Unauthenticated("the token is not known, or has expired", "token_unknown")
        _check_role(caller, rule)
        return caller

    def _authenticate_session(self, scope: Scope, rule: AccessRule) -> Caller | None:
        """Return the caller by the cookie, on the routes where it counts.

        Raises Unauthenticated, Forbidden.
        """
        if self._find_session is None or rule.checked_by_endpoint or not _may_have_cookie(scope):
            return None
        try:
            return self._find_session(scope)
        except Unauthenticated:
            if rule.optional:
                return None
            raise

    @contextmanager
    def _count_stranger(self, scope: Scope) -> Iterator[None]:
        """Count a request without a token, by the address of the client and in all.

        In all they are at most half of the requests: the others are for those with a token.
        """
        peer = (scope.get("client") or ("an unknown address",))[0]
        if self._strangers[peer] >= self._max_of_peer:
            detail = f"{peer} has {self._max_of_peer} requests without a token at once"
            refused = problem(429, detail, "too_many_requests")
            raise Refused(refused._replace(headers=RETRY_AFTER))
        if self._strangers.total() >= self._max_strangers:
            detail = f"{self._max_strangers} requests without a token are being answered"
            raise Refused(problem(503, detail, "service_unavailable"))
        self._strangers[peer] += 1
        try:
            yield
        finally:
            self._strangers[peer] -= 1
            if not self._strangers[peer]:
                del self._strangers[peer]

    @contextmanager
    def _count_request(self, caller: Caller | None, is_stream: bool) -> Iterator[None]:
        """Count the request of a principal; all callers without a token count as one principal."""
        name = None if caller is None else caller.principal
        counted = self._take_place(name, is_stream)

        def become_stream() -> None:
            nonlocal counted
            if not counted[1]:
                place = self._take_place(name, True)
                self._leave_place(counted)
                counted = place

        on_stream(become_stream)
        try:
            yield
        finally:
            self._leave_place(counted)

    def _take_place(self, name: str | None, is_stream: bool) -> tuple[str | None, bool]:
        """Count a request, or a stream, of a principal.  Raises Refused (429)."""
        key, limit = (name, is_stream), self._limits[is_stream]
        if self._active[key] >= limit:
            what = "streams" if is_stream else "requests"
            detail = f"{name or 'who has no token'} has {limit} {what} at once"
            refused = problem(429, detail, "too_many_requests")
            raise Refused(refused._replace(headers=RETRY_AFTER))
        self._active[key] += 1
        return key

    def _leave_place(self, key: tuple[str | None, bool]) -> None:
        self._active[key] -= 1
        if not self._active[key]:
            del self._active[key]

    def is_token_valid(self) -> bool:
        """Return whether the token of the current request is still valid."""
        caller = get_caller()
        return self._tokens is None or caller is None or self._tokens.holds(caller)


def answers_by_stream(scope: Scope, match: RouteMatch) -> bool:
    """Return whether a request is answered by a stream that stays open."""
    entry = match.entry
    if entry is None or entry.template == STREAM or not entry.rule.checks_origin:
        return entry is not None and entry.template == STREAM
    methods = {value.strip() for name, value in scope["headers"] if name == _MCP_METHOD}
    return bool(methods) and methods <= _MCP_STREAMS


def _check_role(caller: Caller, rule: AccessRule) -> None:
    if not caller.has(rule.roles):
        roles = " or ".join(rule.roles)
        raise Forbidden(f"the token of {caller.principal} has not the role {roles}", rule.rule)


def _may_have_cookie(scope: Scope) -> bool:
    """Return whether a cookie counts: under /v1, and without `Authorization`."""
    if not scope["path"].startswith(_API) or (scope["method"], scope["path"]) == _WITHOUT_COOKIE:
        return False
    return all(name.lower() != b"authorization" for name, _ in scope["headers"])


def read_token(scope: Scope) -> str | None:
    """Return the bearer token of a request; None without one, or with several headers."""
    values = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
    if len(values) != 1:
        return None
    scheme, _, token = values[0].decode("latin-1").strip().partition(" ")
    return token.strip() or None if scheme.lower() == _SCHEME else None
