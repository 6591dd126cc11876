"""The rows of the route table as HTTP endpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response as HttpResponse

from streams.api.media import JSON_TYPES
from streams.api.problems import Response, failed, no_route, unanswered
from streams.api.route import (
    AwaitVerdicts,
    Call,
    Compute,
    Produce,
    Query,
    Refused,
    ReplaceCommand,
    Route,
    SyncCommand,
)
from streams.engine.records import Output, Record, position
from streams.errors import BrokerUnavailable, HeadraceError, ProduceUnknown
from streams.gateway.answer import http
from streams.gateway.asked import about, produced
from streams.gateway.awaited import awaited, judged
from streams.gateway.body import body_of
from streams.gateway.caller import caller, signed
from streams.gateway.context import Gateway
from streams.gateway.limits import PRODUCE_S
from streams.ingress import senders
from streams.routes.past import as_of_call
from streams.routes.produce import Sending, accepted, command_response, sending_of, trace_of
from streams.routes.table import MatchedRoute, check_after, match, match_request
from streams.views.parse import parse_position
from topology.declarations import Topic

Endpoint = Callable[[Request], Awaitable[HttpResponse]]
_AGAIN = "Send again with the same id."


def endpoint(gateway: Gateway, route: Route) -> Endpoint:
    async def answer(request: Request) -> HttpResponse:
        ids = match(route.template, request.scope["path"])
        if ids is None:
            return http(no_route("the path is not UTF-8", ()))
        return await _answer(gateway, match_request(route, ids, query_of(request)), request)

    return with_problems(answer)


def with_problems(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint that answers with a problem where this one raises an error."""

    async def answer(request: Request) -> HttpResponse:
        try:
            return await endpoint(request)
        except Refused as exc:
            headers = {"connection": "close"} if exc.response.status in (408, 413) else {}
            return http(exc.response, headers)
        except ClientDisconnect:
            return HttpResponse(status_code=400)
        except HeadraceError as exc:
            return http(failed(exc))

    return answer


def query_of(request: Request) -> str:
    """Bytes beyond ASCII stand for themselves, as if they were percent-encoded."""
    raw: bytes = request.scope["query_string"]
    return raw.decode("latin-1") if raw.isascii() else "".join(map(_percent, raw))


def _percent(byte: int) -> str:
    return chr(byte) if byte < 128 else f"%{byte:02X}"


async def _answer(gateway: Gateway, asked: MatchedRoute, request: Request) -> HttpResponse:
    match asked.route.action:
        case Produce() as produce:
            return await _produce(gateway, produce, asked, request)
        case SyncCommand() as order:
            return await _order(gateway, order, asked, request)
        case ReplaceCommand() as put:
            _, record, _ = await _commanded(gateway, put, asked, request)
            done = command_response(record, put.wait is not None)
            if put.wait is not None:
                done = await judged(gateway, put.wait, headers_of(request), done)
            return http(done)
        case Compute(answer):
            body = await body_of(request, gateway.settings.gateway_max_body_bytes)
            call = _call(gateway, asked, None, body)
            return await _in_thread(gateway, lambda: Response(200, answer(call)))
        case Query() as query:
            if asked.after is not None:
                check_after(asked.after, gateway.settings.prefix, gateway.partitions)
                await gateway.view.wait_async(asked.after, gateway.settings.gateway_wait_s)
            if query.brief and asked.as_of is None:  # a thread would cost more than the answer
                return http(_read(gateway, asked, query))
            return await _in_thread(gateway, lambda: _read(gateway, asked, query))


def _read(gateway: Gateway, asked: MatchedRoute, query: Query) -> Response:
    with gateway.view.reader() as reads:
        call = as_of_call(_call(gateway, asked, reads, None), asked, gateway.log)
        body = query.answer(call)
    return Response(200, body, query.headers(body) if query.headers else {})


def _call(gateway: Gateway, asked: MatchedRoute, view: Any, body: bytes | None) -> Call:
    return Call(view, gateway.settings, gateway.clock(), asked.ids, asked.params, body, caller())


async def _in_thread(gateway: Gateway, answer: Callable[[], Response]) -> HttpResponse:
    """The loop waits for no query; the text is made in the thread too."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(gateway.queries, lambda: http(answer()))


async def _order(
    gateway: Gateway, order: SyncCommand, asked: MatchedRoute, request: Request
) -> HttpResponse:
    """Put the command on the log, wait for the fact about it, and answer with that."""
    command, record, body = await _commanded(gateway, order, asked, request)
    cause = position(record)

    def answer() -> Response:
        with gateway.view.reader() as reads:
            return order.answer(_call(gateway, asked, reads, body), command, cause)

    try:
        await gateway.view.wait_async(parse_position(cause), gateway.settings.gateway_wait_s)
        return http(await asyncio.get_running_loop().run_in_executor(gateway.queries, answer))
    except HeadraceError as exc:
        return http(unanswered(exc, cause))


async def _commanded(
    gateway: Gateway, action: SyncCommand | ReplaceCommand, asked: MatchedRoute, request: Request
) -> tuple[Output, Record, bytes | None]:
    """The command, its record on the log, and the body of the request, if it has one."""
    needs_broker(gateway)
    needed = asked.route.body is not None
    body = await body_of(request, gateway.settings.gateway_max_body_bytes) if needed else None
    more = trace_of(request.headers)
    commands: list[Output] = []

    def command() -> list[Output]:
        output = action.command(_call(gateway, asked, None, body))
        if isinstance(action, ReplaceCommand):  # its key is whom it is about
            senders.check_name(action.topic, (output.key or b"").decode(), caller())
        commands[:] = [output._replace(headers=[*output.headers, *more])]
        return commands

    (record,) = await sent(gateway, action.topic, command)
    return commands[0], record, body


def needs_broker(gateway: Gateway) -> None:
    if not gateway.broker.up:
        raise BrokerUnavailable(gateway.broker.reason or "Kafka does not answer", advice=_AGAIN)


async def _produce(
    gateway: Gateway, produce: Produce, asked: MatchedRoute, request: Request
) -> HttpResponse:
    if not produce.terms.correlated:
        needs_broker(gateway)
    types = (*JSON_TYPES, *produce.terms.others)
    body = await body_of(request, gateway.settings.gateway_max_body_bytes, types)
    headers = headers_of(request)
    sendings: list[Sending] = []

    def outputs() -> list[Output]:
        now = gateway.clock()
        sendings.append(sending_of(produce, body, headers, now, gateway.settings, caller()))
        about(sendings[0].headers)
        needs_broker(gateway)  # said only now where the answer has to say what it is about
        return sendings[0].outputs

    done = accepted(await sent(gateway, produce.topic, outputs), produce.terms)
    sending = sendings[0]
    if isinstance(produce.wait, AwaitVerdicts):
        done = await judged(gateway, produce.wait, headers, done)
    elif produce.wait is not None and sending.single:
        done = await awaited(
            gateway,
            produce.wait,
            _call(gateway, asked, None, None),
            sending.values[0],
            headers,
            done,
        )
    return http(done)


def headers_of(request: Request) -> dict[str, str]:
    """Of several with one name a list, as HTTP has it."""
    found: dict[str, str] = {}
    for name, value in request.headers.items():
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


async def sent(gateway: Gateway, topic: Topic, outputs: Callable[[], list[Output]]) -> list[Record]:
    """Signed by whose request it is.  Raises ProduceUnknown."""

    def submit() -> Future[list[Record]]:
        return gateway.log.submit(signed(outputs(), gateway.principals, gateway.clock()))

    run = copy_context().run  # so that the thread knows, too
    submitted = await asyncio.get_running_loop().run_in_executor(gateway.sends, run, submit)
    try:
        records = await asyncio.wait_for(asyncio.wrap_future(submitted), PRODUCE_S)
    except (TimeoutError, ProduceUnknown) as exc:
        gateway.metrics.unknown(topic.name)
        if isinstance(exc, ProduceUnknown):
            raise
        raise ProduceUnknown(f"Kafka has not confirmed it within {PRODUCE_S:.0f} s") from exc
    gateway.metrics.produced(topic.name, len(records))
    produced(records)
    return records
