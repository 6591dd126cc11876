"""HTTP endpoints for the rows of the route table."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response as HttpResponse

from streams.api.media import JSON_TYPES
from streams.api.problems import Response, error_response, outcome_unknown
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
from streams.gateway.await_outcome import await_outcome, await_verdicts
from streams.gateway.caller import get_caller, sign_outputs
from streams.gateway.context import Gateway
from streams.gateway.entity_tags import tag_response
from streams.gateway.http_response import make_response
from streams.gateway.limits import PRODUCE_S
from streams.gateway.log_reads import read_log
from streams.gateway.request_ids import add_positions, set_response_headers
from streams.gateway.request_parts import read_body, read_headers, read_query
from streams.ingress import senders
from streams.routes.past import as_of_call
from streams.routes.produce import (
    Sending,
    accepted,
    command_response,
    notes_of,
    sending_of,
    trace_of,
)
from streams.routes.table import MatchedRoute, check_after, match_request
from streams.views.parse import parse_position
from topology.declarations import Topic

Endpoint = Callable[[Request], Awaitable[HttpResponse]]
_RETRY_ADVICE = "Send again with the same id."


def make_endpoint(gateway: Gateway, route: Route) -> Endpoint:
    async def answer(request: Request) -> HttpResponse:
        matched = match_request(route, request.path_params, read_query(request))
        response = await _dispatch(gateway, matched, request)
        return tag_response(request, response) if route.method == "GET" else response

    return with_problems(answer)


def with_problems(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint that responds with a problem where the given one raises an error."""

    async def answer(request: Request) -> HttpResponse:
        try:
            return await endpoint(request)
        except Refused as exc:
            headers = {"connection": "close"} if exc.response.status in (408, 413) else {}
            return make_response(exc.response, headers)
        except ClientDisconnect:
            return HttpResponse(status_code=400)
        except HeadraceError as exc:
            return make_response(error_response(exc))

    return answer


async def _dispatch(gateway: Gateway, matched: MatchedRoute, request: Request) -> HttpResponse:
    match matched.route.action:
        case Produce() as produce:
            return await _produce(gateway, produce, matched, request)
        case SyncCommand() as command:
            return await _send_sync_command(gateway, command, matched, request)
        case ReplaceCommand() as replacement:
            _, record, _ = await _send_command(gateway, replacement, matched, request)
            response = command_response(record, replacement.wait is not None)
            if replacement.wait is not None:
                response = await await_verdicts(
                    gateway, replacement.wait, read_headers(request), response
                )
            return make_response(response)
        case Compute(answer, asks_kafka):
            if asks_kafka:
                require_broker(gateway)
            body = await _read_json(gateway, request)
            call = _make_call(gateway, matched, None, body)
            return await _respond_in_thread(
                gateway, lambda: Response(200, answer(call)), reads_log=asks_kafka
            )
        case Query() as query:
            await _wait_for_view(gateway, matched)
            if query.asks_kafka:
                require_broker(gateway)
            if query.brief and matched.as_of is None:  # a thread would cost more than the query
                return make_response(_run_query(gateway, matched, query))
            return await _respond_in_thread(
                gateway,
                lambda: _run_query(gateway, matched, query),
                reads_log=query.asks_kafka or matched.as_of is not None,
            )


async def _wait_for_view(gateway: Gateway, matched: MatchedRoute) -> None:
    """Wait for what `after` and `fresh` ask for, at the same time."""
    if matched.after is not None:
        check_after(matched.after, gateway.settings.prefix, gateway.partitions)
    limit_s = gateway.settings.gateway_wait_s
    waits = [] if matched.after is None else [gateway.view.wait_async(matched.after, limit_s)]
    if matched.fresh:
        waits.append(gateway.view.wait_for_ends(limit_s))
    if waits:
        await asyncio.gather(*waits)


async def _read_json(
    gateway: Gateway, request: Request, types: tuple[str, ...] = JSON_TYPES
) -> bytes:
    settings = gateway.settings
    return await read_body(
        request, settings.gateway_max_body_bytes, settings.gateway_max_body_values, types
    )


def _run_query(gateway: Gateway, matched: MatchedRoute, query: Query) -> Response:
    if not query.reads_view:
        body = query.answer(_make_call(gateway, matched, None, None))
    else:
        with gateway.view.reader() as reads:
            call = as_of_call(_make_call(gateway, matched, reads, None), matched, gateway.log)
            body = query.answer(call)
    return Response(200, body, query.headers(body) if query.headers else {})


def _make_call(gateway: Gateway, matched: MatchedRoute, view: Any, body: bytes | None) -> Call:
    return Call(
        view,
        gateway.settings,
        gateway.clock(),
        matched.ids,
        matched.params,
        body,
        get_caller(),
        gateway.log,
        gateway.process,
    )


async def _respond_in_thread(
    gateway: Gateway, answer: Callable[[], Response], *, reads_log: bool
) -> HttpResponse:
    """Run the query and encode its result in a thread, so that the event loop is not blocked.

    Raises Refused.
    """
    if reads_log:
        return await read_log(gateway, lambda: make_response(answer()))
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(gateway.queries, lambda: make_response(answer()))


async def _send_sync_command(
    gateway: Gateway, action: SyncCommand, matched: MatchedRoute, request: Request
) -> HttpResponse:
    """Write the command to the log, wait for its fact and respond with that."""
    command, record, body = await _send_command(gateway, action, matched, request)
    cause = position(record)

    def answer() -> Response:
        with gateway.view.reader() as reads:
            return action.answer(_make_call(gateway, matched, reads, body), command, cause)

    try:
        await gateway.view.wait_async(parse_position(cause), gateway.settings.gateway_wait_s)
        return make_response(
            await asyncio.get_running_loop().run_in_executor(gateway.queries, answer)
        )
    except HeadraceError as exc:
        return make_response(outcome_unknown(exc, cause))


async def _send_command(
    gateway: Gateway, action: SyncCommand | ReplaceCommand, matched: MatchedRoute, request: Request
) -> tuple[Output, Record, bytes | None]:
    """Return the command, its record on the log, and the body of the request, if it has one."""
    require_broker(gateway)
    needed = matched.route.body is not None
    body = await _read_json(gateway, request) if needed else None
    more = trace_of(request.headers)
    commands: list[Output] = []

    def command() -> list[Output]:
        output = action.command(_make_call(gateway, matched, None, body))
        if isinstance(action, ReplaceCommand):  # its key names the agent that it is about
            senders.check_name(action.topic, (output.key or b"").decode(), get_caller())
        commands[:] = [output._replace(headers=[*output.headers, *more])]
        return commands

    (record,) = await send_records(gateway, action.topic, command)
    return commands[0], record, body


def require_broker(gateway: Gateway) -> None:
    """Raise BrokerUnavailable if Kafka does not answer."""
    if not gateway.broker.up:
        raise BrokerUnavailable(
            gateway.broker.reason or "Kafka does not answer", advice=_RETRY_ADVICE
        )


async def _produce(
    gateway: Gateway, produce: Produce, matched: MatchedRoute, request: Request
) -> HttpResponse:
    if not produce.terms.correlated:
        require_broker(gateway)
    types = (*JSON_TYPES, *produce.terms.others)
    body = await _read_json(gateway, request, types)
    headers = read_headers(request)
    sendings: list[Sending] = []

    def outputs() -> list[Output]:
        now = gateway.clock()
        caller, params = get_caller(), matched.params
        settings = gateway.settings
        sendings.append(sending_of(produce, body, headers, now, settings, caller, params))
        set_response_headers(sendings[0].headers)
        require_broker(
            gateway
        )  # checked after the headers are set, since an error carries them too
        return sendings[0].outputs

    written = await send_records(gateway, produce.topic, outputs)
    sending = sendings[0]
    response = accepted(written, produce.terms, notes_of(produce, sending, gateway.settings))
    if isinstance(produce.wait, AwaitVerdicts):
        response = await await_verdicts(gateway, produce.wait, headers, response)
    elif produce.wait is not None and sending.single:
        response = await await_outcome(
            gateway,
            produce.wait,
            _make_call(gateway, matched, None, None),
            sending.values[0],
            headers,
            response,
        )
    return make_response(response)


async def send_records(
    gateway: Gateway, topic: Topic, outputs: Callable[[], list[Output]]
) -> list[Record]:
    """Sign the outputs for the caller, produce them and return their records.

    Raises ProduceUnknown.
    """

    def submit() -> Future[list[Record]]:
        return gateway.log.submit(sign_outputs(outputs(), gateway.principals, gateway.clock()))

    run = copy_context().run  # copies the caller and the request ids to the thread
    submitted = await asyncio.get_running_loop().run_in_executor(gateway.sends, run, submit)
    try:
        records = await asyncio.wait_for(asyncio.wrap_future(submitted), PRODUCE_S)
    except (TimeoutError, ProduceUnknown) as exc:
        gateway.metrics.count_unknown(topic.name)
        if isinstance(exc, ProduceUnknown):
            raise
        raise ProduceUnknown(f"Kafka has not confirmed it within {PRODUCE_S:.0f} s") from exc
    gateway.metrics.count_produced(topic.name, len(records))
    add_positions(records)
    return records
