"""The core of `POST /summit`, independent of HTTP."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from schemas.summit import ABSENT, rules
from streams.access.callers import Caller, Role
from streams.api import prefer
from streams.api.jsonrpc import build_result
from streams.errors import Forbidden
from streams.protocols.summit.policy_values import caps_of
from streams.summit.rpc import commands, queries
from streams.summit.rpc.commands import Deadlines, SentRequest
from streams.summit.rpc.errors import RpcError
from streams.summit.rpc.host import Host
from streams.summit.rpc.requests import Request, Requests, parse_requests

PATH = "/summit"
POSITIONS = "Headrace-Position"
MAX_BODY_BYTES = 2 << 20
log = logging.getLogger(__name__)


class Reply(NamedTuple):
    """A response; `body` is JSON, None with status 204; `headers` are HTTP headers."""

    status: int
    body: Any
    headers: Mapping[str, str]


class Server:
    """Appends calls to the log and waits for their outcomes; answers queries from the view."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def answer(
        self,
        body: bytes,
        headers: Mapping[str, str],
        after: str | None = None,
        caller: Caller | None = None,
    ) -> Reply:
        """Answer the body of a request.

        headers: the request's HTTP headers.  after: a position that queries have to see.
        caller: the principal of the token; None if the gateway uses no tokens. Raises Forbidden,
        QueryError for an impossible position, ViewBehind and ViewNotReady when the position is not
        seen in time; in all these cases nothing was appended.
        """
        settings = self._host.settings
        try:
            requests = parse_requests(body, settings.summit_batch_max, caps_of(settings))
        except RpcError as exc:
            return Reply(200, exc.body(None), {})
        _check_roles(requests, caller)
        if after is not None and any(request.is_query for request in requests.items):
            await self._host.read(lambda view: None, after)
        logged = [request for request in requests.items if request.is_logged]
        sent = await commands.send(self._host, logged, headers, caller)
        seconds, applied = self._wait_s(headers, logged)
        deadlines = Deadlines(seconds, settings.gateway_wait_s)
        answers = await self._answer_all(requests, sent, deadlines)
        reply_headers = {**applied, **_positions(sent)}
        if not answers:
            return Reply(204, None, reply_headers)
        return Reply(200, answers if requests.is_batch else answers[0], reply_headers)

    def _wait_s(
        self, headers: Mapping[str, str], logged: Sequence[Request]
    ) -> tuple[int, dict[str, str]]:
        """Return the wait in seconds, and the Preference-Applied header if calls were sent."""
        settings = self._host.settings
        preferred = prefer.wait_s(headers, settings.summit_wait_max_s)
        if preferred is None:
            return settings.summit_wait_s, {}
        return preferred, prefer.applied_header(preferred) if logged else {}

    async def _answer_all(
        self, requests: Requests, sent: Sequence[SentRequest], deadlines: Deadlines
    ) -> list[Any]:
        """Answer the requests, and return the answers in the order of the requests.

        Queries are answered last, so that they see the outcomes of the calls.
        """
        answers: dict[int, Any] = {}
        unanswered = iter(sent)
        for number, request in enumerate(requests.items):
            sent_request = next(unanswered) if request.is_logged else None
            if sent_request is not None and not request.is_notification:
                answers[number] = await self._answer_one(request, sent_request, deadlines)
        for number, request in enumerate(requests.items):
            if not request.is_logged and not request.is_notification:
                answers[number] = await self._answer_one(request, None, deadlines)
        return [answers[number] for number in sorted(answers)]

    async def _answer_one(
        self, request: Request, sent: SentRequest | None, deadlines: Deadlines
    ) -> Any:
        id = None if request.id is ABSENT else request.id
        try:
            if request.error is not None:
                raise request.error
            if sent is not None:
                result = await commands.await_outcome(self._host, sent, deadlines)
            else:
                result = await queries.answer(self._host, request)
        except RpcError as exc:
            return exc.body(id)
        except Exception:
            log.exception("a request has failed")
            return RpcError(rules.SERVICE_INTERNAL.code, "a fault of the service").body(id)
        return build_result(id, result)


def _check_roles(requests: Requests, caller: Caller | None) -> None:
    """Raise Forbidden if the caller lacks the role of a request."""
    if caller is None:
        return
    for request in requests.items:
        role = Role.PRODUCER if request.is_logged else Role.READER
        if request.error is None and not caller.has((role,)):
            message = f"{request.method} needs the role {role}, which {caller.principal} has not"
            raise Forbidden(message, "role_missing")


def _positions(sent: Sequence[SentRequest]) -> dict[str, str]:
    positions = [each.position for each in sent if each.position is not None]
    return {POSITIONS: ",".join(positions)} if positions else {}
