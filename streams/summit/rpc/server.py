"""The core of `POST /summit`, without HTTP."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from schemas.summit import ABSENT, rules
from streams.access.callers import Caller, Role
from streams.api import prefer
from streams.api.jsonrpc import build_result
from streams.errors import Forbidden
from streams.summit.rpc import commands, queries
from streams.summit.rpc.commands import Deadlines, Sent
from streams.summit.rpc.errors import RpcError
from streams.summit.rpc.host import Host
from streams.summit.rpc.requests import Request, Requests, requests_of

PATH = "/summit"
POSITIONS = "Headrace-Position"
MAX_BODY_BYTES = 2 << 20
log = logging.getLogger(__name__)


class Reply(NamedTuple):
    """body: JSON, None with the status 204.  headers: of HTTP."""

    status: int
    body: Any
    headers: Mapping[str, str]


class Server:
    """Puts calls on the log and waits for what comes of them; answers queries from the view."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def answer(
        self,
        body: bytes,
        headers: Mapping[str, str],
        after: str | None = None,
        caller: Caller | None = None,
    ) -> Reply:
        """headers: of the request.  after: a position that queries are to have seen.

        caller: whom a token names; None where there are no tokens.
        Raises Forbidden, QueryError for a position that cannot be, ViewBehind and ViewNotReady
        when it is not seen in time; then nothing was put on the log.
        """
        try:
            requests = requests_of(body, self._host.settings.summit_batch_max)
        except RpcError as exc:
            return Reply(200, exc.body(None), {})
        _check_roles(requests, caller)
        if after is not None and any(request.is_query for request in requests.items):
            await self._host.read(lambda view: None, after)
        logged = [request for request in requests.items if request.is_logged]
        sent = await commands.send(self._host, logged, headers, caller)
        seconds, applied = self._wait(headers, logged)
        deadlines = Deadlines(seconds, self._host.settings.gateway_wait_s)
        answers = await self._answers(requests, sent, deadlines)
        more = {**applied, **_positions(sent)}
        if not answers:
            return Reply(204, None, more)
        return Reply(200, answers if requests.several else answers[0], more)

    def _wait(
        self, headers: Mapping[str, str], logged: Sequence[Request]
    ) -> tuple[int, dict[str, str]]:
        """Seconds, and what is said of the preference of who sent calls."""
        settings = self._host.settings
        preferred = prefer.wait_s(headers, settings.summit_wait_max_s)
        if preferred is None:
            return settings.summit_wait_s, {}
        return preferred, prefer.applied(preferred) if logged else {}

    async def _answers(
        self, requests: Requests, sent: Sequence[Sent], deadlines: Deadlines
    ) -> list[Any]:
        """In the order of the requests.  Queries come last, so that they see what came of calls."""
        found: dict[int, Any] = {}
        way = iter(sent)
        for number, request in enumerate(requests.items):
            own = next(way) if request.is_logged else None
            if own is not None and not request.is_notification:
                found[number] = await self._one(request, own, deadlines)
        for number, request in enumerate(requests.items):
            if not request.is_logged and not request.is_notification:
                found[number] = await self._one(request, None, deadlines)
        return [found[number] for number in sorted(found)]

    async def _one(self, request: Request, sent: Sent | None, deadlines: Deadlines) -> Any:
        id = None if request.id is ABSENT else request.id
        try:
            if request.error is not None:
                raise request.error
            if sent is not None:
                result = await commands.outcome(self._host, sent, deadlines)
            else:
                result = await queries.answer(self._host, request)
        except RpcError as exc:
            return exc.body(id)
        except Exception:
            log.exception("a request has failed")
            return RpcError(rules.SERVICE_INTERNAL.code, "a fault of the service").body(id)
        return build_result(id, result)


def _check_roles(requests: Requests, caller: Caller | None) -> None:
    """Raises Forbidden."""
    if caller is None:
        return
    for request in requests.items:
        role = Role.PRODUCER if request.is_logged else Role.READER
        if request.error is None and not caller.has((role,)):
            message = f"{request.method} needs the role {role}, which {caller.principal} has not"
            raise Forbidden(message, "role_missing")


def _positions(sent: Sequence[Sent]) -> dict[str, str]:
    positions = [each.position for each in sent if each.position is not None]
    return {POSITIONS: ",".join(positions)} if positions else {}
