"""The three logged methods: append the calls, then wait for their outcomes (Summit guide, 6.1)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from schemas import ShapeError
from schemas.summit import rules
from streams.access.callers import Caller
from streams.engine.records import Output
from streams.errors import InfrastructureError, InvalidInput, OutputTooLarge
from streams.ingress import senders
from streams.processing.encode import encode_value
from streams.protocols.summit.queries import runs
from streams.routes.produce import trace_of
from streams.summit.rpc.errors import (
    RpcError,
    call_rejected,
    rule_violation,
    run_pending,
    service_unavailable,
)
from streams.summit.rpc.host import Host
from streams.summit.rpc.requests import CANCEL, Request
from topology.summit import SUMMIT_CALLS

Json = dict[str, Any]


class SentRequest(NamedTuple):
    """A request with its position on the log, or the error that kept it off the log."""

    request: Request
    position: str | None
    error: RpcError | None = None


class Deadlines:
    """Deadlines shared by all requests of a body.

    seconds: from now, until runs have to end.  verdict_s: the same for the verdict on a cancel,
    which is awaited whatever the sender prefers.
    """

    def __init__(self, seconds: float, verdict_s: float) -> None:
        now = time.monotonic()
        self._end = now + seconds
        self._verdict = now + max(seconds, verdict_s)

    def remaining_s(self, is_cancel: bool = False) -> float:
        return max(0.0, (self._verdict if is_cancel else self._end) - time.monotonic())


async def send(
    host: Host,
    requests: Sequence[Request],
    headers: Mapping[str, str],
    caller: Caller | None = None,
) -> list[SentRequest]:
    """Append the requests in order, with the trace context of the HTTP request.

    caller: the principal of the token, filled in as the sender.  Raises Forbidden; then none is
    sent.
    """
    values = [senders.fill_sender(SUMMIT_CALLS, request.value, caller) for request in requests]
    senders.check(SUMMIT_CALLS, values, caller)
    encoded = [_output(host, value, headers) for value in values]
    outputs = [output for output in encoded if isinstance(output, Output)]
    try:
        positions = iter(await host.append(outputs) if outputs else ())
    except InfrastructureError as exc:
        error = service_unavailable(str(exc))
        return [
            SentRequest(request, None, error if isinstance(output, Output) else output)
            for request, output in zip(requests, encoded, strict=True)
        ]
    return [
        SentRequest(request, next(positions))
        if isinstance(output, Output)
        else SentRequest(request, None, output)
        for request, output in zip(requests, encoded, strict=True)
    ]


def _output(host: Host, value: Json, headers: Mapping[str, str]) -> Output | RpcError:
    try:
        output = encode_value(SUMMIT_CALLS, value, host.settings)
    except InvalidInput as exc:
        return rule_violation(exc.problems[0])
    except ShapeError as exc:
        return rule_violation(exc.problem)
    except OutputTooLarge as exc:
        return RpcError(rules.PARAMS_SIZE.code, exc.message, path="/params")
    return output._replace(headers=[*output.headers, *trace_of(headers)])


async def await_outcome(host: Host, sent: SentRequest, deadlines: Deadlines) -> Json:
    """Wait for the outcome of a request and return its result.  Raises RpcError."""
    if sent.error is not None or sent.position is None:
        raise sent.error or service_unavailable("it is not on the log")
    position, run_id = sent.position, str(sent.request.params["runId"])
    is_cancel = sent.request.method == CANCEL
    fact = await host.find(
        runs.verdict_row(position),
        lambda view: runs.verdict(view, position),
        deadlines.remaining_s(is_cancel),
    )
    if fact is None:
        raise run_pending(run_id, None, position)
    if fact["verdict"] == "rejected":
        has_ended = fact["rule"] == rules.RUN_TERMINAL.code
        raise call_rejected(fact, await _status(host, run_id, 0) if has_ended else None)
    if is_cancel:
        return {"runId": run_id, "status": "cancelled"}
    return await _result(host, run_id, position, deadlines)


async def _result(host: Host, run_id: str, position: str, deadlines: Deadlines) -> Json:
    result = await host.find(
        runs.end_row(run_id), lambda view: runs.result(view, run_id), deadlines.remaining_s()
    )
    if result is not None and host.settings.summit_judge_gate:
        result = await host.find(
            runs.run_row(run_id),
            lambda view: runs.judged_result(view, run_id),
            deadlines.remaining_s(),
        )
    if result is None:
        raise run_pending(run_id, await _status(host, run_id, deadlines.remaining_s()), position)
    return result


async def _status(host: Host, run_id: str, seconds: float) -> str | None:
    return await host.find(runs.run_row(run_id), lambda view: runs.status(view, run_id), seconds)
