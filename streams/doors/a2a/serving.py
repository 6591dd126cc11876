"""The requests to the door: who asks for which agent, and the answer of its binding."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import islice

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response as HttpResponse

from schemas import sha256_hex
from streams.api.media import JSON_TYPE
from streams.api.problems import error_response
from streams.api.route import Refused
from streams.doors.a2a import http_json, jsonrpc
from streams.doors.a2a.cards import base_url, card_url, description_of, is_exposed, make_card
from streams.doors.a2a.description import PAGED
from streams.doors.a2a.door import Context, Door
from streams.doors.a2a.http_json import Target, split_verb
from streams.doors.a2a.protocol import A2A_TYPE, VERSION_NAME, Json
from streams.doors.a2a.refusals import shape_refusal
from streams.doors.a2a.responses import shared_headers
from streams.doors.push.service import PushService
from streams.errors import HeadraceError, NotFound, Unauthenticated
from streams.gateway.await_view import await_view
from streams.gateway.caller import get_caller
from streams.gateway.context import Gateway
from streams.gateway.entity_tags import matches
from streams.gateway.guard import read_token
from streams.gateway.http_response import dump_json, make_response, make_text_response
from streams.gateway.request_ids import set_response_headers
from streams.gateway.request_parts import read_body, read_headers, read_query
from streams.protocols.summit.queries import agents
from streams.views.parse import QueryParams
from streams.views.query_params import AFTER, FRESH

_LIST = "/v1/a2a/agents"
_VERBS = {"": "GetTask", "cancel": "CancelTask", "subscribe": "SubscribeToTask"}
_METHODS = {
    "GetTask": ("GET", "HEAD"),
    "CancelTask": ("POST",),
    "SubscribeToTask": ("GET", "POST"),  # not HEAD, which would not end
}
_PUSH = "TaskPushNotificationConfig"


class Serving:
    """The endpoints of one gateway; `streams.doors.a2a.endpoint` names them by their paths."""

    def __init__(self, gateway: Gateway, push: PushService | None = None) -> None:
        self._door = Door(gateway, push)
        self._gateway = gateway

    async def answer(self, name: str, request: Request) -> HttpResponse:
        """Answer a request by the endpoint of this name."""
        endpoint: Callable[[Request], Awaitable[HttpResponse]] = getattr(self, name)
        try:
            await self._await_view(request)
            await self._await_position(request)
            return await endpoint(request)
        except Refused as exc:
            headers = {"connection": "close"} if exc.response.status in (408, 413) else {}
            return make_response(shape_refusal(request.scope["path"], exc.response), headers)
        except ClientDisconnect:
            return HttpResponse(status_code=400)
        except HeadraceError as exc:
            return make_response(shape_refusal(request.scope["path"], error_response(exc)))

    async def _await_view(self, request: Request) -> None:
        """Wait for the view before a GET subscribes, as long as a query waits for a position.

        A browser's EventSource asks again after a lost connection, but never after a refusal, and
        a gateway that has just been started refuses until its view is ready.
        """
        if request.method != "GET" or not request.url.path.endswith(":subscribe"):
            return
        await await_view(self._gateway.view, self._door.settings.gateway_wait_s)

    async def _await_position(self, request: Request) -> None:
        """Wait until the view has seen what a GET asks for by `after`.

        Raises QueryError for an impossible position, ViewBehind, ViewNotReady.
        """
        after = request.query_params.get(AFTER.name)
        if request.method == "GET" and after is not None:
            await self._door.host.read(lambda view: None, after)

    async def show_card(self, request: Request) -> HttpResponse:
        """Answer with the card of one agent.  Raises NotFound, Unauthenticated."""
        self._check_card_reader(request)
        return self._show_card(request, self._find_agent(request.path_params["agentId"]))

    async def show_root_card(self, request: Request) -> HttpResponse:
        """Answer with the card of the gateway's own address.  Raises NotFound, Unauthenticated."""
        self._check_card_reader(request)
        return self._show_card(request, self._find_root_agent())

    async def list_agents(self, request: Request) -> HttpResponse:
        """Answer with the agents that can be called, by agentId.  Raises QueryError."""
        params = QueryParams(read_query(request), (*PAGED, AFTER))
        if params.flag(FRESH.name):
            await self._gateway.view.wait_for_ends(self._door.settings.gateway_wait_s)
        base = self._base(request)

        def item(row: Json) -> Json:
            return {
                "agentId": row["agentId"],
                "version": row["version"],
                "name": row["agentId"],
                "description": description_of(row),
                "card": card_url(base, row["agentId"]),
            }

        page = await self._door.host.read(
            lambda view: agents.registered_page(
                view, params, lambda row: is_exposed(self._door.settings, row["agentId"])
            )
        )
        body = {"items": [item(row) for row in page["items"]], "next": page["next"]}
        return make_text_response(200, dump_json(body))

    async def call_jsonrpc(self, request: Request) -> HttpResponse:
        context = self._context(request)
        body = await self._read_body(request, (JSON_TYPE,))
        return await jsonrpc.answer(context, body, _version_of(request))

    async def send_message(self, request: Request) -> HttpResponse:
        return await self._call(request, Target("SendMessage", {}))

    async def stream_message(self, request: Request) -> HttpResponse:
        return await self._call(request, Target("SendStreamingMessage", {}))

    async def list_tasks(self, request: Request) -> HttpResponse:
        return await self._call(request, Target("ListTasks", {}))

    async def show_extended_card(self, request: Request) -> HttpResponse:
        return await self._call(request, Target("GetExtendedAgentCard", {}))

    async def use_task(self, request: Request) -> HttpResponse:
        """Answer what the verb at the end of the path asks for.  Raises NotFound."""
        task_id, verb = split_verb(request.scope["path"].rpartition("/")[2])
        operation = _VERBS[verb]
        if request.method not in _METHODS[operation]:
            raise NotFound(
                f"there is no {request.method} of {request.scope['path']}", "path_unknown"
            )
        return await self._call(request, Target(operation, {"id": task_id}))

    async def use_push_configs(self, request: Request) -> HttpResponse:
        members = {"taskId": request.path_params["taskId"]}
        name = f"Create{_PUSH}" if request.method == "POST" else f"List{_PUSH}s"
        return await self._call(request, Target(name, members))

    async def use_push_config(self, request: Request) -> HttpResponse:
        members = {
            "taskId": request.path_params["taskId"],
            "id": request.path_params["configId"],
        }
        name = f"{'Delete' if request.method == 'DELETE' else 'Get'}{_PUSH}"
        return await self._call(request, Target(name, members))

    async def _call(self, request: Request, target: Target) -> HttpResponse:
        context = self._context(request)
        has_body = request.method == "POST"
        body = await self._read_body(request, (JSON_TYPE, A2A_TYPE)) if has_body else b""
        return await http_json.answer(
            context, request.method, target, body, read_query(request), _version_of(request)
        )

    def _context(self, request: Request) -> Context:
        """Return the context of a request to an agent.  Raises NotFound."""
        headers = read_headers(request)
        set_response_headers(shared_headers(headers))
        agent = self._find_agent(request.path_params["agentId"], withdrawn=True)
        return Context(self._door, agent, get_caller(), headers, self._base(request))

    async def _read_body(self, request: Request, types: tuple[str, ...]) -> bytes:
        settings = self._door.settings
        limits = settings.gateway_max_body_bytes, settings.gateway_max_body_values
        return await read_body(request, *limits, types)

    def _base(self, request: Request) -> str:
        return base_url(self._door.settings, request.headers.get("host", ""))

    def _find_agent(self, agent_id: str, *, withdrawn: bool = False) -> Json:
        """Return an agent that can be called: SummitAgent, JSON.

        withdrawn: also one that takes no messages any more.  Raises NotFound, ViewNotReady.
        """
        row = None
        if is_exposed(self._door.settings, agent_id):
            with self._gateway.view.reader() as view:
                row = agents.find(view, agent_id)
        if row is None or not (withdrawn or row["state"] == agents.REGISTERED):
            raise NotFound(f"there is no agent {agent_id}; {_LIST} lists them", "agent.unknown")
        return row

    def _find_root_agent(self) -> Json:
        """Return the agent of the setting, else the only one.  Raises NotFound, ViewNotReady."""
        settings = self._door.settings
        if settings.a2a_root_agent is not None:
            return self._find_agent(settings.a2a_root_agent)
        with self._gateway.view.reader() as view:
            registered = agents.each_registered(view)
            rows = list(islice((r for r in registered if is_exposed(settings, r["agentId"])), 2))
        if len(rows) != 1:
            raise NotFound(f"the gateway has no card of its own; {_LIST} lists its agents")
        return rows[0]

    def _check_card_reader(self, request: Request) -> None:
        """Check that the caller may see cards.  Raises Unauthenticated."""
        settings = self._door.settings
        if self._gateway.tokens is None or settings.a2a_public_cards or get_caller() is not None:
            return
        if read_token(request.scope) is None:
            raise Unauthenticated("a bearer token is needed, in the header Authorization")
        raise Unauthenticated("the token is not known, or has expired", "token_unknown")

    def _show_card(self, request: Request, agent: Json) -> HttpResponse:
        body = dump_json(make_card(agent, self._door.settings, self._base(request)))
        headers = {
            "etag": f'"{sha256_hex(body)}"',
            "cache-control": "max-age=60",
            "vary": "Host",
        }
        if matches(request.headers.get("if-none-match"), headers["etag"]):
            return HttpResponse(status_code=304, headers=headers)
        return HttpResponse(body, 200, headers, JSON_TYPE)


def _version_of(request: Request) -> str | None:
    """Return the version of A2A that a client names."""
    named = request.headers.get(VERSION_NAME)
    return named or request.query_params.get(VERSION_NAME)
